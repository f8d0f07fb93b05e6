/** The levels, least severe first (RFC 5424; server/utilities/logging, "Log Levels"). */
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

export type McpLogLevel = (typeof LOG_LEVELS)[number]

export const isLogLevel = (text: string): text is McpLogLevel =>
  (LOG_LEVELS as readonly string[]).includes(text)

export const rankOf = (level: McpLogLevel): number => LOG_LEVELS.indexOf(level)

/** For sessions that never set a level, and for messages without one. */
export const DEFAULT_RANK = rankOf('info')
