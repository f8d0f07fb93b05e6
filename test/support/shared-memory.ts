import type { Beat, ClusterStore, MemberFacts, StoredSession } from '../../src/cluster/engine/store.js'
import { newGeneration } from '../../src/cluster/sealed-id.js'
import type { Clock } from '../../src/kernel/async/clock.js'
import { Fault } from '../../src/kernel/faults.js'

type Claim = Awaited<ReturnType<ClusterStore['claim']>>

interface Lease {
  readonly facts: MemberFacts
  readonly untilMs: number
}

interface Kept {
  readonly session: StoredSession
  readonly untilMs: number
}

interface Note {
  readonly n: number
  readonly sealed: Buffer
  readonly untilMs: number
}

/** Maximum number of listed notes. */
const NOTES_MAX = 10_000

/** Shared state of several replicas in one process, instead of an engine. */
export class SharedMemory {
  readonly #clock: Clock
  readonly #leases = new Map<string, Lease>()
  readonly #sessions = new Map<string, Kept>()
  readonly #locks = new Map<string, { readonly id: string; readonly untilMs: number }>()
  readonly #notes = new Map<string, Note>()
  readonly #counts = new Map<string, Map<string, number>>()
  /** The time at which each bucket is full again. */
  readonly #fullMs = new Map<string, number>()
  #last = 0
  #generation = newGeneration()
  isUp = true

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Drops all data, like an engine that restarts empty. */
  clear(): void {
    this.#leases.clear()
    this.#sessions.clear()
    this.#locks.clear()
    this.#notes.clear()
    this.#counts.clear()
    this.#fullMs.clear()
    this.#last = 0
    this.#generation = newGeneration()
  }

  /** Returns the store of another replica. */
  store(): ClusterStore {
    const run = <T>(work: () => T): Promise<T> =>
      this.isUp ? Promise.resolve().then(work) : Promise.reject(new Fault('unavailable', 'no engine'))
    const isUp = (): boolean => this.isUp
    return {
      get isUp() {
        return isUp()
      },
      beat: (id, facts, leaseMs) => run(() => this.#beat(id, facts, leaseMs)),
      leave: id => run(() => void this.#leases.delete(id)),
      write: (sid, session, ttlMs) => run(() => this.#write(sid, session, ttlMs)),
      read: sid => run(() => this.#read(sid)),
      claim: (sid, id, ttlMs) => run(() => this.#claim(sid, id, ttlMs)),
      take: (lock, id, ttlMs) => run(() => this.#take(lock, id, ttlMs)),
      release: (lock, id) =>
        run(() => {
          if (this.#locks.get(lock)?.id === id) this.#locks.delete(lock)
        }),
      note: (name, sealed, ttlMs) => run(() => this.#note(name, sealed, ttlMs)),
      noted: name => run(() => this.#noted(name)),
      news: after =>
        run(() => {
          const listed = [...this.#notes].slice(-NOTES_MAX)
          const isCut = listed.length === NOTES_MAX && (listed[0]?.[1].n ?? 0) > after + 1
          const younger = listed.filter(([, { n }]) => n > after).slice(0, 100)
          const names = younger.map(([name]) => name)
          return { version: younger.at(-1)?.[1].n ?? after, names, isCut }
        }),
      count: (of, id, own) =>
        run(() => {
          const counts = this.#counts.get(of) ?? new Map<string, number>()
          this.#counts.set(of, counts.set(id, own))
          return [...counts].reduce((sum, [each, n]) => sum + (each !== id && this.#isAlive(each) ? n : 0), 0)
        }),
      charge: buckets => run(() => this.#charge(buckets)),
      remove: (sid, owner) =>
        run(() => {
          if (this.#read(sid)?.owner === owner) this.#sessions.delete(sid)
        }),
      close: () => Promise.resolve(),
    }
  }

  #beat(id: string, facts: MemberFacts, leaseMs: number): Beat {
    const nowMs = this.#clock.nowMs()
    const wasOver = !this.#isAlive(id)
    const isStart = facts.sinceMs === Number.POSITIVE_INFINITY
    for (const [other, lease] of this.#leases)
      if (isStart && lease.facts.address === facts.address) this.#leases.delete(other)
    this.#leases.set(id, { facts, untilMs: nowMs + leaseMs })
    for (const other of [...this.#leases.keys()]) if (!this.#isAlive(other)) this.#leases.delete(other)
    const members = [...this.#leases].map(([each, lease]) => ({
      id: each,
      ...lease.facts,
      untilMs: lease.untilMs,
    }))
    return { members, wasOver, nowMs, generation: this.#generation, news: this.#last }
  }

  #charge(buckets: Parameters<ClusterStore['charge']>[0]): readonly number[] {
    const nowMs = this.#clock.nowMs()
    const full = buckets.map(({ key }) => Math.max(nowMs, this.#fullMs.get(key) ?? nowMs))
    const waits = buckets.map(({ intervalMs, burst }, at) =>
      Math.max(0, (full[at] ?? 0) - intervalMs * (burst - 1) - nowMs),
    )
    if (waits.some(ms => ms > 0.001)) return waits
    for (const [at, { key, intervalMs }] of buckets.entries())
      this.#fullMs.set(key, (full[at] ?? 0) + intervalMs)
    return []
  }

  #take(lock: string, id: string, ttlMs: number): boolean {
    const nowMs = this.#clock.nowMs()
    const held = this.#locks.get(lock)
    if (held !== undefined && held.id !== id && held.untilMs > nowMs && this.#isAlive(held.id)) return false
    this.#locks.set(lock, { id, untilMs: nowMs + ttlMs })
    return true
  }

  #note(name: string, sealed: Buffer, ttlMs: number): void {
    this.#last += 1
    this.#notes.delete(name)
    const untilMs = ttlMs === 0 ? Number.POSITIVE_INFINITY : this.#clock.nowMs() + ttlMs
    this.#notes.set(name, { n: this.#last, sealed, untilMs })
  }

  #noted(name: string): Buffer | undefined {
    const note = this.#notes.get(name)
    return note !== undefined && note.untilMs > this.#clock.nowMs() ? note.sealed : undefined
  }

  #isAlive(id: string): boolean {
    return (this.#leases.get(id)?.untilMs ?? 0) > this.#clock.nowMs()
  }

  #read(sid: string): StoredSession | undefined {
    const kept = this.#sessions.get(sid)
    return kept !== undefined && kept.untilMs > this.#clock.nowMs() ? kept.session : undefined
  }

  #write(sid: string, session: StoredSession, ttlMs: number): boolean {
    const before = this.#read(sid)
    if (before !== undefined && before.epoch > session.epoch) return false
    if (before?.epoch === session.epoch && before.owner !== session.owner) return false
    this.#sessions.set(sid, { session, untilMs: this.#clock.nowMs() + ttlMs })
    return true
  }

  #claim(sid: string, id: string, ttlMs: number): Claim {
    const before = this.#read(sid)
    if (before === undefined) return { is: 'none' }
    if (before.owner !== id && this.#isAlive(before.owner)) return { is: 'alive', owner: before.owner }
    const epoch = before.owner === id ? before.epoch : before.epoch + 1
    const session = { ...before, owner: id, epoch }
    this.#sessions.set(sid, { session, untilMs: this.#clock.nowMs() + ttlMs })
    return { is: 'claimed', ...session }
  }
}
