import type { Clock } from '../kernel/async/clock.js'
import type { Caller } from '../kernel/caller.js'
import type { LimitCounters } from '../kernel/limit-counters.js'
import type { Logger } from '../kernel/logger.js'
import type { Meter } from '../kernel/meter.js'
import type { SessionDirectory } from '../rpc/adopted-session.js'
import type { HttpClient, HttpHandler, HttpHeaders, HttpRequest, OutboundExchange } from '../wire/http.js'
import type { Relay } from '../wire/relay.js'
import { Broadcasts } from './broadcasts.js'
import { Directory, type SessionMoves } from './directory.js'
import { Engine } from './engine/engine.js'
import { createEngineStore } from './engine/engine-store.js'
import type { ClusterMember, ClusterStore, MemberFacts, RateBucket } from './engine/store.js'
import { KeyRing } from './key-ring.js'
import { BatchHost } from './link/batch-host.js'
import { MISDIRECTED, REPLACED, UNSIGNED } from './link/forwarding.js'
import { BATCH_PATH } from './link/frames.js'
import { bodyDigestOf, LinkSeal, type Received } from './link/link-seal.js'
import { LEFT, NEWS, PEER_PATH, PeerLinks } from './link/peer-links.js'
import { ClusterMembers } from './members.js'
import { ClusterRelay, type UnavailableReason } from './relay.js'
import { SessionIds } from './sealed-id.js'

export interface ClusterOptions {
  /** Id of this instance: 8 random bytes in hexadecimal. */
  readonly id: string
  /** Address of Redis or Valkey, or a store for tests. */
  readonly engine: { readonly url: string; readonly prefix: string } | ClusterStore
  /** Each is 32 bytes in base64. */
  readonly keys: readonly string[]
  readonly leaseMs: number
  /** Address at which the other replicas reach this one. */
  readonly address: string
  readonly version: string
  /** Returns a digest of the active configuration, to compare replicas. */
  readonly digest: () => string
  /** Version of the link protocol; defaults to that of this program. */
  readonly speaks?: number | undefined
  readonly http: HttpClient
  readonly scheme: 'http' | 'https'
  readonly bounds: LimitCounters
  readonly clock: Clock
  readonly log: Logger
  readonly meter?: Meter | undefined
  /** Returns the instance that holds the pending call of a sealed state; undefined if none. */
  readonly waitsIn: (requestState: string) => string | undefined
}

/** Serves requests that other replicas forward, for one endpoint path. */
export interface RelayedEndpoint {
  readonly serve: HttpHandler
  /** Returns the session of a request. */
  readonly sessionOf: (request: HttpRequest) => string | undefined
  has(id: string): boolean
}

/** The cluster part of the status. */
export interface ClusterStatus extends SessionMoves {
  readonly engine: 'up' | 'down'
  readonly state: 'ready' | 'degraded' | 'draining' | 'fenced' | 'keys'
  readonly members: readonly (Pick<ClusterMember, 'id' | 'address' | 'state' | 'version'> & {
    readonly isSelf: boolean
  })[]
  readonly sessions: number
  readonly forwarded: number
  readonly unknown: number
  readonly refused: number
  readonly lost: number
  readonly held: number
  /** Number of 503 responses by reason. */
  readonly late: Readonly<Record<UnavailableReason, number>>
  /** Number of times that the lease of this replica expired. */
  readonly fenced: number
  /** Age of the lease in milliseconds; undefined before the first answer of the engine. */
  readonly leaseAgeMs: number | undefined
}

/** The membership of this replica in the cluster. */
export class Cluster {
  readonly relay: Relay
  readonly directory: SessionDirectory
  readonly broadcasts: Broadcasts
  readonly #store: ClusterStore
  readonly #ring: KeyRing
  readonly #members: ClusterMembers
  readonly #sessions: Directory
  readonly #links: PeerLinks
  readonly #relay: ClusterRelay
  readonly #seal: LinkSeal
  readonly #batches: BatchHost
  /** Signed data of admitted requests, by caller. */
  readonly #received = new WeakMap<Caller, Received>()

  constructor(options: ClusterOptions) {
    const { id, engine, keys, clock, log, bounds, meter, digest } = options
    const ring = new KeyRing(keys)
    this.#ring = ring
    this.#store =
      'url' in engine
        ? createEngineStore(new Engine({ ...engine, clock, log, meter }), engine.prefix)
        : engine
    this.#seal = new LinkSeal(ring, id, options.speaks)
    this.#batches = new BatchHost(log)
    this.#links = new PeerLinks({ http: options.http, seal: this.#seal, clock, scheme: options.scheme })
    const facts: Omit<MemberFacts, 'state' | 'sinceMs' | 'digest'> = {
      ...{ address: options.address, version: options.version, keys: ring.names },
    }
    this.broadcasts = new Broadcasts({
      ...{ id, store: this.#store, ring, clock },
      isSettled: () => this.#members.isSettled,
      onBroadcast: () => this.#tellNews(),
    })
    const members = new ClusterMembers({
      ...{ id, store: this.#store, clock, log, leaseMs: options.leaseMs, facts },
      digest: () => ring.nameOf(`configuration ${digest()}`),
      onBeat: beat => this.broadcasts.receive(beat),
      onReturn: () => this.#sessions.check(),
      onFenced: () => this.#sessions.release(),
      isLostForAll: others => this.#isLostForAll(others),
    })
    const ids = new SessionIds(ring, log)
    this.#members = members
    this.#sessions = new Directory({
      ...{ store: this.#store, members, ids, ring, clock, log },
      idleMs: () => bounds.max.sessionIdle,
    })
    this.#relay = new ClusterRelay({
      ...{ members, directory: this.#sessions, links: this.#links, ids, bounds, clock, meter },
      waitsIn: options.waitsIn,
    })
    this.relay = this.#relay
    this.directory = this.#sessions
  }

  /** Joins the cluster; continues without the engine if it does not answer. */
  join(): Promise<void> {
    return this.#members.join()
  }

  status(): ClusterStatus {
    const { counts, held } = this.#relay
    const members = this.#members.all.map(({ id, address, state, version }) => ({
      ...{ id, address, state, version, isSelf: id === this.#members.id },
    }))
    return {
      ...{ engine: this.#store.isUp ? 'up' : 'down', state: this.#state, members },
      ...{ sessions: this.#sessions.size, held, ...counts, fenced: this.#members.fenced },
      ...{ adoptions: this.#sessions.adoptions, handovers: this.#sessions.handovers },
      leaseAgeMs: this.#members.hasHeard ? this.#members.ageMs : undefined,
    }
  }

  get #state(): ClusterStatus['state'] {
    const { state, isSure } = this.#members
    if (state !== 'ready') return state
    if (!isSure) return 'fenced'
    return this.#store.isUp ? 'ready' : 'degraded'
  }

  /** The number of replicas, including this one. */
  get replicas(): number {
    return this.others.length + 1
  }

  /** Charges buckets that all replicas share, like `ClusterStore.charge`; undefined without the engine. */
  async charge(buckets: readonly RateBucket[]): Promise<readonly number[] | undefined> {
    if (!this.#store.isUp) return undefined
    return await this.#store.charge(
      buckets.map(each => ({ ...each, key: this.#ring.nameOf(`rate ${each.key}`) })),
    )
  }

  get others(): readonly ClusterMember[] {
    return this.#members.all.filter(({ id }) => id !== this.#members.id)
  }

  /** The replica that runs singleton tasks; undefined if it is this one. */
  get eldest(): ClusterMember | undefined {
    return this.#members.eldest
  }

  /** Reports whether only this replica can run singleton tasks: it is the oldest, and its lease is valid. */
  get isEldest(): boolean {
    return this.#members.isSure && this.#members.eldest === undefined
  }

  /** Updates the list of replicas. Rejects with a Fault `unavailable`. */
  refresh(): Promise<void> {
    return this.#members.refresh()
  }

  /** Sends a request of this replica to another one. */
  send(...sent: Parameters<PeerLinks['send']>): OutboundExchange {
    return this.#links.send(...sent)
  }

  /** Returns the caller of a request that another replica forwarded, or an HTTP status to refuse with. */
  admit(head: { method: string; target: string; headers: HttpHeaders }): Caller | number {
    const received = this.#seal.receive(head)
    if (received === undefined) return UNSIGNED
    if (received === 'other') return REPLACED
    this.#received.set(received.caller, received)
    return received.caller
  }

  /** Serves forwarded requests after admission; `endpointAt` returns the endpoint of a path. */
  serve(endpointAt: (path: string) => RelayedEndpoint | undefined): HttpHandler {
    return (request, responder) => {
      const { caller, path } = request
      const received = this.#received.get(caller)
      if (received?.digest !== bodyDigestOf(request.body)) {
        responder.send(UNSIGNED, {})
        return
      }
      const pass: HttpHandler = (each, answer) => {
        const endpoint = endpointAt(each.path)
        if (endpoint === undefined || !this.#serve(endpoint, received, each, answer))
          answer.send(MISDIRECTED, {})
      }
      if (path === PEER_PATH) {
        if (request.query.has(NEWS)) this.broadcasts.readNew()
        if (request.query.has(LEFT)) this.#members.forget(caller.edge)
        responder.send(200, { 'content-type': 'text/plain' }, this.#store.isUp ? 'up' : 'down')
      } else if (path === BATCH_PATH) this.#batches.serve(caller.edge ?? '', request, responder, pass)
      else pass(request, responder)
    }
  }

  /** Returns false if the session is not here. */
  #serve(endpoint: RelayedEndpoint, from: Received, ...exchange: Parameters<HttpHandler>): boolean {
    const [request, responder] = exchange
    const { serve } = endpoint
    const id = endpoint.sessionOf(request)
    if (id !== undefined && !endpoint.has(id))
      // This replica may be about to take it over.
      return (
        (from.adopts || this.#relay.seeks(id)) && this.#relay.session(id, { request, responder, serve }, from)
      )
    // The lease expired: find the current owner first.
    if (id !== undefined && !this.relay.isSure)
      return this.#relay.session(id, { request, responder, serve }, from)
    serve(request, responder)
    return true
  }

  get isLeaving(): boolean {
    return this.#members.isLeaving
  }

  /** Tells the other replicas to send no new sessions here. */
  async drain(): Promise<void> {
    await this.#members.drain()
  }

  /** Gives up idle sessions for other replicas; returns the number of sessions and requests left. */
  async letGo(): Promise<number> {
    return (await this.#sessions.letGo()) + this.#relay.inFlight
  }

  /** Leaves the cluster, so that other replicas take over the remaining sessions. Never rejects. */
  async close(): Promise<void> {
    await this.#sessions.flush()
    this.#sessions.close()
    await this.#members.leave()
    // Otherwise the others would send requests here until their next beat.
    await Promise.all(this.others.map(other => this.#links.probe(other, LEFT)))
    await this.#links.close()
    await this.#store.close()
  }

  #tellNews(): void {
    for (const other of this.others) void this.#links.probe(other, NEWS)
  }

  async #isLostForAll(others: readonly ClusterMember[]): Promise<boolean> {
    const said = await Promise.all(others.map(other => this.#links.ask(other)))
    const heard = said.filter(words => words !== undefined)
    return heard.length > 0 && heard.every(({ engine }) => engine === 'down')
  }
}
