import { type Clock, pause } from '../kernel/async/clock.js'
import { within } from '../kernel/async/deadline.js'
import type { LimitCounters } from '../kernel/limit-counters.js'
import type { Meter } from '../kernel/meter.js'
import type { Histogram } from '../kernel/series.js'
import { ownErrorText, RPC_CODES } from '../model/rpc-error.js'
import { refuseWith } from '../rpc/http/errors.js'
import type { Relay, RelayedExchange } from '../wire/relay.js'
import type { Directory, Whereabouts } from './directory.js'
import type { ClusterMember } from './engine/store.js'
import { BufferedExchange } from './link/buffered-exchange.js'
import { Forwarding, UNSURE } from './link/forwarding.js'
import type { Received } from './link/link-seal.js'
import type { PeerLinks } from './link/peer-links.js'
import type { ClusterMembers } from './members.js'
import { principalTag, type SessionIds, type SessionName } from './sealed-id.js'

/** Maximum wait for an owner, and for a live but unreachable owner. */
const HOLD_MS = 8000
const UNREACHABLE_MS = 3000
const LOOK_EVERY_MS = 250
/** A longer wait opens the client's stream early. */
const QUIET_MS = 300
const HELD_MAX = 1000
/** Maximum number of times that a request is forwarded. */
const HOPS_MAX = 4
/** Maximum number of remembered sessions whose owner differs from their id. */
const MOVED_MAX = 100_000

/** Reason of a 503 response to a request that needs another replica. */
export type UnavailableReason = 'leaving' | 'engine_unavailable' | 'peer_unreachable' | 'overloaded'

const WORDS: Readonly<Record<UnavailableReason, string>> = {
  engine_unavailable: 'The replica of this session is gone, and no other can take it over at the moment',
  leaving: 'The proxy is shutting down',
  peer_unreachable: 'The replica of this session cannot be reached',
  overloaded: 'Too many requests are waiting for dead replicas',
}

type Verdict =
  | Exclude<Whereabouts, { is: 'unsure' }>
  /** The session has no known owner and should not stay here: `owner` may take it over. */
  | { readonly is: 'heir'; readonly owner: string }
  | { readonly is: 'late'; readonly reason: UnavailableReason }

export interface RelayOptions {
  readonly members: ClusterMembers
  readonly directory: Directory
  readonly links: PeerLinks
  readonly ids: SessionIds
  readonly bounds: LimitCounters
  readonly clock: Clock
  readonly meter?: Meter | undefined
  /** Returns the instance that holds the pending call of a sealed state; undefined if none. */
  readonly waitsIn: (requestState: string) => string | undefined
}

/** Counters for the metrics. */
export interface RelayCounts {
  forwarded: number
  /** Sent to a replica without the session, or not delivered. */
  unknown: number
  refused: number
  lost: number
  /** Answered with 503. */
  readonly late: Record<UnavailableReason, number>
}

/** Result of asking a replica; undefined if none was asked. `unsure`: it does not know its own sessions. */
type Why = 'unknown' | 'refused' | 'unsure' | undefined

interface Way {
  readonly held: BufferedExchange
  readonly id: string
  /** Undefined for a pending call at another replica, outside of any session. */
  readonly name: SessionName | undefined
  /** Set if another replica forwarded the request. */
  readonly from?: Received | undefined
  hops: number
}

interface Search extends Omit<Way, 'hops'> {
  /** The intended recipient. */
  readonly owner: string
  readonly why: Why
}

/** Forwards each exchange to the replica that owns its session, and takes over sessions of dead replicas. */
export class ClusterRelay implements Relay {
  readonly counts: RelayCounts = {
    ...{ forwarded: 0, unknown: 0, refused: 0, lost: 0 },
    late: { engine_unavailable: 0, leaving: 0, peer_unreachable: 0, overloaded: 0 },
  }
  readonly #options: RelayOptions
  #moved = new Map<string, string>()
  /** One search per session, shared by all waiting requests. */
  readonly #searches = new Map<string, Promise<Verdict>>()
  readonly #seconds: Histogram | undefined
  #held = 0
  #inFlight = 0

  constructor(options: RelayOptions) {
    this.#options = options
    this.#seconds = options.meter?.histogram('mcp_proxy_cluster_forward_seconds')
  }

  /** Number of requests whose recipient is not known yet. */
  get held(): number {
    return this.#held
  }

  /** Number of requests in flight to other replicas; open streams do not count. */
  get inFlight(): number {
    return this.#inFlight
  }

  get isSure(): boolean {
    return this.#options.members.isSure
  }

  /** Reports whether the owner of a session is being searched; this replica may become the owner. */
  seeks(id: string): boolean {
    return this.#searches.has(id) && !this.#options.members.isLeaving
  }

  /** Routes a request of a session. `from`: another replica forwarded it, and would get it back. */
  session(id: string, exchange: RelayedExchange, from?: Received): boolean {
    const { ids, directory, members } = this.#options
    const name = ids.open(id)
    if (name?.principalTag !== principalTag(exchange.request.caller.principal)) return false
    if (directory.isOver(name.sid)) return false
    const owner = directory.has(name.sid) ? members.id : (this.#moved.get(name.sid) ?? name.owner)
    this.#to(owner, { held: new BufferedExchange(exchange), id, name, from, hops: 0 })
    return true
  }

  begin(exchange: RelayedExchange): boolean {
    const { members } = this.#options
    if (!members.isLeaving) return false
    const held = new BufferedExchange(exchange)
    const other = members.anyOther
    if (other === undefined) this.#refuse(held, 'leaving')
    else this.#forward(other, { held, id: other.id, name: undefined, hops: 1 }, false)
    return true
  }

  parked(requestState: string, exchange: RelayedExchange): boolean {
    const { members, waitsIn } = this.#options
    const owner = requestState === '' ? undefined : waitsIn(requestState)
    if (owner === undefined || owner === members.id) return false
    if (members.isSure && members.find(owner) === undefined) return false
    this.#to(owner, { held: new BufferedExchange(exchange), id: owner, name: undefined, hops: 0 })
    return true
  }

  #to(owner: string, way: Way, adopts = false): void {
    const { members } = this.#options
    const member = owner === members.id ? undefined : members.find(owner)
    way.hops += 1
    if (way.hops > HOPS_MAX) this.#refuse(way.held, 'engine_unavailable')
    else if (member === undefined) void this.#search(owner, way, undefined)
    else this.#forward(member, way, adopts)
  }

  #forward(member: ClusterMember, way: Way, adopts: boolean): void {
    const { links, bounds, clock } = this.#options
    const { held } = way
    const beganMs = clock.nowMs()
    if (held.isGone) return
    // Nothing was sent yet, so the request can still go elsewhere.
    if (!adopts && links.isDoubtful(member)) {
      void this.#search(member.id, way, 'refused')
      return
    }
    let unwatch = (): void => undefined
    const counts = held.request.method === 'POST' ? 1 : 0
    const forwarding = new Forwarding(held, bounds, {
      unknown: () => {
        this.counts.unknown += 1
        // The chosen heir knows whether the session ended.
        if (adopts) held.serve()
        else void this.#search(member.id, way, 'unknown')
      },
      refused: () => {
        this.counts.refused += 1
        void this.#search(member.id, way, 'refused')
      },
      unsure: () => {
        this.counts.refused += 1
        void this.#search(member.id, way, 'unsure')
      },
      lost: () => {
        this.counts.lost += 1
        links.doubt(member)
      },
      over: () => {
        this.#inFlight -= counts
        if (counts > 0) this.#seconds?.observe((clock.nowMs() - beganMs) / 1000)
        unwatch()
      },
    })
    unwatch = links.watch(member, forwarding)
    this.counts.forwarded += 1
    this.#inFlight += counts
    forwarding.sentBy(links.send(member, { ...held.request, adopts }, forwarding))
  }

  /** Finds the right replica for an exchange that its first recipient could not serve. */
  async #search(owner: string, way: Way, why: Why): Promise<void> {
    const { held, id, name } = way
    if (this.#held >= HELD_MAX) {
      this.#refuse(held, 'overloaded')
      return
    }
    this.#held += 1
    const timer = this.#options.clock.after(QUIET_MS, () => held.waits())
    let search = this.#searches.get(id)
    if (search === undefined) {
      search = this.#verdict({ owner, id, name, held, from: way.from, why }).finally(() =>
        this.#searches.delete(id),
      )
      this.#searches.set(id, search)
    }
    const verdict = await search
    timer.cancel()
    this.#held -= 1
    this.#follow(verdict, way)
  }

  #follow(verdict: Verdict, way: Way): void {
    const { held, name, from } = way
    if (held.isGone) return
    switch (verdict.is) {
      case 'here':
      case 'over':
        // The handler answers that the session is unknown.
        held.serve()
        return
      case 'at':
        if (name !== undefined) this.#remember(name.sid, verdict.owner)
        this.#to(verdict.owner, way)
        return
      case 'heir':
        // The forwarding replica reaches the engine, or finds another replica that does.
        if (from !== undefined && from.speaks >= 2) held.responder.send(UNSURE, {})
        else if (from !== undefined) this.#refuse(held, 'engine_unavailable')
        else this.#to(verdict.owner, way, true)
        return
      case 'late':
        this.#refuse(held, verdict.reason)
    }
  }

  async #verdict(asked: Search): Promise<Verdict> {
    const { clock, members } = this.#options
    const beganMs = clock.nowMs()
    let leaseMs: number | undefined
    for (;;) {
      const found = await this.#look(asked).catch(() => this.#fencedHeir(asked))
      if (found !== undefined) return found
      const waitedMs = clock.nowMs() - beganMs
      const member = members.find(asked.owner)
      // A renewal from before the failed attempt proves nothing.
      if (members.ageMs < waitedMs) leaseMs ??= member?.untilMs
      const isAlive = member !== undefined && leaseMs !== undefined && member.untilMs > leaseMs
      if (asked.why === 'refused' && isAlive && waitedMs >= UNREACHABLE_MS) {
        return { is: 'late', reason: 'peer_unreachable' }
      }
      if (waitedMs >= HOLD_MS) return { is: 'late', reason: 'engine_unavailable' }
      await pause(clock, LOOK_EVERY_MS)
    }
  }

  /** Returns undefined while the owner is unknown. Rejects with a Fault without the engine. */
  async #look(search: Search): Promise<Verdict | undefined> {
    const { members, links, clock } = this.#options
    const { owner, name, why } = search
    const before = why === 'refused' ? members.find(owner) : undefined
    const answers = before && (await within(links.ask(before), { clock, ms: LOOK_EVERY_MS }))
    if (answers !== undefined) return { is: 'at', owner }
    await members.refresh()
    if (!members.isSure) return undefined
    const there = owner === members.id ? undefined : members.find(owner)
    // A dead process may still hold a valid lease: unknown until the lease expires.
    if (there !== undefined && why === 'refused') return undefined
    if (name === undefined) return there === undefined ? { is: 'here' } : { is: 'at', owner }
    return await this.#lookIn(name, search, there)
  }

  /** Does the same for a session, from the directory. */
  async #lookIn(
    name: SessionName,
    { owner, id, held, why }: Search,
    there: ClusterMember | undefined,
  ): Promise<Verdict | undefined> {
    const found = await this.#options.directory.find(id, name, held.request.caller)
    if (found.is === 'unsure') return this.#heir()
    if (found.is !== 'at' || found.owner !== owner || why === undefined || why === 'refused') return found
    // The lease has practically expired.
    if (why === 'unsure') return undefined
    // The replica answered that it has no such session. A draining one may have just given it up. Any other
    // knows that the session ended, or took it over without noticing.
    return there?.state === 'draining' ? undefined : { is: 'heir', owner }
  }

  /** Returns a replica with a connection to the engine while only this one has lost it. */
  async #fencedHeir({ name }: Search): Promise<Verdict | undefined> {
    const { members, links } = this.#options
    const other = members.isSure || name === undefined ? undefined : members.anyOther
    if (other === undefined || (await links.ask(other))?.engine !== 'up') return undefined
    return { is: 'heir', owner: other.id }
  }

  /** Returns the replica that may take over unowned sessions while this one shuts down. */
  #heir(): Verdict | undefined {
    const { members } = this.#options
    const heir = members.isLeaving ? members.anyOther : undefined
    return heir && { is: 'heir', owner: heir.id }
  }

  #refuse({ responder, isGone }: BufferedExchange, reason: UnavailableReason): void {
    if (isGone) return
    this.counts.late[reason] += 1
    const error = ownErrorText(RPC_CODES.unavailable, WORDS[reason], { reason })
    refuseWith(responder, 503, { id: undefined, error }, { 'retry-after': '5' })
  }

  #remember(sid: string, owner: string): void {
    if (this.#moved.size >= MOVED_MAX) this.#moved = new Map()
    this.#moved.set(sid, owner)
  }
}
