import { type Clock, pause, type Timer } from '../kernel/async/clock.js'
import { within } from '../kernel/async/deadline.js'
import { Fault } from '../kernel/faults.js'
import type { Logger } from '../kernel/logger.js'
import type { Beat, ClusterStore, Member, MemberFacts } from './engine/store.js'
import { hasKeysOf } from './key-ring.js'
import { NO_GENERATION } from './sealed-id.js'

/** So many beats fit into a lease, so that one may be late. */
const BEATS_PER_LEASE = 3
/** The list is not asked for more often than this, however many wait for it. */
const FRESH_MS = 250
/** How long the start waits for the engine before it goes on without, and how often it tries meanwhile. */
const JOIN_MS = 2000
const JOIN_EVERY_MS = 100
/** How soon an engine that failed is asked again. */
const AGAIN_MS = 1000
/** How long replicas may have different configurations before that is said. */
const DIFFERS_MS = 10 * 60_000

export interface MembersOptions {
  /** Of this instance. */
  readonly id: string
  readonly store: ClusterStore
  readonly clock: Clock
  readonly log: Logger
  readonly leaseMs: number
  readonly facts: Pick<MemberFacts, 'address' | 'version' | 'keys'>
  /** Of the configuration in force. */
  readonly digest: () => string
  /**
   * Called before our lease counts again after it was over, or after the engine lost its data: others may
   * have taken what was ours.
   */
  readonly onReturn: () => Promise<void>
  /** Called with each answer of the engine. */
  readonly onBeat: (beat: Beat) => void
  /** Called while our lease is over, each time that the engine does not answer us. */
  readonly onFenced: () => void
  /** Whether the others have lost the engine as well: then leases go on. */
  readonly isLostForAll: (others: readonly Member[]) => Promise<boolean>
}

/** Who is there: this instance, which keeps its own lease, and the others, by the last list of the engine. */
export class Members {
  readonly id: string
  readonly #options: MembersOptions
  #all: ReadonlyMap<string, Member> = new Map()
  #state: MemberFacts['state'] = 'ready'
  #sinceMs = Number.POSITIVE_INFINITY
  #generation = NO_GENERATION
  /** Until when our lease holds for sure, by our clock. */
  #sureUntilMs = 0
  #heardMs = Number.NEGATIVE_INFINITY
  /** Whether others may have taken what was ours. */
  #isUnchecked = false
  #hasFailed = false
  /** After the engine was lost, the living are counted before anybody takes over from the dead. */
  #mayClaimMs = 0
  #again: Timer | undefined
  /** How often our lease was over, so that others could have taken what was ours. */
  fenced = 0
  #asking: Promise<void> | undefined
  #timer: Timer | undefined
  /** Since when another replica has another configuration. */
  #differsSinceMs: number | undefined
  #isDifferenceLogged = false
  #isClosed = false

  constructor(options: MembersOptions) {
    this.id = options.id
    this.#options = options
  }

  /** Takes a lease. Goes on without the engine if that does not answer, and takes it as soon as it does. */
  async join(): Promise<void> {
    const { clock, leaseMs, log } = this.#options
    const beat = (): void => void this.#beat().catch(() => undefined)
    if ((await within(this.#firstBeat(), { clock, ms: JOIN_MS })) !== true)
      log.error({}, 'the engine of the cluster does not answer; going on without it')
    // Now that it is known when we came, the others learn it.
    if (this.hasHeard) beat()
    this.#timer = clock.every(leaseMs / BEATS_PER_LEASE, beat)
  }

  get all(): readonly Member[] {
    return [...this.#all.values()]
  }

  /** Whether the engine has ever said who is there. */
  get hasHeard(): boolean {
    return this.#heardMs !== Number.NEGATIVE_INFINITY
  }

  get generation(): string {
    return this.#generation
  }

  get state(): MemberFacts['state'] {
    return this.#state
  }

  /** How old the list is, in milliseconds. */
  get ageMs(): number {
    return this.#options.clock.nowMs() - this.#heardMs
  }

  /** Whether the engine was there for long enough: the others had the time to tell it what they know. */
  get isSettled(): boolean {
    return this.#options.clock.nowMs() >= this.#mayClaimMs
  }

  get isLeaving(): boolean {
    return this.#state === 'draining'
  }

  /** The one that is here longest of those that are ready; undefined if that is this one, or nobody knows. */
  get eldest(): Member | undefined {
    const [eldest] = this.all
      .filter(({ state }) => state === 'ready')
      .sort((one, other) => one.sinceMs - other.sinceMs || one.id.localeCompare(other.id))
    return eldest?.id === this.id ? undefined : eldest
  }

  /** Another replica that takes sessions; any of them. */
  get anyOther(): Member | undefined {
    const others = this.all.filter(({ id, state }) => id !== this.id && state === 'ready')
    return others[Math.floor(Math.random() * others.length)]
  }

  /** Whether our lease holds: what is ours cannot be anybody else's. */
  get isSure(): boolean {
    return this.#options.clock.nowMs() < this.#sureUntilMs
  }

  find(id: string): Member | undefined {
    return this.#all.get(id)
  }

  /** One says itself that it is gone. */
  forget(id: string | undefined): void {
    this.#all = new Map([...this.#all].filter(([each]) => each !== id))
  }

  /** Tells the others that no new session should come here any more. */
  async drain(): Promise<void> {
    this.#state = 'draining'
    await this.#beat().catch(() => undefined)
  }

  /** A list that is as good as new. Rejects with a Fault `unavailable`. */
  async refresh(): Promise<void> {
    if (this.ageMs >= FRESH_MS) await this.#beat()
  }

  /** Gives the lease up: whoever gets the next request takes over what was ours. */
  async leave(): Promise<void> {
    this.abandon()
    await this.#asking?.catch(() => undefined)
    await this.#options.store.leave(this.id).catch(() => undefined)
  }

  /** Stops without a word, as a process that is killed. */
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
    this.#judge(beat, isFirst, heardMs)
    this.#heard(beat)
    this.#hasFailed = false
    if (this.#isUnchecked) await onReturn()
    this.#isUnchecked = false
    this.#sureUntilMs = beganMs + leaseMs
    onBeat(beat)
  }

  /** Without the engine our lease goes on as long as nobody else could count it as over. */
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

  /** What it means for us and the others how long the engine was away. */
  #judge(beat: Beat, isFirst: boolean, heardMs: number): void {
    const { clock, leaseMs } = this.#options
    const isNew = this.#isNewGeneration(beat)
    const wasOver = beat.wasOver && !isFirst
    if (wasOver) this.fenced += 1
    this.#isUnchecked ||= wasOver || isNew
    // So long that the leases of the living may be over, too.
    const longMs = leaseMs - leaseMs / BEATS_PER_LEASE
    const isLong = this.#hasFailed && !isFirst && clock.nowMs() - heardMs >= longMs
    if (isNew || isLong) this.#mayClaimMs = clock.nowMs() + 2 * leaseMs
  }

  /** Whether the engine has lost its data. */
  #isNewGeneration({ generation }: Beat): boolean {
    const isNew = generation !== this.#generation && this.#generation !== NO_GENERATION
    if (isNew) this.#options.log.warn({}, 'the engine of the cluster has lost its data')
    return isNew
  }

  #heard({ members, nowMs, generation }: Beat): void {
    this.#heardMs = this.#options.clock.nowMs()
    // Those that lived before the engine was lost do so until they had the time to come again.
    const before = this.#heardMs < this.#mayClaimMs ? this.#all : []
    this.#all = new Map([...before, ...members.map(member => [member.id, member] as const)])
    if (this.#sinceMs === Number.POSITIVE_INFINITY) this.#sinceMs = nowMs
    this.#generation = generation
    if (this.#state !== 'draining') this.#checkKeys()
    this.#checkDigests()
  }

  /** While replicas are replaced one by one, two configurations are nothing special. */
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
    log.warn({ replica: other.address }, 'a replica has had another configuration for ten minutes')
  }

  /** Whoever comes later must not seal what those before it cannot open. */
  #checkKeys(): void {
    const { log, facts } = this.#options
    const [seal = ''] = facts.keys
    // One that is not ready either has nothing to say.
    const lacking = this.all.find(
      ({ id, keys, state, sinceMs }) =>
        id !== this.id && state === 'ready' && sinceMs < this.#sinceMs && !keys.includes(seal),
    )
    if (lacking !== undefined && this.#state !== 'keys') {
      const { address } = lacking
      log.error(
        { replica: address },
        'a replica that was here before lacks the first of "cluster.keys": add that key there last, and start it again',
      )
    }
    this.#state = lacking === undefined ? 'ready' : 'keys'
  }
}
