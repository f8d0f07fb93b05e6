import { DEFAULT_LIMITS } from '../kernel/limits.js'
import type {
  Era,
  ListenConfig,
  LogLevel,
  MetricsConfig,
  Restart,
  Sharing,
  Start,
  Timeouts,
  TracingConfig,
  UriMode,
} from './types.js'

/** The default of every setting. */
export const DEFAULTS = {
  // The loopback address: whoever reaches us can run every server that we know.
  listen: {
    http: true,
    host: '127.0.0.1',
    port: 8808,
    allowedHosts: [],
    allowedOrigins: [],
    sse: true,
    ws: true,
    socket: undefined,
    isGiven: false,
  } as ListenConfig,
  pageSize: 10_000,
  startupWaitMs: 4_500,
  drainMs: 10_000,
  limits: DEFAULT_LIMITS,
  auth: { loopback: 'token', baseScope: 'mcp' },
  // Cursor registers this address, and gives up if it is refused.
  embedded: {
    registration: 'open',
    privateRedirects: ['cursor://anysphere.cursor-mcp/oauth/callback'],
  },
  audit: 'off',
  auditArguments: false,
  logLevel: 'info' as LogLevel,
  metrics: { tools: 'counters' as MetricsConfig['tools'], series: 2000 },
  tracing: {
    protocol: 'http/protobuf',
    ratio: 1,
    trustParents: undefined,
    perSecond: 100,
    keep: [],
    content: false,
    baggage: [],
  } as Omit<TracingConfig, 'endpoint' | 'headers'>,
  slowMs: Number.POSITIVE_INFINITY,
  credentialStore: 'file',
  cluster: { leaseMs: 6000, lingerMs: 5000, prefix: 'mp' },
  knownServers: true,
  login: { oauth: 'auto', credentials: 'shared', signInTool: true },
  daemon: { idleMs: 10 * 60_000, shellEnv: true },
  expose: { tokens: 10_000 },
  resultsMax: 48_000,
  uris: 'prefix' as UriMode,
  start: 'lazy' as Start,
  era: 'auto' as Era,
  // Hints of tools are trusted only where the operator says so.
  replay: false,
  // It makes one client wait for another.
  serialize: false,
  propagate: true,
  // A process is expensive, so all sessions of one user share it; a session of an HTTP server is cheap.
  sharing: { stdio: 'principal' as Sharing, url: 'session' as Sharing },
  timeouts: {
    connectMs: 60_000,
    initializeMs: 60_000,
    probeMs: 10_000,
    listMs: 15_000,
    callMs: 60_000,
    totalMs: 600_000,
    tools: [],
    pingMs: 30_000,
  } as Timeouts,
  restart: { firstMs: 500, maxMs: 30_000, failures: 5, windowMs: 60_000, retryMs: 60_000 } as Restart,
  idleStopMs: 15 * 60_000,
} as const

export const MAX_FILE_BYTES = 4 * 1024 * 1024

/** The deepest nesting of a configuration file, since the parser is recursive. */
export const MAX_DEPTH = 64

/** The most unknown keys of an object that are reported one by one. */
export const MAX_UNKNOWN_KEYS = 10

/** The longest timer of Node, in milliseconds (https://nodejs.org/api/timers.html). */
export const MAX_DURATION_MS = 2_147_483_647
