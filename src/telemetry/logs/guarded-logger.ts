import type { LogLevel } from '../../config/types.js'
import type { Clock } from '../../kernel/async/clock.js'
import { type Logger, silentLogger } from '../../kernel/logger.js'
import type { Meter } from '../../kernel/meter.js'
import { isSecretName, MASK, sanitizeLine, sanitizeText } from '../../kernel/secrets/mask.js'

/** A logger with an adjustable level, which its children share. */
export interface AdjustableLogger extends Logger {
  level: LogLevel
}

/** Counts the lines of a logger. */
export const meterLines = (log: Logger, meter: Meter | undefined): void => {
  if (log instanceof GuardedLogger) log.meter = meter
}

/** Returns true if debug lines are logged, to skip building them otherwise. */
export const isDebug = (log: Logger): boolean => log instanceof GuardedLogger && log.level === 'debug'

/** Wraps a logger unless it is already guarded. */
export const guardLogger = (log: Logger, clock: Clock): Logger =>
  log instanceof GuardedLogger || log === silentLogger
    ? log
    : new GuardedLogger(log, { level: 'debug', rate: new LineRateLimiter(clock) })

const RANKS = { debug: 0, info: 1, warn: 2, error: 3, silent: 4 } as const satisfies Record<LogLevel, number>

interface Guard {
  level: LogLevel
  readonly rate: LineRateLimiter
  meter?: Meter | undefined
}

interface Child {
  readonly server?: unknown
  readonly quiet?: Logger | undefined
}

const FACT_BYTES = 1024
const LONG_BYTES = 8 * 1024
const LONG = new Set(['stderr', 'stack'])
const FACTS_MAX = 100
const DEPTH_MAX = 4

/** Masks secrets and control characters in peers' text, truncates it, and rate-limits repeated lines. */
export class GuardedLogger implements AdjustableLogger {
  readonly #behind: Logger
  readonly #guard: Guard
  readonly #server: unknown
  readonly #quiet: Logger | undefined

  /** `quiet` receives the servers' stderr lines that are below the log level, to keep them. */
  constructor(behind: Logger, guard: Guard, { server, quiet }: Child = {}) {
    this.#behind = behind
    this.#guard = guard
    this.#server = server
    this.#quiet = quiet
  }

  get level(): LogLevel {
    return this.#guard.level
  }

  set level(level: LogLevel) {
    this.#guard.level = level
  }

  /** Counts later lines. Undefined counts nothing. */
  set meter(meter: Meter | undefined) {
    this.#guard.meter = meter
  }

  debug(facts: object, message: string): void {
    this.#write('debug', facts, message)
  }

  info(facts: object, message: string): void {
    this.#write('info', facts, message)
  }

  warn(facts: object, message: string): void {
    this.#write('warn', facts, message)
  }

  error(facts: object, message: string): void {
    this.#write('error', facts, message)
  }

  child(facts: object): Logger {
    const server = 'server' in facts ? facts.server : this.#server
    const own = shownFacts(facts)
    const quiet = this.#quiet?.child(own)
    return new GuardedLogger(this.#behind.child(own), this.#guard, { server, quiet })
  }

  #write(level: Exclude<LogLevel, 'silent'>, facts: object, message: string): void {
    const isQuiet = RANKS[level] < RANKS[this.#guard.level]
    if (isQuiet && !('stderr' in facts)) return
    // The debug level is not rate-limited, and stderr lines have their own limit.
    const isFree = level === 'debug' || 'stderr' in facts
    const { server, limit }: { server: unknown; limit?: unknown } = { server: this.#server, ...facts }
    const unlogged = isFree ? 0 : this.#guard.rate.admit([message, server, limit].join('\0'))
    if (unlogged === undefined) return
    const shown = shownFacts(unlogged === 0 ? facts : { ...facts, unlogged })
    const behind = isQuiet ? this.#quiet : this.#behind
    behind?.[level](shown, sanitizeLine(message))
    if (this.#guard.meter !== undefined) countLine(this.#guard.meter, { level, isQuiet, facts, server })
  }
}

interface CountedLine {
  readonly level: string
  readonly isQuiet: boolean
  readonly facts: object
  readonly server: unknown
}

const countLine = (meter: Meter, { level, isQuiet, facts, server }: CountedLine): void => {
  if (!isQuiet) meter.counter('mcp_proxy_log_lines', level).add()
  if ('stderr' in facts && typeof server === 'string')
    meter.counter('mcp_proxy_server_log_lines', server).add()
}

const shownFacts = (facts: object, depth = 0): object =>
  Object.fromEntries(
    Object.entries(facts).map(([name, value]) => [name, isHidden(name) ? MASK : shown(value, depth, name)]),
  )

const isHidden = (name: string): boolean => name === 'env' || name === 'headers' || isSecretName(name)

const shown = (value: unknown, depth: number, name = ''): unknown => {
  if (typeof value === 'string') return sanitizeText(value, LONG.has(name) ? LONG_BYTES : FACT_BYTES)
  if (typeof value !== 'object' || value === null) return value
  // The masks cannot find a secret written as numbers.
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (depth >= DEPTH_MAX) return '[more]'
  if (Array.isArray(value)) return value.slice(0, FACTS_MAX).map(one => shown(one, depth + 1))
  return shownFacts(value instanceof Error ? ofError(value) : value, depth + 1)
}

/** Returns the non-enumerable members of an error, and the enumerable ones, such as `code`. */
const ofError = (error: Error): object => {
  const { name: type, message, stack, cause } = error
  const more = Object.entries(error).filter(([name]) => name !== 'name')
  return { ...Object.fromEntries(more), type, message, stack, ...(cause instanceof Error && { cause }) }
}

/** Burst size of a kind of lines, and the time per further line. */
const BURST = 10
const REFILL_MS = 10_000
/** Maximum kinds. Peers can reach it only with as many addresses. */
const KINDS_MAX = 10_000

interface Bucket {
  /** At `atMs`. */
  tokens: number
  atMs: number
  /** Lines dropped since the last one written. */
  unlogged: number
}

/** Limits the rate of lines that peers can cause, for each kind. */
export class LineRateLimiter {
  readonly #clock: Clock
  readonly #buckets = new Map<string, Bucket>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /**
   * Returns the number of lines of the kind dropped before this one. Returns undefined to drop this one too.
   */
  admit(kind: string): number | undefined {
    const nowMs = this.#clock.nowMs()
    let bucket = this.#buckets.get(kind)
    if (bucket === undefined) {
      bucket = { tokens: BURST, atMs: nowMs, unlogged: 0 }
      if (this.#buckets.size >= KINDS_MAX) this.#buckets.clear()
      this.#buckets.set(kind, bucket)
    }
    bucket.tokens = Math.min(BURST, bucket.tokens + (nowMs - bucket.atMs) / REFILL_MS)
    bucket.atMs = nowMs
    const { unlogged } = bucket
    const isAdmitted = bucket.tokens >= 1
    bucket.tokens -= isAdmitted ? 1 : 0
    bucket.unlogged = isAdmitted ? 0 : unlogged + 1
    return isAdmitted ? unlogged : undefined
  }
}
