import { pino } from 'pino'
import type { LogLevel } from '../config/types.js'
import { type Clock, systemClock } from '../kernel/async/clock.js'
import { type AdjustableLogger, GuardedLogger } from './guarded-logger.js'
import { LinePace } from './line-pace.js'
import { createStderrSink, type LineSink } from './stderr-sink.js'

/**
 * A logger that writes to stderr (stdout may be the protocol): one JSON object a line, or lines for people on a terminal.
 * Lost lines (a closed stderr, a full disk) never end the proxy.
 */
export const createLogger = async (options: {
  readonly level: LogLevel
  readonly isTerminal: boolean
  readonly clock?: Clock
}): Promise<AdjustableLogger> => {
  const { level, isTerminal, clock = systemClock } = options
  const sink = isTerminal ? await sinkForPeople() : createStderrSink()
  return new GuardedLogger(pino(SETTINGS, sink), { level, pace: new LinePace(clock) })
}

/**
 * What is below the level is dropped before it gets here: a child of pino keeps the level that it was made with. Errors come as they are
 * to be written.
 */
const SETTINGS = { level: 'debug', base: null, serializers: { err: (facts: unknown) => facts } }

const sinkForPeople = async (): Promise<LineSink> => {
  const { prettyFactory } = await import('pino-pretty')
  const sink = createStderrSink()
  const pretty = prettyFactory({ translateTime: 'SYS:HH:MM:ss' })
  return { write: line => sink.write(pretty(line)) }
}
