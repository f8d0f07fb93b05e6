import type { Clock } from '../kernel/async/clock.js'

/** So many lines of a kind may come at once, and one more in each `EACH_MS`. */
const AT_ONCE = 10
const EACH_MS = 10_000
/** Kinds that are told apart; peers cannot make up as many, unless they have as many addresses. */
const KINDS_MAX = 10_000

/** How often lines of a kind came. */
interface Kind {
  /** How many may come at once, as of `atMs`. */
  room: number
  atMs: number
  /** Left out since the last one that was written. */
  unlogged: number
}

/** Merges lines that peers can cause again and again: of each kind some are written at once, and then one now and then. */
export class LinePace {
  readonly #clock: Clock
  readonly #kinds = new Map<string, Kind>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** How many lines of the kind were left out before this one; undefined if this is to be left out, too. */
  admit(name: string): number | undefined {
    const nowMs = this.#clock.nowMs()
    let kind = this.#kinds.get(name)
    if (kind === undefined) {
      kind = { room: AT_ONCE, atMs: nowMs, unlogged: 0 }
      if (this.#kinds.size >= KINDS_MAX) this.#kinds.clear()
      this.#kinds.set(name, kind)
    }
    kind.room = Math.min(AT_ONCE, kind.room + (nowMs - kind.atMs) / EACH_MS)
    kind.atMs = nowMs
    const { unlogged } = kind
    const isAdmitted = kind.room >= 1
    kind.room -= isAdmitted ? 1 : 0
    kind.unlogged = isAdmitted ? 0 : unlogged + 1
    return isAdmitted ? unlogged : undefined
  }
}
