/** From least to most severe (RFC 5424; server/utilities/logging, "Log Levels"). */
export const LOG_LEVELS = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const

/** How severe a log message must be to be sent. */
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Whether a text names a log level. */
export const isLogLevel = (text: string): text is LogLevel => (LOG_LEVELS as readonly string[]).includes(text)

/** How severe a level is, to compare. */
export const rankOf = (level: LogLevel): number => LOG_LEVELS.indexOf(level)

/**
 * What a session that never set a level is sent, and what counts for a message that does not say its level.
 */
export const DEFAULT_RANK = rankOf('info')
