import type { Clock } from '../../kernel/clock.js'

/** Bounds of what one session keeps for clients that lost a stream. */
export interface ReplayLimits {
  readonly events: number
  readonly bytes: number
  readonly ageMs: number
}

/** The defaults: enough for a short break, little enough for thousands of sessions. */
export const REPLAY_LIMITS: ReplayLimits = { events: 500, bytes: 1024 * 1024, ageMs: 5 * 60_000 }

interface Kept {
  readonly stream: number
  readonly n: number
  readonly frame: Buffer
  readonly atMs: number
}

/** An event that was sent, or would have been. */
export interface ReplayEvent {
  readonly id: string
  readonly frame: Buffer
}

/**
 * What a session sent on its SSE streams, so that a client can take up a broken one (basic/transports, "Resumability and
 * Redelivery"). Event ids are `<stream>.<n>`: unique in the session, a cursor within one stream. The oldest events go
 * first; the newest is kept whatever its size, because the answer to a call must survive a dropped connection.
 */
export class Replay {
  readonly #clock: Clock
  readonly #limits: ReplayLimits
  readonly #open = new Map<number, { sent: number; ended: boolean }>()
  #kept: Kept[] = []
  #first = 0
  #bytes = 0
  #streams = 0

  constructor(clock: Clock, limits: ReplayLimits = REPLAY_LIMITS) {
    this.#clock = clock
    this.#limits = limits
  }

  /** A number for a new stream of this session. */
  open(): number {
    this.#streams += 1
    this.#open.set(this.#streams, { sent: 0, ended: false })
    return this.#streams
  }

  /** Keeps a frame and returns its event id. */
  record(stream: number, frame: Buffer): string {
    const state = this.#open.get(stream) ?? { sent: 0, ended: false }
    state.sent += 1
    this.#kept.push({ stream, n: state.sent, frame, atMs: this.#clock.nowMs() })
    this.#bytes += frame.length
    this.#trim()
    return `${stream}.${state.sent}`
  }

  /** No more events will come on a stream. */
  end(stream: number): void {
    const state = this.#open.get(stream)
    if (state !== undefined) state.ended = true
  }

  /** Whether events of a stream are still kept. */
  holds(stream: number): boolean {
    return this.#open.has(stream)
  }

  /** An id at the very beginning of a stream, for its priming event (2025-11-25, transports, "Sending Messages"). */
  start(stream: number): string {
    return `${stream}.0`
  }

  /**
   * What came after an event on its own stream, never on another. Undefined if the id is not of this session or if
   * something after it is no longer kept.
   */
  after(eventId: string): { readonly stream: number; readonly events: readonly ReplayEvent[] } | undefined {
    const place = /^([1-9]\d{0,8})\.(0|[1-9]\d{0,8})$/.exec(eventId)
    if (place === null) return undefined
    const stream = Number(place[1])
    const from = Number(place[2])
    const sent = this.#open.get(stream)?.sent
    if (sent === undefined || from > sent) return undefined
    this.#trim()
    const events = this.#kept.slice(this.#first).filter(kept => kept.stream === stream && kept.n > from)
    if (events.length !== sent - from) return undefined
    return { stream, events: events.map(({ n, frame }) => ({ id: `${stream}.${n}`, frame })) }
  }

  #trim(): void {
    const oldestMs = this.#clock.nowMs() - this.#limits.ageMs
    for (;;) {
      const oldest = this.#kept[this.#first]
      const count = this.#kept.length - this.#first
      if (oldest === undefined || count <= 1) break
      if (count <= this.#limits.events && this.#bytes <= this.#limits.bytes && oldest.atMs >= oldestMs) break
      this.#bytes -= oldest.frame.length
      this.#first += 1
    }
    // Dropped events leave the array in bulk: shifting each one would cost as much as the events that stay.
    if (this.#first > 64 && this.#first * 2 > this.#kept.length) {
      this.#kept = this.#kept.slice(this.#first)
      this.#first = 0
      this.#forgetStreams()
    }
  }

  /** Ended streams of which nothing is kept any more cannot be taken up again. */
  #forgetStreams(): void {
    const alive = new Set(this.#kept.map(kept => kept.stream))
    for (const [stream, { ended }] of this.#open) {
      if (ended && !alive.has(stream)) this.#open.delete(stream)
    }
  }
}
