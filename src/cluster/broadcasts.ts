import { type Clock, pause } from '../kernel/async/clock.js'
import { Fault } from '../kernel/faults.js'
import type { Beat, ClusterStore } from './engine/store.js'
import type { KeyRing } from './key-ring.js'

/** Maximum time that a lock is held; it also ends with the lease of its holder. */
const HELD_MS = 45_000
/** Maximum wait for a lock, and the interval between attempts. */
const WAIT_MS = 35_000
const POLL_MS = 200
/** A failed write is retried for this long, at this interval. */
const AGAIN_FOR_MS = 10_000
const AGAIN_MS = 500

export interface BroadcastsOptions {
  /** Id of this instance. */
  readonly id: string
  readonly store: ClusterStore
  readonly ring: KeyRing
  readonly clock: Clock
  /** False for a while after the engine was lost, when the latest broadcasts may be missing. */
  readonly isSettled: () => boolean
  /** Called after each broadcast of this replica, to notify the other replicas at once. */
  readonly onBroadcast?: (() => void) | undefined
}

export interface BroadcastListener {
  /** Called for each broadcast of any replica, including this one. */
  received(value: Buffer): void
  /** Called when broadcasts may be lost: the listener compares its own values with the stored ones. */
  lost(): void
}

/**
 * Broadcasts values between replicas, by kind and subject. The engine sees neither: names are HMACs and
 * values are sealed. Replicas receive a broadcast at once, or with their next beat.
 */
export class Broadcasts {
  readonly #options: BroadcastsOptions
  readonly #listeners = new Map<string, BroadcastListener>()
  /** Pending exclusive work of this process, by name. */
  readonly #turns = new Map<string, Promise<unknown>>()
  #generation: string | undefined
  /** Number of the last broadcast read; replaced by a new object to read all broadcasts again. */
  #seen = { version: 0 }
  #reading: Promise<void> | undefined

  constructor(options: BroadcastsOptions) {
    this.#options = options
  }

  /** Registers the one listener of a kind. */
  on(kind: string, listener: BroadcastListener): void {
    this.#listeners.set(kind, listener)
    this.#generation = undefined
  }

  /** Processes the broadcast number and generation of a beat. */
  receive({ news, generation }: Beat): void {
    // The engine restarts the numbering after an hour without replicas.
    if (generation !== this.#generation || news < this.#seen.version) {
      this.#generation = generation
      this.#seen = { version: 0 }
      this.#lost()
    }
    if (news > this.#seen.version) this.readNew()
  }

  /** Reads new broadcasts; does nothing before the first beat. */
  readNew(): void {
    if (this.#generation === undefined) return
    this.#reading ??= this.#read()
      .catch(() => undefined)
      .finally(() => {
        this.#reading = undefined
      })
  }

  /** Returns undefined if there is no broadcast, or its keys differ. Rejects with a Fault `unavailable`. */
  async read(kind: string, subject: string): Promise<Buffer | undefined> {
    const name = this.#nameOf(kind, subject)
    const sealed = await this.#options.store.noted(name)
    return sealed && this.#open(name, sealed)?.value
  }

  /** Retries for 10 s, then rejects with a Fault `unavailable`. A `ttlMs` of 0 never expires. */
  async write(kind: string, subject: string, { value, ttlMs = 0 }: Noted): Promise<void> {
    const { store, ring, clock, onBroadcast } = this.#options
    const name = this.#nameOf(kind, subject)
    const sealed = ring.seal('note', name, Buffer.concat([Buffer.from(`${kind}\n`), value]))
    const endMs = clock.nowMs() + AGAIN_FOR_MS
    for (;;) {
      try {
        await store.note(name, sealed, ttlMs)
        onBroadcast?.()
        return
      } catch (thrown) {
        if (clock.nowMs() >= endMs) throw Fault.from(thrown)
        await pause(clock, AGAIN_MS)
      }
    }
  }

  /**
   * Runs `work` while no other replica runs it for the same subject. Rejects with a Fault: `unavailable`
   * without the engine, `timeout` after waiting for 35 s.
   */
  async exclusively<T>(kind: string, subject: string, work: () => Promise<T>): Promise<T> {
    const name = this.#nameOf(kind, subject)
    const before = this.#turns.get(name) ?? Promise.resolve()
    const turn = before.then(() => this.#held(name, work))
    const over = turn.catch(() => undefined)
    this.#turns.set(name, over)
    try {
      return await turn
    } finally {
      if (this.#turns.get(name) === over) this.#turns.delete(name)
    }
  }

  async #held<T>(name: string, work: () => Promise<T>): Promise<T> {
    const { id, store, clock, isSettled } = this.#options
    if (!isSettled()) throw new Fault('unavailable', 'the cluster engine is still recovering')
    const endMs = clock.nowMs() + WAIT_MS
    while (!(await store.take(name, id, HELD_MS))) {
      if (clock.nowMs() >= endMs) throw new Fault('timeout', 'another replica is busy with this')
      await pause(clock, POLL_MS)
    }
    try {
      return await work()
    } finally {
      await store.release(name, id).catch(() => undefined)
    }
  }

  #lost(): void {
    for (const listener of this.#listeners.values()) listener.lost()
  }

  async #read(): Promise<void> {
    const { store } = this.#options
    const seen = this.#seen
    for (;;) {
      const { version, names, isCut } = await store.news(seen.version)
      // Before its first read, a replica has already called `lost`.
      if (isCut && seen.version > 0) this.#lost()
      for (const name of names) {
        const sealed = await store.noted(name)
        const note = sealed && this.#open(name, sealed)
        if (note !== undefined) this.#listeners.get(note.kind)?.received(note.value)
      }
      seen.version = version
      if (names.length === 0) return
    }
  }

  #open(name: string, sealed: Buffer): { readonly kind: string; readonly value: Buffer } | undefined {
    const plain = this.#options.ring.open('note', name, sealed)
    const end = plain?.indexOf('\n') ?? -1
    if (plain === undefined || end < 0) return undefined
    return { kind: plain.subarray(0, end).toString(), value: plain.subarray(end + 1) }
  }

  #nameOf(kind: string, subject: string): string {
    return this.#options.ring.nameOf(`${kind} ${subject}`)
  }
}

interface Noted {
  readonly value: Buffer
  readonly ttlMs?: number
}
