import { Fault } from '../../kernel/faults.js'
import type { HttpHeaders, HttpRequest, OutboundExchange, ReplyListener } from '../../wire/http.js'
import type { ClusterMember } from '../engine/store.js'
import { MISDIRECTED } from './forwarding.js'
import { type CallerWords, passedOf, type Sender, sealContext } from './link-seal.js'
import { lineOf, PARCEL_PATH, PacketReader } from './packets.js'

/** Larger requests get an exchange of their own. */
const REQUEST_BYTES = 16 * 1024
const PARCEL_BYTES = 64 * 1024

/** A request to another replica. */
export type Sent = Pick<HttpRequest, 'method' | 'path' | 'query' | 'headers' | 'body' | 'caller'> &
  Pick<Sender, 'adopts'>

/** A request in a parcel, or the cancellation of an earlier one. */
export type ForwardedHead =
  | { readonly size: 0; readonly gone: number }
  | {
      readonly size: number
      /** Unique per sending replica. */
      readonly id: number
      readonly path: string
      readonly query: string
      readonly headers: HttpHeaders
      readonly caller: CallerWords
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
interface Due {
  readonly requests: PostedRequest[]
  /** Cancelled requests of earlier parcels. */
  readonly gone: { readonly id: number; readonly parcel: Parcel }[]
  bytes: number
}

/** Sends the requests of one turn to a replica as one exchange, which halves the cost of small calls. */
export class Parcels {
  readonly #send: SendAlone
  readonly #due = new Map<string, Due>()
  /** Replicas of earlier versions, which do not accept parcels. */
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
    const due = this.#dueTo(to)
    due.requests.push(one)
    due.bytes += request.body.length
    if (due.bytes > PARCEL_BYTES) this.#flush(to)
    return one
  }

  #dueTo(to: ClusterMember): Due {
    const known = this.#due.get(to.id)
    if (known !== undefined) return known
    const due: Due = { requests: [], gone: [], bytes: 0 }
    this.#due.set(to.id, due)
    setImmediate(() => {
      if (this.#due.get(to.id) === due) this.#flush(to)
    })
    return due
  }

  #flush(to: ClusterMember): void {
    const due = this.#due.get(to.id)
    this.#due.delete(to.id)
    const requests = due?.requests.filter(({ isOver }) => !isOver) ?? []
    const gone = due?.gone.filter(({ parcel }) => !parcel.isOver).map(({ id }) => id) ?? []
    const [only] = requests
    if (only !== undefined && requests.length === 1 && gone.length === 0) this.#alone(to, only)
    else if (requests.length + gone.length > 0) this.#together(to, requests, gone)
  }

  #alone(to: ClusterMember, one: PostedRequest): void {
    one.sentBy(this.#send(to, one.request, one.listener))
  }

  #together(to: ClusterMember, requests: readonly PostedRequest[], gone: readonly number[]): void {
    const parcel: Parcel = new Parcel(requests, {
      gone: id => this.#dueTo(to).gone.push({ id, parcel }),
      refused: status => {
        if (status === MISDIRECTED) this.#plain.add(to.id)
        for (const one of requests) if (!one.isOver) this.#alone(to, one)
      },
    })
    const packets = [...requests.flatMap(one => one.packet()), ...gone.map(goneOf)]
    parcel.sentBy(this.#send(to, { ...OURS, body: Buffer.concat(packets) }, parcel))
  }
}

const goneOf = (id: number): Buffer => {
  const head: ForwardedHead = { size: 0, gone: id }
  return Buffer.from(lineOf(head), 'latin1')
}

const OURS = {
  method: 'POST',
  path: PARCEL_PATH,
  query: new URLSearchParams(),
  headers: {},
  caller: { principal: '', scopes: undefined, endsMs: Number.POSITIVE_INFINITY },
}

/** One request, sent in a parcel or alone. */
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

  packet(): readonly Buffer[] {
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

/** A pause would affect all other requests; the receiver bounds each slow stream instead. */
const NOT_HELD_BACK = (): void => undefined

interface ParcelEvents {
  /** Called for a cancelled request without a response yet. */
  gone(id: number): void
  /** No request was started: the replica rejects parcels (earlier version), or this one is too long. */
  refused(status: number): void
}

/** Requests sent as one exchange. */
class Parcel implements ReplyListener {
  readonly #on: ParcelEvents
  /** Requests without a complete response. */
  readonly #open = new Map<number, PostedRequest>()
  readonly #reader: PacketReader<AnswerHead>
  #exchange: OutboundExchange | undefined
  #isBegun = false
  #piece: AnswerHead | undefined

  constructor(requests: readonly PostedRequest[], on: ParcelEvents) {
    this.#on = on
    this.#reader = new PacketReader<AnswerHead>({
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
      one.sentBy({ pause: NOT_HELD_BACK, resume: NOT_HELD_BACK, discard: leave, abort: leave })
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
