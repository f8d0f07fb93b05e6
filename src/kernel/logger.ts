/**
 * Where the layers below `app/` write what an operator should know; `telemetry/logs/logger.ts` implements it with
 * pino.
 */
export interface Logger {
  debug(facts: object, words: string): void
  info(facts: object, words: string): void
  warn(facts: object, words: string): void
  error(facts: object, words: string): void
  /** A logger that adds these facts to every line. */
  child(facts: object): Logger
}

const nothing = (): void => undefined

/** A logger that writes nothing: for tests and for library users who did not pass one. */
export const silentLogger: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  child: () => silentLogger,
}
