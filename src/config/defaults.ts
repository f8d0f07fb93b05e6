import { DEFAULT_LIMITS } from '../kernel/limits.js'
import { PLAIN_SETTINGS, type PlainSettings } from './schema/settings.generated.js'
import type { ListenConfig, Sharing, Timeouts } from './types.js'

/** The defaults of the plain keys of a group. */
export const plainDefaults = <G extends keyof PlainSettings>(group: G): PlainSettings[G] =>
  Object.fromEntries(
    Object.entries(PLAIN_SETTINGS[group]).map(([name, { fallback }]: [string, { fallback: unknown }]) => [
      name,
      fallback,
    ]),
  ) as unknown as PlainSettings[G]

/** The default of every setting. */
export const DEFAULTS = {
  ...plainDefaults('proxy'),
  ...plainDefaults('log'),
  ...plainDefaults('results'),
  limits: DEFAULT_LIMITS,
  listen: { ...plainDefaults('listen'), socket: undefined, isGiven: false } as ListenConfig,
  metrics: plainDefaults('metrics'),
  tracing: plainDefaults('tracing'),
  daemon: plainDefaults('daemon'),
  expose: plainDefaults('expose'),
  server: plainDefaults('server'),
  timeouts: { ...plainDefaults('timeouts'), tools: [] } as Timeouts,
  restart: plainDefaults('restart'),
  // Processes are expensive, so all sessions of one user share one; sessions of an HTTP server are cheap.
  sharing: { stdio: 'principal' as Sharing, url: 'session' as Sharing },
} as const

export const MAX_FILE_BYTES = 4 * 1024 * 1024

/** Maximum nesting of a configuration file, because the parser is recursive. */
export const MAX_DEPTH = 64

/** Maximum number of unknown keys of an object that are reported separately. */
export const MAX_UNKNOWN_KEYS = 10

/** The longest timer of Node, in milliseconds (https://nodejs.org/api/timers.html). */
export const MAX_DURATION_MS = 2_147_483_647
