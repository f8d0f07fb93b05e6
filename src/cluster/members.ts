import { type Clock, pause, type Timer } from '../kernel/async/clock.js'
import { within } from '../kernel/async/deadline.js'
import { Fault } from '../kernel/faults.js'
import type { Logger } from '../kernel/logger.js'
import type { Beat, ClusterMember, ClusterStore, MemberFacts } from './engine/store.js'
import { hasKeysOf } from './key-ring.js'
import { NO_GENERATION } from './sealed-id.js'

/** One beat may be late without losing the lease. */
const BEATS_PER_LEASE = 3
/** Minimum interval between two requests for the list. */
const FRESH_MS = 250
/** Maximum wait for the engine at the start, and the interval between attempts. */
const JOIN_MS = 2000
const JOIN_EVERY_MS = 100
/** Retry interval after a failed beat. */
const AGAIN_MS = 1000
/** Replicas may have different configurations for this long before a warning is logged. */
const DIFFERS_MS = 10 * 60_000

export interface MembersOptions {
  /** Id of this instance. */
  readonly id: string
  readonly store: ClusterStore
  readonly clock: Clock
  readonly log: Logger
  readonly leaseMs: number
  readonly facts: Pick<MemberFacts, 'address' | 'version' | 'keys'>
  /** Returns the digest of the active configuration. */
  readonly digest: () => string
  /**
   * Called before the lease counts again after it expired, or after the engine lost its data: other replicas
   * may have taken over sessions.
   */
  readonly onReturn: () => Promise<void>
  /** Called with each answer of the engine. */
  readonly onBeat: (beat: Beat) => void
  /** Called for each failed beat while the lease is expired. */
  readonly onFenced: () => void
  /** Reports whether all other replicas lost the engine too; leases then stay valid. */
  readonly isLostForAll: (others: readonly ClusterMember[]) => Promise<boolean>
}

/** Tracks live replicas: renews the lease of this instance and keeps the latest list of the engine. */
export class ClusterMembers {
  readonly id: string
  readonly #options: MembersOptions
  #all: ReadonlyMap<string, ClusterMember> = new Map()
  #state: MemberFacts['state'] = 'ready'
  #sinceMs = Number.POSITIVE_INFINITY
  #generation = NO_GENERATION
  /** The lease is certainly valid until then, by the local clock. */
  #sureUntilMs = 0
  #heardMs = Number.NEGATIVE_INFINITY
  /** True while other replicas may have taken over sessions of this one. */
  #isUnchecked = false
  #hasFailed = false
  /** Earliest time of takeovers: after an engine failure, live replicas first renew their leases. */
  #mayClaimMs = 0
  #again: Timer | undefined
  /** Number of times that the lease of this replica expired. */
  fenced = 0
  #asking: Promise<void> | undefined
  #timer: Timer | undefined
  /** Time since which another replica has a different configuration. */
  #differsSinceMs: number | undefined
  #isDifferenceLogged = false
  #isClosed = false

  constructor(options: MembersOptions) {
    this.id = options.id
    this.#options = options
  }

  /** Takes a lease. Continues without the engine if it does not answer, and takes the lease later. */
  async join(): Promise<void> {
    const { clock, leaseMs, log } = this.#options
    const beat = (): void => void this.#beat().catch(() => undefined)
    if ((await within(this.#firstBeat(), { clock, ms: JOIN_MS })) !== true)
      log.error({}, 'the cluster engine does not answer; continuing without it')
    // The second beat publishes the join time, which the first one returned.
    if (this.hasHeard) beat()
    this.#timer = clock.every(leaseMs / BEATS_PER_LEASE, beat)
  }

  get all(): readonly ClusterMember[] {
    return [...this.#all.values()]
  }

  /** Reports whether the engine ever sent a member list. */
  get hasHeard(): boolean {
    return this.#heardMs !== Number.NEGATIVE_INFINITY
  }

  get generation(): string {
    return this.#generation
  }

  get state(): MemberFacts['state'] {
    return this.#state
  }

  /** Age of the member list in milliseconds. */
  get ageMs(): number {
    return this.#options.clock.nowMs() - this.#heardMs
  }

  /** Reports whether the engine has been up long enough for all live replicas to renew their leases. */
  get isSettled(): boolean {
    return this.#options.clock.nowMs() >= this.#mayClaimMs
  }

  get isLeaving(): boolean {
    return this.#state === 'draining'
  }

  /** The ready replica that joined first; undefined if it is this one, or unknown. */
  get eldest(): ClusterMember | undefined {
    const [eldest] = this.all
      .filter(({ state }) => state === 'ready')
      .sort((one, other) => one.sinceMs - other.sinceMs || one.id.localeCompare(other.id))
    return eldest?.id === this.id ? undefined : eldest
  }

  /** Any other replica that accepts sessions. */
  get anyOther(): ClusterMember | undefined {
    const others = this.all.filter(({ id, state }) => id !== this.id && state === 'ready')
    return others[Math.floor(Math.random() * others.length)]
  }

  /** Reports whether the lease is valid, so that no other replica owns sessions of this one. */
  get isSure(): boolean {
    return this.#options.clock.nowMs() < this.#sureUntilMs
  }

  find(id: string): ClusterMember | undefined {
    return this.#all.get(id)
  }

  /** Removes a replica that announced its departure. */
  forget(id: string | undefined): void {
    this.#all = new Map([...this.#all].filter(([each]) => each !== id))
  }

  /** Tells the other replicas to send no new sessions here. */
  async drain(): Promise<void> {
    this.#state = 'draining'
    await this.#beat().catch(() => undefined)
  }

  /** Updates the list unless it is fresh. Rejects with a Fault `unavailable`. */
  async refresh(): Promise<void> {
    if (this.ageMs >= FRESH_MS) await this.#beat()
  }

  /** Gives up the lease, so that other replicas take over the sessions of this one. */
  async leave(): Promise<void> {
    this.abandon()
    await this.#asking?.catch(() => undefined)
    await this.#options.store.leave(this.id).catch(() => undefined)
  }

  /** Stops without giving up the lease, like a killed process. */
  abandon(): void {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#again?.cancel()
  }

  async #firstBeat(): Promise<boolean> {
    const { clock } = this.#options
    await this.#beat().catch(() => undefined)
    while (!this.#isClosed && !this.hasHeard) {
      await pause(clock, JOIN_EVERY_MS)
      await this.#beat().catch(() => undefined)
    }
    return true
  }

  #beat(): Promise<void> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #ask(): Promise<void> {
    if (this.#isClosed) throw new Fault('unavailable', 'this replica has left the cluster')
    const { store, clock, leaseMs, facts, digest, onReturn, onBeat } = this.#options
    const beganMs = clock.nowMs()
    const isFirst = !this.hasHeard
    const heardMs = this.#heardMs
    let beat: Beat
    try {
      const said = { ...facts, digest: digest(), state: this.#state, sinceMs: this.#sinceMs }
      beat = await store.beat(this.id, said, leaseMs)
    } catch (thrown) {
      await this.#failed(beganMs)
      throw thrown
    }
    const hasReturned = this.#judge(beat, isFirst, heardMs)
    // Another replica may have become the oldest in the meantime, and keeps that role.
    if (hasReturned) this.#sinceMs = beat.nowMs
    this.#heard(beat)
    this.#hasFailed = false
    if (this.#isUnchecked) await onReturn()
    this.#isUnchecked = false
    this.#sureUntilMs = beganMs + leaseMs
    onBeat(beat)
    if (!hasReturned) return
    this.#again?.cancel()
    this.#again = clock.after(0, () => void this.#beat().catch(() => undefined))
  }

  /** Keeps the lease without the engine while no other replica can see it as expired. */
  async #failed(beganMs: number): Promise<void> {
    const { leaseMs, isLostForAll, onFenced, clock } = this.#options
    this.#hasFailed = true
    if (!this.#isClosed) {
      this.#again?.cancel()
      this.#again = clock.after(AGAIN_MS, () => void this.#beat().catch(() => undefined))
    }
    const others = this.all.filter(({ id }) => id !== this.id)
    if (others.length === 0 || (await isLostForAll(others))) this.#sureUntilMs = beganMs + leaseMs
    if (!this.isSure) onFenced()
  }

  /**
   * Decides after each answer whether sessions were lost and when takeovers may start. Returns true if the
   * other replicas considered this one dead.
   */
  #judge(beat: Beat, isFirst: boolean, heardMs: number): boolean {
    const { clock, leaseMs } = this.#options
    const isNew = this.#isNewGeneration(beat)
    const wasOver = beat.wasOver && !isFirst
    if (wasOver) this.fenced += 1
    this.#isUnchecked ||= wasOver || isNew
    // After this time the leases of live replicas may have expired too.
    const longMs = leaseMs - leaseMs / BEATS_PER_LEASE
    const isLong = this.#hasFailed && !isFirst && clock.nowMs() - heardMs >= longMs
    if (isNew || isLong) this.#mayClaimMs = clock.nowMs() + 2 * leaseMs
    return wasOver && !isNew
  }

  /** Reports whether the engine lost its data. */
  #isNewGeneration({ generation }: Beat): boolean {
    const isNew = generation !== this.#generation && this.#generation !== NO_GENERATION
    if (isNew) this.#options.log.warn({}, 'the cluster engine has lost its data')
    return isNew
  }

  #heard({ members, nowMs, generation }: Beat): void {
    this.#heardMs = this.#options.clock.nowMs()
    // Replicas that were alive before the failure count as alive until they had time to renew.
    const before = this.#heardMs < this.#mayClaimMs ? this.#all : []
    if (this.#sinceMs === Number.POSITIVE_INFINITY) this.#sinceMs = nowMs
    // The other replicas learn this time from the next beat.
    const current = members.map(each => (each.id === this.id ? { ...each, sinceMs: this.#sinceMs } : each))
    this.#all = new Map([...before, ...current.map(member => [member.id, member] as const)])
    this.#generation = generation
    if (this.#state !== 'draining') this.#checkKeys()
    this.#checkDigests()
  }

  /** Warns only after a while: during a rolling restart, differences are normal. */
  #checkDigests(): void {
    const { log, clock, digest, facts } = this.#options
    const own = digest()
    const ring = { names: facts.keys }
    const other = this.all.find(
      each => each.digest !== undefined && each.digest !== own && hasKeysOf(ring, each),
    )
    if (other === undefined) {
      this.#differsSinceMs = undefined
      this.#isDifferenceLogged = false
      return
    }
    this.#differsSinceMs ??= clock.nowMs()
    if (this.#isDifferenceLogged || clock.nowMs() - this.#differsSinceMs < DIFFERS_MS) return
    this.#isDifferenceLogged = true
    log.warn({ replica: other.address }, 'a replica has had a different configuration for ten minutes')
  }

  /** A newer replica must not seal with a key that an older one lacks. */
  #checkKeys(): void {
    const { log, facts } = this.#options
    const [seal = ''] = facts.keys
    // A replica that is not ready does not count.
    const lacking = this.all.find(
      ({ id, keys, state, sinceMs }) =>
        id !== this.id && state === 'ready' && sinceMs < this.#sinceMs && !keys.includes(seal),
    )
    if (lacking !== undefined && this.#state !== 'keys') {
      const { address } = lacking
      log.error(
        { replica: address },
        'an older replica lacks the first key of "cluster.keys": append that key there and restart it',
      )
    }
    this.#state = lacking === undefined ? 'ready' : 'keys'
  }
}
