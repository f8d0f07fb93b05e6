import type { Clock, Timer } from '../kernel/async/clock.js'
import { within } from '../kernel/async/deadline.js'
import { Deferred } from '../kernel/async/deferred.js'
import type { Caller, Principal } from '../kernel/caller.js'
import type { Logger } from '../kernel/logger.js'
import type { Adopt, SessionDirectory, SessionHost } from '../rpc/adopted-session.js'
import type { HttpResponder } from '../wire/http.js'
import { type KeptSession, PublishedSession, type Publisher } from './adoption/adopted-session.js'
import { DeferredResponder } from './adoption/deferred-responder.js'
import type { SessionRecord } from './adoption/session-state.js'
import { type ClusterStore, NOBODY, type StoredSession } from './engine/store.js'
import type { KeyRing } from './key-ring.js'
import type { ClusterMembers } from './members.js'
import { NO_GENERATION, type SessionIds, type SessionName } from './sealed-id.js'
import { SessionCounts } from './session-counts.js'
import { openRecord, rebuiltRecord, sealRecord, sessionFactsOf } from './session-records.js'

/** Changes within this time are written together. */
const SETTLE_MS = 250
const UPKEEP_MS = 30_000
/** Retry interval of failed writes. */
const AGAIN_MS = 1000
/** Maximum delay of an `initialize` response until the session is stored. */
const OPENED_MS = 100
/** An ended session is remembered for this long. */
const OVER_MS = 10_000
const OVER_MAX = 10_000
/** Maximum number of concurrent requests to the engine. */
const BATCH = 500

export interface DirectoryOptions {
  readonly store: ClusterStore
  readonly members: ClusterMembers
  readonly ids: SessionIds
  readonly ring: KeyRing
  readonly clock: Clock
  readonly log: Logger
  /** Returns the maximum idle time of a session. */
  readonly idleMs: () => number
}

interface Own {
  readonly id: string
  readonly epoch: number
  record: SessionRecord
  /** Time of the last write; undefined if the record has changed since or was never written. */
  writtenMs: number | undefined
}

interface Claimed {
  readonly id: string
  readonly caller: Caller
}

/** Location of a session; `unsure` if it is unknown at the moment. */
export type Whereabouts =
  | { readonly is: 'here' }
  | { readonly is: 'at'; readonly owner: string }
  | { readonly is: 'over' }
  | { readonly is: 'unsure' }

/** Counts the sessions that moved between replicas. */
export interface SessionMoves {
  /** Sessions taken over by their record or by their id alone, and attempts that another replica won. */
  readonly adoptions: Readonly<Record<'record' | 'rebuilt' | 'raced', number>>
  /** Sessions given up for other replicas, and those whose handover the engine did not record. */
  readonly handovers: Readonly<Record<'given' | 'failed', number>>
}

/** Publishes the sessions of this replica and takes over sessions of dead ones. */
export class Directory implements SessionDirectory, Publisher, SessionMoves {
  readonly #options: DirectoryOptions
  /** By sid. */
  readonly #own = new Map<string, Own>()
  readonly #over = new Map<string, number>()
  /** Ended sessions that the engine still lists. */
  readonly #unremoved = new Set<string>()
  readonly #upkeep: Timer
  readonly #counts: SessionCounts
  #settle: Timer | undefined
  readonly adoptions = { record: 0, rebuilt: 0, raced: 0 }
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

  readonly adopt: Adopt = session => new PublishedSession(session, this, this.#options.clock)

  begin(
    principal: Principal,
    responder: HttpResponder,
    begin: Parameters<SessionDirectory['begin']>[2],
  ): void {
    void this.#counts.elsewhere(principal).then(elsewhere => {
      const begun = new Deferred<void>()
      void begin(new DeferredResponder(responder, begun.promise), elsewhere).then(() => begun.resolve())
    })
  }

  newId({ principal, revision, capabilities }: Parameters<SessionDirectory['newId']>[0]): string {
    const { ids, members, store } = this.#options
    const facts = sessionFactsOf(revision, capabilities)
    // A session born without the engine may never be stored: only its id can restore it.
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

  /** Reports whether a session is known to have ended. */
  isOver(sid: string): boolean {
    const untilMs = this.#over.get(sid) ?? 0
    return untilMs > this.#options.clock.nowMs() || this.#unremoved.has(sid)
  }

  #flushIn(ms: number): void {
    this.#settle ??= this.#options.clock.after(ms, () => {
      this.#settle = undefined
      // Without the engine each write would run into its timeout.
      if (this.#options.store.isUp) void this.flush()
      else this.#flushIn(AGAIN_MS)
    })
  }

  /** Writes all changes; never rejects. */
  async flush(): Promise<void> {
    this.#counts.keepUp()
    const due = [...this.#own].filter(([, { writtenMs }]) => writtenMs === undefined)
    await inBatches(due, ([sid, own]) => this.#write(sid, own))
  }

  /** Finds the location of a session, and takes it over if its owner is dead. Rejects with a Fault. */
  async find(id: string, name: SessionName, caller: Caller): Promise<Whereabouts> {
    const { store, members, ring } = this.#options
    const { sid } = name
    if (this.#own.has(sid)) return { is: 'here' }
    if (this.isOver(sid)) return { is: 'over' }
    const kept = await store.read(sid)
    // Takes over only once it is known which replicas are dead. A released session has no owner to check.
    const isFree = members.isSettled || kept?.owner === NOBODY
    if (members.isLeaving || !isFree) return this.#placeOf(kept)
    if (kept === undefined) return await this.#rebuild(id, name, caller)
    const record = openRecord(ring, sid, kept.sealed)
    // The record has a later version: only a newer replica can take it over.
    if (record === undefined) return this.#placeOf(kept)
    if (record.principal !== caller.principal || record.view !== caller.view) return { is: 'over' }
    return await this.#claim({ id, sid, caller })
  }

  async #claim({ id, sid, caller }: Claimed & { readonly sid: string }): Promise<Whereabouts> {
    const { store, members, ring } = this.#options
    const claim = await store.claim(sid, members.id, this.#ttlMs)
    if (claim.is === 'alive') return { is: 'at', owner: claim.owner }
    if (claim.is === 'none') return this.#isOverNow(sid)
    const record = openRecord(ring, sid, claim.sealed)
    return record === undefined
      ? { is: 'unsure' }
      : this.#adopt({ id, record, epoch: claim.epoch }, caller, 'record')
  }

  /** Restores a session that the engine lost, unless it ended; the first replica to write it wins. */
  async #rebuild(id: string, name: SessionName, caller: Caller): Promise<Whereabouts> {
    const { store, members, ring } = this.#options
    const { sid, generation, facts, owner } = name
    // A live owner would have written it again.
    const isEnded = generation === members.generation || members.find(owner) !== undefined
    if (isEnded) return this.#isOverNow(sid)
    const { principal, view } = caller
    const record = rebuiltRecord(facts, { principal, view })
    const session = { owner: members.id, epoch: 1, sealed: sealRecord(ring, sid, record) }
    if (await store.write(sid, session, this.#ttlMs))
      return this.#adopt({ id, record, epoch: 1 }, caller, 'rebuilt')
    this.adoptions.raced += 1
    return this.#placeOf(await store.read(sid))
  }

  #isOverNow(sid: string): Whereabouts {
    this.#remember(sid)
    return { is: 'over' }
  }

  /** Resumes a session here after the engine confirmed the ownership. */
  #adopt(kept: KeptSession, caller: Caller, by: 'record' | 'rebuilt'): Whereabouts {
    const { members, clock, log } = this.#options
    // If the process was suspended since, the session may be lost again.
    if (!members.isSure) return { is: 'unsure' }
    this.#host?.restore({
      id: kept.id,
      caller,
      adopt: session => new PublishedSession(session, this, clock, kept),
    })
    log.info({ sessions: this.#own.size }, 'took over a session of a dead replica')
    this.adoptions[by] += 1
    return { is: 'here' }
  }

  /** Gives up idle sessions, so that other replicas take over at once; returns how many are left. */
  async letGo(): Promise<number> {
    const { store, ring } = this.#options
    const free = [...this.#own].filter(([, { id }]) => this.#host?.handOver(id) === true)
    for (const [sid] of free) this.#forget(sid)
    await inBatches(free, async ([sid, { epoch, record }]) => {
      const session = { owner: NOBODY, epoch: epoch + 1, sealed: sealRecord(ring, sid, record) }
      const isTold = await store.write(sid, session, this.#ttlMs).catch(() => false)
      this.handovers[isTold ? 'given' : 'failed'] += 1
    })
    return this.#own.size
  }

  /** Disconnects the clients of all sessions while the ownership is unknown. */
  release(): void {
    this.#host?.release()
  }

  /** Drops sessions that other replicas took over, and rewrites those that the engine lost. */
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

  /** Returns the owner of a stored session if it is alive. */
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

  /** Exceeds the idle time, so that the owner ends the session before the record expires. */
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
