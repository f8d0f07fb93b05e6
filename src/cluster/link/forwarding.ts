import type { Fault } from '../../kernel/faults.js'
import type { JsonText } from '../../kernel/json/text.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import { FINAL_EVENT_ID, replicaLost } from '../../rpc/adopted-session.js'
import { refuseRequest } from '../../rpc/http/errors.js'
import { classifyWithin } from '../../wire/classify.js'
import { ByteRope } from '../../wire/framing/byte-rope.js'
import { messageEvent } from '../../wire/framing/sse-write.js'
import type { HttpHeaders, HttpStream, OutboundExchange, ReplyListener } from '../../wire/http.js'
import type { BufferedExchange } from './buffered-exchange.js'

/** Response status of a replica that does not have the session. */
export const MISDIRECTED = 421
/** Response status of a replica that took over the address of the intended one. */
export const REPLACED = 410
/** Response status for a missing or invalid signature. */
export const UNSIGNED = 401
/** Response status of a replica that is still starting. */
export const STARTING = 425

/** Response status of a replica that lost its lease and does not know its sessions (since `LINK` 2). */
export const UNSURE = 409

/** Sent before the request was looked at, by another process than the intended one. */
const NOBODY_THERE: ReadonlySet<number> = new Set([REPLACED, UNSIGNED, STARTING])

/** Hop-by-hop headers between two replicas. */
const OF_THE_HOP: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'transfer-encoding',
])

const LF = 0x0a
/** Prefix of an event from which a client can resume the stream. */
const RESUMABLE = Buffer.from('id: ')
/** Range of the delay before a client resumes its stream, so that clients do not return all at once. */
const RETRY_LEAST_MS = 500
const RETRY_MORE_MS = 2500

/** A paused stream resumes below this backlog. */
const LOW_BYTES = 64 * 1024

export interface ForwardingEvents {
  /** Not started: the recipient does not have the session. */
  unknown(): void
  /** Not started: the recipient is not reachable. */
  refused(): void
  /** Not started: the recipient does not know its sessions. */
  unsure(): void
  /** The result is unknown. */
  lost(): void
  /** Called at the end in all cases. */
  over(): void
}

/** Forwards one exchange to another replica and passes the response to the client. */
export class Forwarding implements ReplyListener {
  readonly #held: BufferedExchange
  readonly #on: ForwardingEvents
  readonly #bounds: LimitCounters
  #link: OutboundExchange | undefined
  #status = 0
  #headers: Readonly<Record<string, string>> = {}
  #out: HttpStream | undefined
  #body: ByteRope | undefined
  /** The last two bytes received: an event ends with two line feeds. */
  #tail = [LF, LF]
  #isPaused = false
  /** Reports whether the client could resume its stream at another replica. */
  #isResumable: boolean | undefined
  #isOver = false

  constructor(held: BufferedExchange, bounds: LimitCounters, on: ForwardingEvents) {
    this.#held = held
    this.#bounds = bounds
    this.#on = on
  }

  /** Sets the exchange that carries the request; call right after sending it. */
  sentBy(link: OutboundExchange): void {
    this.#link = link
    this.#held.responder.onGone(() => this.#end(() => link.abort()))
  }

  /** Ends the exchange because the replica stopped answering. */
  lost(): void {
    this.#end(() => {
      this.#link?.abort()
      this.#broken()
    })
  }

  /** Ends a resumable stream because this replica shuts down; others end when the connection closes. */
  left(): void {
    const out = this.#out
    if (out === undefined || this.#isResumable !== true || this.#isInEvent) return
    this.#end(() => {
      this.#link?.abort()
      out.write(`retry: ${Math.round(RETRY_LEAST_MS + Math.random() * RETRY_MORE_MS)}\n\n`)
      out.end()
    })
  }

  head(status: number, headers: HttpHeaders): void {
    if (this.#isOver) return
    if (status === MISDIRECTED || status === UNSURE || NOBODY_THERE.has(status)) {
      this.#end(() => {
        this.#link?.discard()
        if (status === MISDIRECTED) this.#on.unknown()
        else if (status === UNSURE) this.#on.unsure()
        else this.#on.refused()
      })
      return
    }
    this.#status = status
    const passed = Object.entries(headers).filter(
      (each): each is [string, string] => each[1] !== undefined && !OF_THE_HOP.has(each[0]),
    )
    this.#headers = Object.fromEntries(passed)
    if (headers['content-type']?.startsWith('text/event-stream') === true) {
      this.#out = this.#held.responder.stream(status, this.#headers, () => this.#onTaken())
      if (this.#held.request.method === 'GET') this.#isResumable = true
    } else {
      this.#body = new ByteRope(this.#bounds.inbound.open(() => this.lost()))
    }
  }

  data(chunk: Buffer): void {
    if (this.#isOver) return
    if (this.#out === undefined) {
      this.#body?.add(chunk)
      return
    }
    this.#isResumable ??= chunk.subarray(0, RESUMABLE.length).equals(RESUMABLE)
    this.#tail = [chunk.at(-2) ?? this.#tail[1] ?? 0, chunk.at(-1) ?? 0]
    if (this.#out.write(chunk)) return
    this.#isPaused = true
    this.#link?.pause()
    // A stream inside a shared exchange cannot be paused.
    if (this.#bounds.isOver('streamQueue', this.#out.queuedBytes)) this.#out.destroy()
  }

  ended(fault: Fault | undefined): void {
    if (fault?.code === 'unavailable') this.#end(() => this.#on.refused())
    else if (fault !== undefined) this.#end(() => this.#broken())
    else
      this.#end(() => {
        if (this.#out !== undefined) this.#out.end()
        else this.#held.responder.send(this.#status, this.#headers, this.#body?.take())
      })
  }

  #onTaken(): void {
    if (!this.#isPaused || (this.#out?.queuedBytes ?? 0) > LOW_BYTES) return
    this.#isPaused = false
    this.#link?.resume()
  }

  #end(how: () => void): void {
    if (this.#isOver) return
    this.#isOver = true
    how()
    this.#body?.clear()
    this.#on.over()
  }

  /** The connection broke. Retries elsewhere only if a second run changes nothing. */
  #broken(): void {
    const ids = this.#requestIds()
    if (this.#status === 0 && ids.length === 0) this.#on.refused()
    else this.#answerLost(ids)
  }

  /** Answers the client that the result of its requests is unknown. */
  #answerLost(ids: readonly JsonText[]): void {
    this.#on.lost()
    const { request, responder } = this.#held
    const out = this.#out
    // A partial event would merge with the next data.
    if (out !== undefined && this.#isInEvent) {
      out.destroy()
      return
    }
    const answers = ids.map(replicaLost)
    if (out !== undefined) {
      for (const answer of answers) out.write(messageEvent(answer, FINAL_EVENT_ID))
      out.end()
    } else if (answers.length > 0) {
      const [first] = answers
      const body = answers.length === 1 ? first : `[${answers.join(',')}]`
      responder.send(200, { 'content-type': 'application/json' }, body)
    } else if (request.method === 'POST') responder.send(202, {})
    else
      refuseRequest(responder, 503, 'The replica of this session is gone', {
        headers: { 'retry-after': '1' },
      })
  }

  get #isInEvent(): boolean {
    return this.#tail.some(byte => byte !== LF)
  }

  #requestIds(): readonly JsonText[] {
    const { method, body } = this.#held.request
    if (method !== 'POST') return []
    const classified = classifyWithin(body, this.#bounds)
    const all = classified.is === 'batch' ? classified.items : [classified]
    return all.flatMap(each =>
      each.is === 'message' && each.message.kind === 'request' ? [each.message.id] : [],
    )
  }
}
