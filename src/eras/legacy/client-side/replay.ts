import type { Clock } from '../../../kernel/async/clock.js'
import { Fault } from '../../../kernel/faults.js'
import { type JsonText, JsonTextError, readJson } from '../../../kernel/json/text.js'
import type { LimitCounters } from '../../../kernel/limit-counters.js'
import { isId } from '../../../wire/jsonrpc.js'
import { lengthOf, type OutgoingMessage } from '../../../wire/message-parts.js'

/** Bounds one session's replay buffer; with 0 events, nothing is kept. */
export interface ReplayLimits {
  readonly events: number
  readonly bytes: number
  readonly ageMs: number
}

/** Returns the limits of a new session; nothing is kept while memory is short. */
export const replayLimits = ({ max, pressure }: LimitCounters): ReplayLimits => ({
  events: pressure > 0 ? 0 : max.replayEvents,
  bytes: max.replayBytes,
  ageMs: max.replayAge,
})

/** The total over all sessions; at the limit, the session idle for longest loses its events. */
export class ReplayTotal {
  readonly #bounds: LimitCounters
  /** Sessions with events, the most recently used one last. */
  readonly #replays = new Set<Replay>()
  #newest: Replay | undefined
  #bytes = 0

  constructor(bounds: LimitCounters) {
    this.#bounds = bounds
  }

  get bytes(): number {
    return this.#bytes
  }

  added(replay: Replay, bytes: number): void {
    this.#bytes += bytes
    this.#bounds.queues.replay += bytes
    if (replay !== this.#newest) {
      this.#replays.delete(replay)
      this.#replays.add(replay)
      this.#newest = replay
    }
    while (this.#bytes > this.#bounds.max.replayTotal) {
      const [oldest] = this.#replays
      if (oldest === undefined) break
      this.#bounds.hit('replayTotal')
      oldest.clear()
    }
  }

  removed(replay: Replay, bytes: number, isEmpty: boolean): void {
    this.#bytes -= bytes
    this.#bounds.queues.replay -= bytes
    if (!isEmpty) return
    this.#replays.delete(replay)
    if (replay === this.#newest) this.#newest = undefined
  }

  /** Drops everything. */
  clear(): void {
    for (const replay of [...this.#replays]) replay.clear()
  }
}

interface Kept {
  readonly stream: number
  readonly n: number
  readonly frame: OutgoingMessage
  readonly atMs: number
}

/** A resumable stream: open, or ended with buffered events. */
interface StreamState {
  sent: number
  kept: number
  isEnded: boolean
  readonly suffix: string
}

/** A recorded event, sent or not. */
export interface ReplayEvent {
  readonly id: string
  readonly frame: OutgoingMessage
}

const PLACE = /^([1-9]\d{0,8})\.(0|[1-9]\d{0,8})(~[\w-]{0,88})?$/

const encodedId = (id: JsonText): string =>
  id.length > ENCODED_ID_BYTES ? '~' : `~${id.toString('base64url')}`

/** Longer request ids are left out of event ids. */
const ENCODED_ID_BYTES = 64

/** An event sent by a replica that died: on the standalone stream, or in the answer to a request. */
export type LostEvent = { readonly is: 'standalone' } | { readonly is: 'answer'; readonly id: JsonText }

/** Parses the id of an event sent by an earlier owner of the session; undefined for any other id. */
export const lostEvent = (eventId: string, epoch: number): LostEvent | undefined => {
  const [, earlier, mark, coded = ''] = /^([1-9]\d{0,12})-[1-9]\d*\.\d+(~)?([\w-]{0,88})$/.exec(eventId) ?? []
  if (earlier === undefined || Number(earlier) >= epoch) return undefined
  if (mark === undefined) return coded === '' ? { is: 'standalone' } : undefined
  const id = decodedId(coded)
  return id === undefined ? undefined : { is: 'answer', id }
}

/** Decodes the request id in an event id, which may be forged; undefined if it was left out. */
const decodedId = (coded: string): JsonText | undefined => {
  try {
    const id = readJson(Buffer.from(coded, 'base64url'))
    return isId(id) ? id : undefined
  } catch (error) {
    if (error instanceof JsonTextError) return undefined
    throw error
  }
}

/**
 * The events sent on a session's SSE streams, so that clients can resume (basic/transports, "Resumability and
 * Redelivery"). Event ids are `<stream>.<n>`, a cursor within one stream. If the session may
 * get a later owner, they are `<epoch>-<stream>.<n>~<request id in base64url>`, so that it can tell which
 * answer was lost. The oldest events are dropped first. The newest is kept at any size, because the answer to
 * a call must survive a dropped connection.
 */
export class Replay {
  readonly #clock: Clock
  readonly #limits: ReplayLimits
  readonly #total: ReplayTotal | undefined
  /** Created with the first: most sessions never have any. */
  #streams: Map<number, StreamState> | undefined
  #kept: Kept[] = []
  #first = 0
  #bytes = 0
  #last = 0
  /** Set with several replicas. */
  readonly #prefix: string

  constructor(clock: Clock, limits: ReplayLimits, total?: ReplayTotal, epoch?: number) {
    this.#prefix = epoch === undefined ? '' : `${epoch}-`
    this.#clock = clock
    this.#limits = limits
    this.#total = total
  }

  /** Returns the number of a new stream; `requestId` is the id of the single request it answers. */
  open(requestId?: JsonText): number {
    this.#last += 1
    const suffix = this.#prefix === '' || requestId === undefined ? '' : encodedId(requestId)
    this.#streams ??= new Map()
    this.#streams.set(this.#last, { sent: 0, kept: 0, isEnded: false, suffix })
    return this.#last
  }

  #idOf(stream: number, n: number, suffix: string): string {
    return `${this.#prefix}${stream}.${n}${suffix}`
  }

  /** Records a frame of an open stream and returns its event id. */
  record(stream: number, frame: OutgoingMessage): string {
    const state = this.#streams?.get(stream)
    if (state === undefined) throw new Fault('internal', 'The stream has ended')
    state.sent += 1
    if (this.#limits.events === 0) return this.#idOf(stream, state.sent, state.suffix)
    state.kept += 1
    const nowMs = this.#clock.nowMs()
    const bytes = lengthOf(frame)
    this.#kept.push({ stream, n: state.sent, frame, atMs: nowMs })
    this.#bytes += bytes
    this.#expire(nowMs)
    this.#total?.added(this, bytes)
    return this.#idOf(stream, state.sent, state.suffix)
  }

  /** Marks a stream as ended. */
  end(stream: number): void {
    const state = this.#streams?.get(stream)
    if (state === undefined) return
    state.isEnded = true
    if (state.kept === 0) this.#streams?.delete(stream)
  }

  /** Returns the id of a stream's newest event, for its priming event. */
  place(stream: number): string {
    const { sent = 0, suffix = '' } = this.#streams?.get(stream) ?? {}
    return this.#idOf(stream, sent, suffix)
  }

  /**
   * Returns the events after `eventId` on its stream; undefined if the id is unknown or events are missing.
   */
  after(eventId: string): { readonly stream: number; readonly events: readonly ReplayEvent[] } | undefined {
    if (!eventId.startsWith(this.#prefix)) return undefined
    const place = PLACE.exec(eventId.slice(this.#prefix.length))
    if (place === null) return undefined
    const stream = Number(place[1])
    const from = Number(place[2])
    this.expire()
    const { sent, suffix = '' } = this.#streams?.get(stream) ?? {}
    if (sent === undefined || from > sent || (place[3] ?? '') !== suffix) return undefined
    const events = this.#kept.slice(this.#first).filter(kept => kept.stream === stream && kept.n > from)
    if (events.length !== sent - from) return undefined
    return { stream, events: events.map(({ n, frame }) => ({ id: this.#idOf(stream, n, suffix), frame })) }
  }

  /** Drops all events. */
  clear(): void {
    for (const kept of this.#kept.slice(this.#first)) this.#drop(kept)
    this.#kept = []
    this.#first = 0
  }

  /** Drops events beyond the limits; called periodically, because of their age. */
  expire(): void {
    this.#expire(this.#clock.nowMs())
  }

  #expire(nowMs: number): void {
    const oldestMs = nowMs - this.#limits.ageMs
    for (;;) {
      const oldest = this.#kept[this.#first]
      if (oldest === undefined) break
      const count = this.#kept.length - this.#first
      const isTooMuch = count > 1 && (count > this.#limits.events || this.#bytes > this.#limits.bytes)
      if (!isTooMuch && oldest.atMs >= oldestMs) break
      this.#drop(oldest)
    }
    // In bulk: a single shift costs as much as moving all remaining events.
    if (this.#first * 2 > this.#kept.length) {
      this.#kept = this.#kept.slice(this.#first)
      this.#first = 0
    }
  }

  #drop({ stream, frame }: Kept): void {
    const bytes = lengthOf(frame)
    this.#first += 1
    this.#bytes -= bytes
    this.#total?.removed(this, bytes, this.#first === this.#kept.length)
    const state = this.#streams?.get(stream)
    if (state === undefined) return
    state.kept -= 1
    if (state.isEnded && state.kept === 0) this.#streams?.delete(stream)
  }
}
