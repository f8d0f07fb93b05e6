import { nothing } from './nothing.js'

/** The log of the layers below `app/`; `telemetry/logs/logger.ts` implements it with pino. */
export interface Logger {
  debug(facts: object, message: string): void
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
  /** Returns a logger that adds these facts to every line. */
  child(facts: object): Logger
}

/** Writes nothing; for tests and library users without a logger. */
export const silentLogger: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  child: () => silentLogger,
}
