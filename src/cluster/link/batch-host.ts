import type { Logger } from '../../kernel/logger.js'
import { NO_BYTES } from '../../kernel/nothing.js'
import { refuseRequest } from '../../rpc/http/errors.js'
import type { HttpHandler, HttpRequest, HttpResponder, HttpStream } from '../../wire/http.js'
import { lengthOf, type OutgoingMessage } from '../../wire/message-parts.js'
import type { AnswerHead, ForwardedHead } from './batches.js'
import { FrameReader, lineOf } from './frames.js'
import { callerOf } from './link-seal.js'

/** Serves the requests of a batch; sends each response as soon as it is ready. */
export class BatchHost {
  readonly #log: Logger
  /** Unanswered requests, by sender and id. */
  readonly #inFlight = new Map<string, BatchResponder>()

  constructor(log: Logger) {
    this.#log = log
  }

  /** Serves the requests that `edge` sent. Throws for an invalid batch. */
  serve(edge: string, batch: HttpRequest, responder: HttpResponder, serve: HttpHandler): void {
    const requests = requestsIn(edge, batch, id => this.#inFlight.get(`${edge} ${id}`)?.left())
    if (requests.length === 0) {
      responder.send(200, {})
      return
    }
    const open = new Set<BatchResponder>()
    const headers = { 'content-type': 'application/octet-stream' }
    const out = responder.stream(200, headers, () => {
      for (const each of open) each.taken()
    })
    responder.onGone(() => {
      for (const each of open) each.left()
    })
    const all = requests.map(({ id, request }) => {
      const key = `${edge} ${id}`
      const each = new BatchResponder(out, id, () => {
        this.#inFlight.delete(key)
        open.delete(each)
        if (open.size === 0) out.end()
      })
      this.#inFlight.set(key, each)
      open.add(each)
      return { request, each }
    })
    for (const { request, each } of all) this.#serveOne(request, each, serve)
  }

  /** Contains the failure of one request. */
  #serveOne(request: HttpRequest, responder: BatchResponder, serve: HttpHandler): void {
    try {
      serve(request, responder)
    } catch (error) {
      this.#log.error({ err: error }, 'a request could not be handled')
      refuseRequest(responder, 500, 'Internal error in the proxy')
    }
  }
}

const requestsIn = (
  edge: string,
  { body, remoteAddress, remotePort }: HttpRequest,
  onGone: (id: number) => void,
) => {
  const requests: { readonly id: number; readonly request: HttpRequest }[] = []
  let current: ForwardedHead | undefined
  let content: Buffer = NO_BYTES
  new FrameReader<ForwardedHead>({
    head: head => {
      current = head
      content = NO_BYTES
    },
    data: bytes => {
      content = bytes
    },
    over: () => {
      if (current === undefined) return
      if ('gone' in current) {
        onGone(current.gone)
        return
      }
      const { id, path, query, headers, caller } = current
      const request: HttpRequest = {
        ...{ method: 'POST', path, query: new URLSearchParams(query), headers, body: content },
        ...{ remoteAddress, remotePort, caller: callerOf(caller, edge) },
      }
      requests.push({ id, request })
    },
  }).push(body)
  return requests
}

/** The response to one request of a batch. */
class BatchResponder implements HttpResponder, HttpStream {
  readonly #out: HttpStream
  readonly #id: number
  readonly #onOver: () => void
  readonly #gone: (() => void)[] = []
  #onTaken: (() => void) | undefined
  #isBegun = false
  #isOver = false
  #isLeft = false

  constructor(out: HttpStream, id: number, onOver: () => void) {
    this.#out = out
    this.#id = id
    this.#onOver = onOver
  }

  send(status: number, headers: Readonly<Record<string, string>>, body: OutgoingMessage | string = ''): void {
    if (this.#isBegun) return
    this.#isBegun = true
    this.#put({ status, headers, end: 'whole' }, body)
    this.#over()
  }

  stream(status: number, headers: Readonly<Record<string, string>>, onTaken?: () => void): HttpStream {
    this.#onTaken = onTaken
    if (!this.#isBegun) this.#put({ status, headers })
    this.#isBegun = true
    return this
  }

  onGone(then: () => void): void {
    if (this.#isLeft) queueMicrotask(then)
    else this.#gone.push(then)
  }

  write(chunk: OutgoingMessage | string): boolean {
    return this.#put({}, chunk)
  }

  end(): void {
    this.#put({ end: 'whole' })
    this.#over()
  }

  destroy(): void {
    this.#put({ end: 'cut' })
    this.left()
  }

  get queuedBytes(): number {
    return this.#out.queuedBytes
  }

  taken(): void {
    this.#onTaken?.()
  }

  /** The client disconnected. */
  left(): void {
    if (this.#isOver) return
    this.#isLeft = true
    this.#over()
    for (const then of this.#gone) then()
  }

  #put(head: Omit<AnswerHead, 'size' | 'id'>, chunk: OutgoingMessage | string = NO_BYTES): boolean {
    if (this.#isOver) return false
    const message = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
    const piece: AnswerHead = { size: lengthOf(message), id: this.#id, ...head }
    const {
      head: before,
      body,
      tail,
    } = Buffer.isBuffer(message) ? { head: '', body: message, tail: '' } : message
    return this.#out.write({ head: lineOf(piece) + before, body, tail })
  }

  #over(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#onOver()
  }
}
