import type { LogLevel } from '../config/types.js'
import type { Clock } from '../kernel/async/clock.js'
import { type Logger, silentLogger } from '../kernel/logger.js'
import { isSecretName, MASK, said, saidText } from '../kernel/mask.js'

/** A logger whose level can be changed, for itself and all its children. */
export interface AdjustableLogger extends Logger {
  level: LogLevel
}

/** A logger of somebody else, for whom words of peers are held to the same as for our own; one that is ours, as it is. */
export const guardLogger = (log: Logger, clock: Clock): Logger =>
  log instanceof GuardedLogger || log === silentLogger
    ? log
    : new GuardedLogger(log, { level: 'debug', pace: new LinePace(clock) })

const RANKS = { debug: 0, info: 1, warn: 2, error: 3, silent: 4 } as const satisfies Record<LogLevel, number>

/** What a logger and all its children have in common. */
interface Guard {
  level: LogLevel
  /** Lines are of a kind that say the same about the same server and limit. */
  readonly pace: LinePace
}

/** What lines of a kind have in common, beside their words. */
interface About {
  readonly server: unknown
  readonly limit?: unknown
}

/** What a string may hold at most, and one that is a line of a server's stderr, or the stack of an error. */
const FACT_BYTES = 1024
const LONG_BYTES = 8 * 1024
const LONG = new Set(['stderr', 'stack'])
const FACTS_MAX = 100
const DEPTH_MAX = 4

/**
 * Guards a log against peers: what they say is written without secrets and control characters, and cut; and what they can cause a line
 * for again and again is merged.
 */
export class GuardedLogger implements AdjustableLogger {
  readonly #behind: Logger
  readonly #guard: Guard
  readonly #server: unknown

  constructor(behind: Logger, guard: Guard, server?: unknown) {
    this.#behind = behind
    this.#guard = guard
    this.#server = server
  }

  get level(): LogLevel {
    return this.#guard.level
  }

  set level(level: LogLevel) {
    this.#guard.level = level
  }

  debug(facts: object, words: string): void {
    this.#write('debug', facts, words)
  }

  info(facts: object, words: string): void {
    this.#write('info', facts, words)
  }

  warn(facts: object, words: string): void {
    this.#write('warn', facts, words)
  }

  error(facts: object, words: string): void {
    this.#write('error', facts, words)
  }

  child(facts: object): Logger {
    const server = 'server' in facts ? facts.server : this.#server
    return new GuardedLogger(this.#behind.child(shownFacts(facts)), this.#guard, server)
  }

  #write(level: Exclude<LogLevel, 'silent'>, facts: object, words: string): void {
    if (RANKS[level] < RANKS[this.#guard.level]) return
    // Whoever wants to see everything does; lines of stderr have a limit of their own.
    const isFree = level === 'debug' || 'stderr' in facts
    const { server, limit }: About = { server: this.#server, ...facts }
    const unlogged = isFree ? 0 : this.#guard.pace.admit([words, server, limit].join('\0'))
    if (unlogged === undefined) return
    const shown = shownFacts(unlogged === 0 ? facts : { ...facts, unlogged })
    this.#behind[level](shown, said(words))
  }
}

const shownFacts = (facts: object, depth = 0): object =>
  Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [name, isHidden(name) ? MASK : shown(value, depth, name)]),
  )

const isHidden = (name: string): boolean => name === 'env' || name === 'headers' || isSecretName(name)

const shown = (value: unknown, depth: number, name = ''): unknown => {
  if (typeof value === 'string') return saidText(value, LONG.has(name) ? LONG_BYTES : FACT_BYTES)
  if (typeof value !== 'object' || value === null) return value
  // Written as numbers, a secret among them would not be found.
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (depth >= DEPTH_MAX) return '[more]'
  if (Array.isArray(value)) return value.slice(0, FACTS_MAX).map(one => shown(one, depth + 1))
  return shownFacts(value instanceof Error ? ofError(value) : value, depth + 1)
}

/** What Node does not enumerate of an error, and what it does, such as `code`. */
const ofError = (error: Error): object => {
  const { name: type, message, stack, cause } = error
  const more = Object.entries(error).filter(([name]) => name !== 'name')
  return { ...Object.fromEntries(more), type, message, stack, ...(cause instanceof Error && { cause }) }
}

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
