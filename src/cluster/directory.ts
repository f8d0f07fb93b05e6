import type { Clock, Timer } from '../kernel/async/clock.js'
import { within } from '../kernel/async/deadline.js'
import type { Caller, Principal } from '../kernel/caller.js'
import type { Logger } from '../kernel/logger.js'
import type { AdoptedSession, SessionDirectory, SessionHost, SessionRecord } from '../rpc/directory.js'
import { type ClusterStore, NOBODY, type StoredSession } from './engine/store.js'
import type { KeyRing } from './key-ring.js'
import type { Members } from './members.js'
import { NO_GENERATION, type SessionIds, type SessionName } from './sealed-id.js'
import { SessionCounts } from './session-counts.js'
import { factsOf, openRecord, rebuiltRecord, sealRecord } from './session-records.js'

/** What changes within this time is written once. */
const SETTLE_MS = 250
const UPKEEP_MS = 30_000
/** How soon what could not be written is tried again. */
const AGAIN_MS = 1000
/** How long an answer to `initialize` waits until others could go on with its session. */
const OPENED_MS = 100
/** How long an id is known to be over without asking. */
const OVER_MS = 10_000
const OVER_MAX = 10_000
/** How many are asked for at once. */
const BATCH = 500

export interface DirectoryOptions {
  readonly store: ClusterStore
  readonly members: Members
  readonly ids: SessionIds
  readonly ring: KeyRing
  readonly clock: Clock
  readonly log: Logger
  /** How long a session may be idle. */
  readonly idleMs: () => number
}

interface Own {
  readonly id: string
  readonly epoch: number
  record: SessionRecord
  /** When it was last written; undefined if it has changed since, or never was. */
  writtenMs: number | undefined
}

/** Where a session is. `unsure`: nobody can say at the moment. */
export type Whereabouts =
  | { readonly is: 'here' }
  | { readonly is: 'at'; readonly owner: string }
  | { readonly is: 'over' }
  | { readonly is: 'unsure' }

/** The sessions of this replica as the others find them, and the way in which theirs become ours. */
export class Directory implements SessionDirectory {
  readonly #options: DirectoryOptions
  /** By sid. */
  readonly #own = new Map<string, Own>()
  readonly #over = new Map<string, number>()
  /** Those that the engine has not been told of. */
  readonly #unremoved = new Set<string>()
  readonly #upkeep: Timer
  readonly #counts: SessionCounts
  #settle: Timer | undefined
  /** Sessions taken over by their record, or by their id alone, and those that another replica got. */
  readonly adoptions = { record: 0, rebuilt: 0, raced: 0 }
  /** Sessions given up for others to go on with, and those of which the engine was not told that. */
  readonly handovers = { given: 0, failed: 0 }
  #host: SessionHost | undefined

  constructor(options: DirectoryOptions) {
    this.#options = options
    const { store, members, ring, clock } = options
    const replicas = (): number => members.all.length
    this.#counts = new SessionCounts({ id: members.id, store, ring, clock, replicas })
    this.#upkeep = options.clock.every(UPKEEP_MS, () => this.#keepUp())
  }

  get size(): number {
    return this.#own.size
  }

  host(host: SessionHost): void {
    this.#host = host
  }

  sessionsElsewhere(principal: Principal): Promise<number> {
    return this.#counts.elsewhere(principal)
  }

  newId({ principal, revision, capabilities }: Parameters<SessionDirectory['newId']>[0]): string {
    const { ids, members, store } = this.#options
    const facts = factsOf(revision, capabilities)
    // Nothing may ever be written of what begins without the engine: then its id alone has to do.
    const generation = store.isUp ? members.generation : NO_GENERATION
    return ids.make({ owner: members.id, generation, nowMs: Date.now(), principal, facts })
  }

  async opened(id: string, epoch: number, record: SessionRecord): Promise<void> {
    const { ids, clock } = this.#options
    const sid = ids.open(id)?.sid
    if (sid === undefined) return
    const own: Own = { id, epoch, record, writtenMs: undefined }
    if (!this.#own.has(sid)) this.#counts.came(record.principal)
    this.#own.set(sid, own)
    await within(this.#write(sid, own), { clock, ms: OPENED_MS })
  }

  changed(id: string, record: SessionRecord): void {
    const own = this.#own.get(this.#options.ids.open(id)?.sid ?? '')
    if (own === undefined) return
    own.record = record
    own.writtenMs = undefined
    this.#flushIn(SETTLE_MS)
  }

  ended(id: string): void {
    const sid = this.#options.ids.open(id)?.sid
    if (sid === undefined) return
    this.#forget(sid)
    this.#remember(sid)
    void this.#remove(sid)
  }

  has(sid: string): boolean {
    return this.#own.has(sid)
  }

  /** Whether a session is known to be over. */
  isOver(sid: string): boolean {
    const untilMs = this.#over.get(sid) ?? 0
    return untilMs > this.#options.clock.nowMs() || this.#unremoved.has(sid)
  }

  #flushIn(ms: number): void {
    this.#settle ??= this.#options.clock.after(ms, () => {
      this.#settle = undefined
      // Without the engine each of them would wait in vain.
      if (this.#options.store.isUp) void this.flush()
      else this.#flushIn(AGAIN_MS)
    })
  }

  /** Writes what has changed; never rejects. */
  async flush(): Promise<void> {
    this.#counts.keepUp()
    const due = [...this.#own].filter(([, { writtenMs }]) => writtenMs === undefined)
    await inBatches(due, ([sid, own]) => this.#write(sid, own))
  }

  /** Finds out where a session is, and takes it over if its owner is dead. Rejects with a Fault. */
  async find(id: string, name: SessionName, caller: Caller): Promise<Whereabouts> {
    const { store, members, ring } = this.#options
    const { sid } = name
    if (this.#own.has(sid)) return { is: 'here' }
    if (this.isOver(sid)) return { is: 'over' }
    const kept = await store.read(sid)
    // Nothing is taken before it is known who is dead; what was given up is nobody's, whoever lives.
    const isFree = members.isSettled || kept?.owner === NOBODY
    if (members.isLeaving || !isFree) return this.#placeOf(kept)
    if (kept === undefined) return await this.#rebuild(id, name, caller)
    const record = openRecord(ring, sid, kept.sealed)
    // Of a later version: a replica that knows it has to take it over.
    if (record === undefined) return this.#placeOf(kept)
    if (record.principal !== caller.principal || record.view !== caller.view) return { is: 'over' }
    return await this.#claim({ id, sid, caller })
  }

  async #claim({
    id,
    sid,
    caller,
  }: Pick<AdoptedSession, 'id' | 'caller'> & { sid: string }): Promise<Whereabouts> {
    const { store, members, ring } = this.#options
    const claim = await store.claim(sid, members.id, this.#ttlMs)
    if (claim.is === 'alive') return { is: 'at', owner: claim.owner }
    if (claim.is === 'none') return this.#isOverNow(sid)
    const record = openRecord(ring, sid, claim.sealed)
    return record === undefined
      ? { is: 'unsure' }
      : this.#adopt({ id, record, epoch: claim.epoch, caller }, 'record')
  }

  /** Goes on with what the engine has lost, unless it was ended: whoever writes it first. */
  async #rebuild(id: string, name: SessionName, caller: Caller): Promise<Whereabouts> {
    const { store, members, ring } = this.#options
    const { sid, generation, facts, owner } = name
    // The one that had it would have written it again.
    const isEnded = generation === members.generation || members.find(owner) !== undefined
    if (isEnded) return this.#isOverNow(sid)
    const { principal, view } = caller
    const record = rebuiltRecord(facts, { principal, view })
    const session = { owner: members.id, epoch: 1, sealed: sealRecord(ring, sid, record) }
    if (await store.write(sid, session, this.#ttlMs))
      return this.#adopt({ id, record, epoch: 1, caller }, 'rebuilt')
    this.adoptions.raced += 1
    return this.#placeOf(await store.read(sid))
  }

  #isOverNow(sid: string): Whereabouts {
    this.#remember(sid)
    return { is: 'over' }
  }

  /** Goes on here with what the engine knows to be ours. */
  #adopt(adopted: AdoptedSession, by: 'record' | 'rebuilt'): Whereabouts {
    const { members, log } = this.#options
    // Whoever was stopped since the engine said so may have lost it again.
    if (!members.isSure) return { is: 'unsure' }
    this.#host?.restore(adopted)
    log.info({ sessions: this.#own.size }, 'took over a session of a replica that is gone')
    this.adoptions[by] += 1
    return { is: 'here' }
  }

  /** Gives up what has nothing under way, so that others take it over at once; returns how many are left. */
  async letGo(): Promise<number> {
    const { store, ring } = this.#options
    const free = [...this.#own].filter(([, { id }]) => this.#host?.letGo(id) === true)
    for (const [sid] of free) this.#forget(sid)
    await inBatches(free, async ([sid, { epoch, record }]) => {
      const session = { owner: NOBODY, epoch: epoch + 1, sealed: sealRecord(ring, sid, record) }
      const isTold = await store.write(sid, session, this.#ttlMs).catch(() => false)
      this.handovers[isTold ? 'given' : 'failed'] += 1
    })
    return this.#own.size
  }

  /** Sends the clients of all sessions elsewhere while nobody knows here whose those are. */
  release(): void {
    this.#host?.release()
  }

  /** Lets go of what is another replica's by now, and writes again what the engine has lost. */
  async check(): Promise<void> {
    const { store, members, log } = this.#options
    let dropped = 0
    await inBatches([...this.#own], async ([sid, own]) => {
      const kept = await store.read(sid)
      if (kept === undefined) await this.#write(sid, own)
      else if (kept.owner !== members.id || kept.epoch > own.epoch) {
        dropped += 1
        this.#drop(sid, own)
      }
    })
    if (dropped > 0) log.warn({ sessions: dropped }, 'other replicas have taken over sessions of this one')
  }

  close(): void {
    this.#upkeep.cancel()
    this.#settle?.cancel()
  }

  /** Where somebody has it who lives. */
  #placeOf(kept: StoredSession | undefined): Whereabouts {
    const { members } = this.#options
    const owner = kept?.owner
    return owner !== undefined && owner !== members.id && members.find(owner) !== undefined
      ? { is: 'at', owner }
      : { is: 'unsure' }
  }

  #forget(sid: string): void {
    const own = this.#own.get(sid)
    if (own === undefined) return
    this.#own.delete(sid)
    this.#counts.left(own.record.principal)
    this.#flushIn(SETTLE_MS)
  }

  #drop(sid: string, { id }: Own): void {
    this.#forget(sid)
    this.#host?.drop(id)
  }

  async #write(sid: string, own: Own): Promise<void> {
    const { store, members, ring, clock } = this.#options
    own.writtenMs = clock.nowMs()
    const session = { owner: members.id, epoch: own.epoch, sealed: sealRecord(ring, sid, own.record) }
    const isOurs = await store.write(sid, session, this.#ttlMs).catch(() => undefined)
    if (isOurs === undefined) {
      own.writtenMs = undefined
      this.#flushIn(AGAIN_MS)
    } else if (!isOurs && this.#own.get(sid) === own) this.#drop(sid, own)
    else if (this.#over.has(sid)) await this.#remove(sid)
  }

  async #remove(sid: string): Promise<void> {
    const { store, members } = this.#options
    try {
      await store.remove(sid, members.id)
      this.#unremoved.delete(sid)
    } catch {
      if (this.#unremoved.size < OVER_MAX) this.#unremoved.add(sid)
    }
  }

  /** Lives somewhat longer than the session may be idle, so that its owner is the one who ends it. */
  get #ttlMs(): number {
    return Math.min(this.#options.idleMs(), 30 * 24 * 3600_000) + 600_000
  }

  #keepUp(): void {
    const nowMs = this.#options.clock.nowMs()
    for (const [sid, untilMs] of this.#over) if (untilMs <= nowMs) this.#over.delete(sid)
    for (const sid of this.#unremoved) void this.#remove(sid)
    const oldMs = nowMs - this.#ttlMs / 2
    for (const own of this.#own.values()) if ((own.writtenMs ?? 0) < oldMs) own.writtenMs = undefined
    void this.flush()
  }

  #remember(sid: string): void {
    const [oldest] = this.#over.keys()
    if (this.#over.size >= OVER_MAX && oldest !== undefined) this.#over.delete(oldest)
    this.#over.set(sid, this.#options.clock.nowMs() + OVER_MS)
  }
}

const inBatches = async <T>(all: readonly T[], work: (each: T) => Promise<void>): Promise<void> => {
  for (let at = 0; at < all.length; at += BATCH) await Promise.all(all.slice(at, at + BATCH).map(work))
}
