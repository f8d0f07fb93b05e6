import { Fault } from '../../kernel/faults.js'
import { nothing } from '../../kernel/nothing.js'
import type { HttpHeaders, HttpRequest, OutboundExchange, ReplyListener } from '../../wire/http.js'
import type { ClusterMember } from '../engine/store.js'
import { MISDIRECTED } from './forwarding.js'
import { BATCH_PATH, FrameReader, lineOf } from './frames.js'
import { type CallerClaims, passedOf, type Sender, sealContext } from './link-seal.js'

/** Larger requests get an exchange of their own. */
const REQUEST_BYTES = 16 * 1024
const BATCH_BYTES = 64 * 1024

/** A request to another replica. */
export type Sent = Pick<HttpRequest, 'method' | 'path' | 'query' | 'headers' | 'body' | 'caller'> &
  Pick<Sender, 'adopts'>

/** A request in a batch, or the cancellation of an earlier one. */
export type ForwardedHead =
  | { readonly size: 0; readonly gone: number }
  | {
      readonly size: number
      /** Unique per sending replica. */
      readonly id: number
      readonly path: string
      readonly query: string
      readonly headers: HttpHeaders
      readonly caller: CallerClaims
    }

/** A piece of a response. */
export interface AnswerHead {
  readonly size: number
  readonly id: number
  /** Only in the first piece. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Only in the last piece: whether the response is complete. */
  readonly end?: 'whole' | 'cut'
}

type SendAlone = (to: ClusterMember, request: Sent, listener: ReplyListener) => OutboundExchange

/** Requests and cancellations to send at the end of the turn. */
interface PendingBatch {
  readonly requests: PostedRequest[]
  /** Cancelled requests of earlier batches. */
  readonly gone: { readonly id: number; readonly batch: Batch }[]
  bytes: number
}

/** Sends the requests of one turn to a replica as one exchange, which halves the cost of small calls. */
export class Batches {
  readonly #send: SendAlone
  readonly #pending = new Map<string, PendingBatch>()
  /** Replicas of earlier versions, which do not accept batches. */
  readonly #plain = new Set<string>()
  #last = 0

  constructor(send: SendAlone) {
    this.#send = send
  }

  takes(to: ClusterMember, { method, body, adopts }: Sent): boolean {
    const isSmall = method === 'POST' && body.length <= REQUEST_BYTES
    return isSmall && adopts !== true && !this.#plain.has(to.id)
  }

  /** Queues a request until the end of the turn. */
  add(to: ClusterMember, request: Sent, listener: ReplyListener): OutboundExchange {
    this.#last += 1
    const one = new PostedRequest(this.#last, request, listener)
    const pending = this.#pendingFor(to)
    pending.requests.push(one)
    pending.bytes += request.body.length
    if (pending.bytes > BATCH_BYTES) this.#flush(to)
    return one
  }

  #pendingFor(to: ClusterMember): PendingBatch {
    const known = this.#pending.get(to.id)
    if (known !== undefined) return known
    const pending: PendingBatch = { requests: [], gone: [], bytes: 0 }
    this.#pending.set(to.id, pending)
    setImmediate(() => {
      if (this.#pending.get(to.id) === pending) this.#flush(to)
    })
    return pending
  }

  #flush(to: ClusterMember): void {
    const pending = this.#pending.get(to.id)
    this.#pending.delete(to.id)
    const requests = pending?.requests.filter(({ isOver }) => !isOver) ?? []
    const gone = pending?.gone.filter(({ batch }) => !batch.isOver).map(({ id }) => id) ?? []
    const [only] = requests
    if (only !== undefined && requests.length === 1 && gone.length === 0) this.#alone(to, only)
    else if (requests.length + gone.length > 0) this.#together(to, requests, gone)
  }

  #alone(to: ClusterMember, one: PostedRequest): void {
    one.sentBy(this.#send(to, one.request, one.listener))
  }

  #together(to: ClusterMember, requests: readonly PostedRequest[], gone: readonly number[]): void {
    const batch: Batch = new Batch(requests, {
      gone: id => this.#pendingFor(to).gone.push({ id, batch }),
      refused: status => {
        if (status === MISDIRECTED) this.#plain.add(to.id)
        for (const one of requests) if (!one.isOver) this.#alone(to, one)
      },
    })
    const frames = [...requests.flatMap(one => one.frame()), ...gone.map(goneOf)]
    batch.sentBy(this.#send(to, { ...OURS, body: Buffer.concat(frames) }, batch))
  }
}

const goneOf = (id: number): Buffer => {
  const head: ForwardedHead = { size: 0, gone: id }
  return Buffer.from(lineOf(head), 'latin1')
}

const OURS = {
  method: 'POST',
  path: BATCH_PATH,
  query: new URLSearchParams(),
  headers: {},
  caller: { principal: '', scopes: undefined, endsMs: Number.POSITIVE_INFINITY },
}

/** One request, sent in a batch or alone. */
class PostedRequest implements OutboundExchange {
  readonly id: number
  readonly request: Sent
  readonly listener: ReplyListener
  /** True after the request was cancelled. */
  isOver = false
  #way: OutboundExchange | undefined

  constructor(id: number, request: Sent, listener: ReplyListener) {
    this.id = id
    this.request = request
    this.listener = listener
  }

  sentBy(way: OutboundExchange): void {
    this.#way = way
  }

  frame(): readonly Buffer[] {
    const { path, query, headers, body, caller } = this.request
    const head: ForwardedHead = {
      ...{ size: body.length, id: this.id, path, query: query.toString() },
      ...{ headers: passedOf(headers), caller: sealContext(caller) },
    }
    return [Buffer.from(lineOf(head), 'latin1'), body]
  }

  pause(): void {
    this.#way?.pause()
  }

  resume(): void {
    this.#way?.resume()
  }

  discard(): void {
    this.isOver = true
    this.#way?.discard()
  }

  abort(): void {
    this.isOver = true
    this.#way?.abort()
  }
}

interface BatchEvents {
  /** Called for a cancelled request without a response yet. */
  gone(id: number): void
  /** No request was started: the replica rejects batches (earlier version), or this one is too long. */
  refused(status: number): void
}

/** Requests sent as one exchange. */
class Batch implements ReplyListener {
  readonly #on: BatchEvents
  /** Requests without a complete response. */
  readonly #open = new Map<number, PostedRequest>()
  readonly #reader: FrameReader<AnswerHead>
  #exchange: OutboundExchange | undefined
  #isBegun = false
  #piece: AnswerHead | undefined

  constructor(requests: readonly PostedRequest[], on: BatchEvents) {
    this.#on = on
    this.#reader = new FrameReader<AnswerHead>({
      head: piece => {
        this.#piece = piece
        const { id, status, headers = {} } = piece
        if (status !== undefined) this.#wanting(id)?.head(status, headers)
      },
      data: bytes => this.#wanting(this.#piece?.id)?.data(bytes),
      over: () => this.#over(),
    })
    for (const one of requests) {
      this.#open.set(one.id, one)
      const leave = (): void => this.#leave(one)
      one.sentBy({ pause: nothing, resume: nothing, discard: leave, abort: leave })
    }
  }

  get isOver(): boolean {
    return this.#open.size === 0
  }

  sentBy(exchange: OutboundExchange): void {
    this.#exchange = exchange
  }

  head(status: number): void {
    this.#isBegun = status === 200
    if (this.#isBegun) {
      for (const one of this.#open.values()) if (one.isOver) this.#leave(one)
    } else {
      this.#open.clear()
      this.#exchange?.discard()
      this.#on.refused(status)
    }
  }

  data(chunk: Buffer): void {
    try {
      this.#reader.push(chunk)
    } catch (cause) {
      this.#exchange?.abort()
      this.ended(new Fault('disconnected', 'a replica sent an invalid response', { cause }))
    }
  }

  ended(why = new Fault('disconnected', 'a replica did not send a response')): void {
    const all = [...this.#open.values()]
    this.#open.clear()
    for (const one of all) if (!one.isOver) one.listener.ended(why)
  }

  #over(): void {
    const { id, end } = this.#piece ?? {}
    if (id === undefined || end === undefined) return
    const listener = this.#wanting(id)
    this.#open.delete(id)
    listener?.ended(end === 'whole' ? undefined : new Fault('disconnected', 'the answer was cut'))
  }

  /** Cancels one request; aborts the exchange if it was the last. */
  #leave(one: PostedRequest): void {
    if (!this.#open.has(one.id)) return
    if ([...this.#open.values()].every(({ isOver }) => isOver)) {
      this.#open.clear()
      this.#exchange?.abort()
    } else if (this.#isBegun) {
      this.#open.delete(one.id)
      this.#on.gone(one.id)
    }
  }

  #wanting(id: number | undefined): ReplyListener | undefined {
    const one = id === undefined ? undefined : this.#open.get(id)
    return one?.isOver === false ? one.listener : undefined
  }
}
