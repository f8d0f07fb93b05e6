import type { Clock, Timer } from '../../kernel/async/clock.js'
import type { Fault } from '../../kernel/faults.js'
import { NO_BYTES } from '../../kernel/nothing.js'
import type { HttpClient, OutboundExchange, ReplyListener } from '../../wire/http.js'
import type { ClusterMember } from '../engine/store.js'
import { Batches, type Sent } from './batches.js'
import type { LinkSeal } from './link-seal.js'

/** Answers liveness checks with the state of the engine. */
export const PEER_PATH = '/peer'

/** Query parameter: a note was written. */
export const NEWS = 'news'

/** Query parameter: the sender leaves the cluster. */
export const LEFT = 'left'

/** Interval of liveness checks while requests are in flight. */
const ASK_MS = 2500
const ANSWER_MS = 2000
const MISSES = 2
/** Maximum number of unresponsive replicas; most never return. */
const DOUBTFUL_MAX = 1000

export interface PeerLinksOptions {
  readonly http: HttpClient
  readonly seal: LinkSeal
  readonly clock: Clock
  readonly scheme: 'http' | 'https'
}

/** A request in flight to another replica. */
export interface WatchedExchange {
  /** The replica stopped answering. */
  lost(): void
  /** This replica shuts down. */
  left(): void
}

interface Peer {
  readonly exchanges: Set<WatchedExchange>
  readonly timer: Timer
  misses: number
}

/** The answer to a liveness check. */
export interface PeerAnswer {
  readonly engine: 'up' | 'down'
}

/** Sends signed requests to other replicas and checks that they are alive. */
export class PeerLinks {
  readonly #options: PeerLinksOptions
  readonly #peers = new Map<string, Peer>()
  /** Pending liveness checks, shared by all waiting callers. */
  readonly #asked = new Map<string, Promise<PeerAnswer | undefined>>()
  /** Replicas that missed the last check, or lost a request since. */
  readonly #doubtful = new Set<string>()

  readonly #batches = new Batches((to, request, listener) => this.#send(to, request, listener))

  constructor(options: PeerLinksOptions) {
    this.#options = options
  }

  /** Sends a request to a replica; `listener` receives the response. */
  send(to: ClusterMember, request: Sent, listener: ReplyListener): OutboundExchange {
    const batches = this.#batches
    return batches.takes(to, request) ? batches.add(to, request, listener) : this.#send(to, request, listener)
  }

  /** Sends a request as an exchange of its own. */
  #send(to: ClusterMember, request: Sent, listener: ReplyListener): OutboundExchange {
    const { http, seal, scheme } = this.#options
    const { method, path, query, headers, body, caller, adopts = false } = request
    const search = query.toString()
    const target = search === '' ? path : `${path}?${search}`
    const verb = method === 'GET' || method === 'DELETE' ? method : 'POST'
    const signed = seal.sign(to.id, { method: verb, target, headers }, { caller, body, adopts })
    const url = `${scheme}://${to.address}${target}`
    return http.send({ method: verb, url, headers: signed, ...(verb === 'POST' && { body }) }, listener)
  }

  /** Checks a replica while a request is in flight; returns a function that ends this. */
  watch(to: ClusterMember, exchange: WatchedExchange): () => void {
    const peer = this.#peers.get(to.id) ?? this.#open(to)
    peer.exchanges.add(exchange)
    return () => {
      peer.exchanges.delete(exchange)
      if (peer.exchanges.size > 0 || this.#peers.get(to.id) !== peer) return
      peer.timer.cancel()
      this.#peers.delete(to.id)
    }
  }

  /** Marks a replica after a lost request: check it before sending the next one. */
  doubt({ id }: ClusterMember): void {
    if (this.#doubtful.size >= DOUBTFUL_MAX) this.#doubtful.clear()
    this.#doubtful.add(id)
  }

  /** Reports whether a replica must answer a check before it gets requests. */
  isDoubtful({ id }: ClusterMember): boolean {
    return this.#doubtful.has(id)
  }

  /** Checks whether a replica is alive; resolves with undefined if it does not answer in time. */
  ask(to: ClusterMember): Promise<PeerAnswer | undefined> {
    const asked =
      this.#asked.get(to.id) ??
      this.probe(to)
        .then(({ status, engine }) => {
          const isThere = status === 200
          if (isThere) this.#doubtful.delete(to.id)
          else this.doubt(to)
          return isThere ? { engine } : undefined
        })
        .finally(() => this.#asked.delete(to.id))
    this.#asked.set(to.id, asked)
    return asked
  }

  /** Sends a liveness check, with `word` as a notification; `status` is 0 without an answer. */
  probe(
    to: ClusterMember,
    word?: typeof NEWS | typeof LEFT,
  ): Promise<PeerAnswer & { readonly status: number }> {
    return new Promise(resolve => {
      const chunks: Buffer[] = []
      const end = (fault?: Fault): void => {
        timer.cancel()
        resolve({ ...answerIn(chunks), status: fault === undefined ? status : 0 })
      }
      const query = new URLSearchParams(word === undefined ? {} : { [word]: '1' })
      const request = { method: 'GET', path: PEER_PATH, query, headers: {}, body: NO_BYTES, caller: NOBODY }
      let status = 0
      const sent = this.send(to, request, {
        head: code => {
          status = code
        },
        data: chunk => chunks.push(chunk),
        ended: end,
      })
      const timer = this.#options.clock.after(ANSWER_MS, () => {
        sent.abort()
        status = 0
        end()
      })
    })
  }

  async close(): Promise<void> {
    for (const { timer, exchanges } of [...this.#peers.values()]) {
      timer.cancel()
      for (const each of [...exchanges]) each.left()
    }
    this.#peers.clear()
    await this.#options.http.close()
  }

  #open(to: ClusterMember): Peer {
    const exchanges = new Set<WatchedExchange>()
    const peer: Peer = {
      exchanges,
      misses: 0,
      timer: this.#options.clock.every(ASK_MS, () => {
        void this.ask(to).then(words => {
          peer.misses = words === undefined ? peer.misses + 1 : 0
          if (peer.misses >= MISSES) for (const each of [...exchanges]) each.lost()
        })
      }),
    }
    this.#peers.set(to.id, peer)
    return peer
  }
}

/** Caller of the replica's own requests. */
const NOBODY = { principal: '', scopes: undefined, endsMs: Number.POSITIVE_INFINITY }

const answerIn = (chunks: readonly Buffer[]): PeerAnswer =>
  Buffer.concat(chunks).toString() === 'down' ? { engine: 'down' } : { engine: 'up' }
