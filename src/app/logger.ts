import { type LoggerOptions, type Logger as Pino, pino, stdSerializers } from 'pino'
import type { Logger } from '../kernel/logger.js'
import { createStderrSink, type LineSink } from './stderr-sink.js'

/** How much is logged. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** Facts whose values are never written, wherever they stand. */
const SECRET_FACTS = [
  'env',
  'headers',
  'authorization',
  'token',
  '*.env',
  '*.headers',
  '*.authorization',
  '*.token',
]

/** A logger whose level can be changed, for itself and all its children. */
export interface AdjustableLogger extends Logger {
  level: LogLevel
}

/**
 * A logger that writes to stderr (stdout may be the protocol): one JSON object a line, or lines for people on a terminal.
 * Lost lines (a closed stderr, a full disk) never end the proxy.
 */
export const createLogger = async (options: {
  readonly level: LogLevel
  readonly isTerminal: boolean
}): Promise<AdjustableLogger> => {
  const sink = options.isTerminal ? await sinkForPeople() : createStderrSink()
  const settings: LoggerOptions = {
    // What is below the level is dropped before it gets there: a child of pino keeps the level that it was made with.
    level: 'debug',
    base: null,
    redact: { paths: SECRET_FACTS, censor: '[redacted]' },
    serializers: { err: stdSerializers.err },
  }
  return new Leveled(pino(settings, sink), { level: options.level, rank: RANKS[options.level] })
}

const RANKS = { debug: 0, info: 1, warn: 2, error: 3, silent: 4 } as const satisfies Record<LogLevel, number>

/** The level of a logger and all its children. */
interface Threshold {
  level: LogLevel
  rank: number
}

class Leveled implements AdjustableLogger {
  readonly #pino: Pino
  readonly #threshold: Threshold

  constructor(logger: Pino, threshold: Threshold) {
    this.#pino = logger
    this.#threshold = threshold
  }

  get level(): LogLevel {
    return this.#threshold.level
  }

  set level(level: LogLevel) {
    this.#threshold.level = level
    this.#threshold.rank = RANKS[level]
  }

  debug(facts: object, words: string): void {
    if (this.#threshold.rank <= RANKS.debug) this.#pino.debug(facts, words)
  }

  info(facts: object, words: string): void {
    if (this.#threshold.rank <= RANKS.info) this.#pino.info(facts, words)
  }

  warn(facts: object, words: string): void {
    if (this.#threshold.rank <= RANKS.warn) this.#pino.warn(facts, words)
  }

  error(facts: object, words: string): void {
    if (this.#threshold.rank <= RANKS.error) this.#pino.error(facts, words)
  }

  child(facts: object): Logger {
    return new Leveled(this.#pino.child(facts), this.#threshold)
  }
}

const sinkForPeople = async (): Promise<LineSink> => {
  const { prettyFactory } = await import('pino-pretty')
  const sink = createStderrSink()
  const pretty = prettyFactory({ translateTime: 'SYS:HH:MM:ss' })
  return { write: line => sink.write(pretty(line)) }
}
