import { type DestinationStream, type LoggerOptions, pino, stdSerializers } from 'pino'
import type { Logger } from '../kernel/logger.js'

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

/**
 * A logger that writes to stderr (stdout may be the protocol): one JSON object a line, or lines for people on a terminal.
 * Lost lines (a closed stderr, a full disk) never end the proxy.
 */
export const createLogger = async (options: {
  readonly level: LogLevel
  readonly isTerminal: boolean
}): Promise<Logger> => {
  const { stream } = options.isTerminal ? await prettyStream() : plainStream()
  const settings: LoggerOptions = {
    level: options.level,
    base: null,
    redact: { paths: SECRET_FACTS, censor: '[redacted]' },
    serializers: { err: stdSerializers.err },
  }
  return pino(settings, stream)
}

const nothing = (): void => undefined

/** A stream in a box: some have a `then` that would make a promise of them wait for ever. */
interface Boxed {
  readonly stream: DestinationStream
}

const plainStream = (): Boxed => {
  const stream = pino.destination({ dest: 2, sync: true })
  stream.on('error', nothing)
  return { stream }
}

const prettyStream = async (): Promise<Boxed> => {
  const { default: pretty } = await import('pino-pretty')
  const stream = pretty({ destination: 2, sync: true, translateTime: 'SYS:HH:MM:ss' })
  stream.on('error', nothing)
  return { stream }
}
