import { z } from 'zod'
import { auth } from './auth.js'
import { cluster } from './cluster.js'
import { limits } from './limits.js'
import { server, timeouts } from './server.js'
import { anyTexts, flag, glob, limit, objectFix, text, texts, wait, whole } from './values.js'
import { client, expose, VIEWS_EXAMPLE, view } from './views.js'

const originFix = 'Write a list of origins, such as ["https://app.example.com"].'
const RATIO_FIX = 'Write a number from 0 to 1.'
const KEEP_FIX = 'Write a list of "errors" and "slow".'
const HOST_FIX = 'Write an address or host name, such as "127.0.0.1".'
const PORT_FIX = 'Write a whole number from 0 to 65535; 0 takes any free port.'
const socketFix = 'Write the address of a socket, such as "unix:///run/user/1000/mcp.sock" or "pipe:///mcp".'

/** The long form of `listen`. */
const listen = z.object(
  {
    http: flag().optional().meta({
      description: 'Listen for HTTP; `false` leaves only the socket.',
      default: true,
    }),
    host: z
      .string({ error: HOST_FIX })
      .regex(/^[^\s/?#@]+$/, { error: HOST_FIX })
      .optional()
      .meta({
        description: 'The address to listen on. See docs/security.md before changing it.',
        default: '127.0.0.1',
      }),
    port: whole(0, 65_535, PORT_FIX)
      .optional()
      .meta({ description: 'The port to listen on; `0` takes any free port.', default: 8808 }),
    allowedHosts: texts('Write a list of host names, such as ["proxy.example.com"].')
      .optional()
      .describe(
        '`Host` headers to accept in addition to the loopback names and `listen.host`, with or without a port.',
      ),
    trustedProxies: texts('Write a list of addresses and networks, such as ["10.0.0.0/8"].')
      .optional()
      .describe(
        'Reverse proxies, by address or network such as `10.0.0.0/8`. `X-Forwarded-For` in their requests names the client for limits, logs, the audit and anonymous principals; other requests with that header are not trusted.',
      ),
    allowedOrigins: texts(originFix)
      .optional()
      .describe(
        'Origins of web pages that may call, in addition to those of this machine, such as `https://app.example.com`.',
      ),
    sse: flag().optional().meta({
      description: 'Serve HTTP+SSE, the transport of 2024-11-05, at `/sse` and `/messages` on the same port.',
      default: true,
    }),
    ws: flag().optional().meta({
      description: 'Serve WebSocket at `/ws` on the same port.',
      default: true,
    }),
    socket: text(socketFix)
      .optional()
      .describe(
        'A local socket to listen on as well: `unix:///run/user/1000/mcp.sock` or an absolute path for a unix domain socket that only the user of the proxy can connect to, `pipe:///mcp` for a Windows named pipe. Messages are lines, as on stdio.',
      ),
  },
  { error: 'Write an object, such as { "port": 8808 }, or the address of a socket.' },
)

const SOCKET = /^(?:unix:|pipe:|\/|\\\\|\$\{)/

/** With the short form, for editors only: the errors of a union do not show which member is invalid. */
const listenInEditors = z.union([
  listen,
  z.string().regex(SOCKET).describe('Listen on this socket only, without HTTP.'),
])

const log = z.object(
  {
    level: z
      .enum(['debug', 'info', 'warn', 'error', 'silent'], {
        error: 'Write "debug", "info", "warn", "error" or "silent".',
      })
      .optional()
      .meta({ description: 'The lowest level that is logged to stderr.', default: 'info' }),
    slow: limit().optional().meta({
      description: 'Log calls that take longer as warnings, without their contents.',
      default: 'off',
    }),
  },
  objectFix('{ "level": "info" }'),
)

const TRACING_FIX = 'Write "env", or an object such as { "endpoint": "http://127.0.0.1:4318" }.'

const tracing = z.object(
  {
    endpoint: text('Write the address of a collector, such as "http://127.0.0.1:4318".').describe(
      'The address of an OTLP collector, to which `/v1/traces` is added.',
    ),
    protocol: z
      .enum(['http/protobuf', 'http/json'], {
        error: 'Write "http/protobuf" or "http/json"; both use port 4318.',
      })
      .optional()
      .meta({ description: 'The encoding of spans.', default: 'http/protobuf' }),
    headers: z
      .record(
        z.string(),
        z.string({ error: 'Write the value as text.' }),
        objectFix('{ "x-api-key": "${KEY}" }'),
      )
      .optional()
      .describe('Headers for the collector, such as a key from a variable.'),
    ratio: z
      .number({ error: RATIO_FIX })
      .min(0, { error: RATIO_FIX })
      .max(1, { error: RATIO_FIX })
      .optional()
      .meta({
        description: 'The share of requests without a parent trace that are traced, from 0 to 1.',
        default: 1,
      }),
    trustParents: flag()
      .optional()
      .describe(
        'Let callers decide whether their requests are traced. If absent, only programs on this machine and callers with a credential decide.',
      ),
    perSecond: whole(1, 10_000).optional().meta({
      description: 'The maximum number of traces per second.',
      default: 100,
    }),
    keep: z
      .array(z.enum(['errors', 'slow'], { error: KEEP_FIX }), { error: KEEP_FIX })
      .optional()
      .describe(
        'Calls to record although they are not sampled: `errors`, and `slow` for those above `log.slow`.',
      ),
    content: flag().optional().meta({
      description:
        'Record arguments and results of tools, if `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` allows it too.',
      default: false,
    }),
    baggage: texts('Write a list of keys, such as ["tenant"].')
      .optional()
      .describe('Baggage keys to pass from headers of clients to headers of servers.'),
  },
  { error: TRACING_FIX },
)

/** With `"env"`, for editors only, as with "listen". */
const tracingInEditors = z.union([
  tracing,
  z.literal('env').describe('Use the environment variables of OpenTelemetry.'),
])

const METRICS_FIX = 'Write false, or an object such as { "listen": "127.0.0.1:9464" }.'

const metrics = z.object(
  {
    listen: text('Write an address and a port, such as "127.0.0.1:9464".')
      .optional()
      .describe('A separate address that serves only the metrics, such as `127.0.0.1:9464`.'),
    token: text('Write a token, such as "${METRICS_TOKEN}".')
      .optional()
      .describe(
        'Bearer token required to read metrics at `metrics.listen`; mandatory if other machines can reach that address.',
      ),
    tools: z
      .enum(['counters', 'histograms'], { error: 'Write "counters" or "histograms".' })
      .optional()
      .meta({
        description: '`histograms` records a histogram of durations for each tool, in addition to counters.',
        default: 'counters',
      }),
    series: whole(100, 100_000).optional().meta({
      description: 'The maximum number of series of counters and histograms.',
      default: 2000,
    }),
  },
  { error: METRICS_FIX },
)

/** With `false`, for editors only, as with "listen". */
const metricsInEditors = z.union([metrics, z.literal(false).describe('Collect no metrics.')])

const daemon = z.object(
  {
    idle: limit().optional().meta({
      description: 'How long a daemon that a client started runs without clients; `off` for ever.',
      default: '10m',
    }),
    shellEnv: flag().optional().meta({
      description:
        'Read `PATH`, and variables that the daemon lacks, from the login shell of its user; see docs/daemon.md#variables.',
      default: true,
    }),
  },
  objectFix('{ "idle": "10m" }'),
)

const viewName = 'Use a letter and up to 31 more of a to z, 0 to 9 and "-" for the name of a view.'

const results = z.object(
  {
    max: z
      .union([whole(1000, 10_000_000), z.literal('off')], {
        error: 'Write a whole number of characters from 1000, or "off".',
      })
      .optional()
      .meta({
        description:
          'The maximum characters of a result that a client in search mode gets at once; `off` for no limit.',
        default: 48_000,
      }),
  },
  objectFix('{ "max": 48000 }'),
)

const KEYS_FIX = 'Write a list of strings, such as ["${STATE_KEY}"].'

const requestState = z.object(
  {
    keys: anyTexts(KEYS_FIX)
      .optional()
      .describe(
        'Keys of 32 bytes in base64 (`openssl rand -base64 32`), needed only if several machines serve the same clients. The first key encrypts, all keys decrypt: to replace a key, put the new one in front, and remove the old one an hour later. If absent, the proxy generates a key and keeps it in the state folder.',
      ),
  },
  objectFix('{ "keys": ["${STATE_KEY}"] }'),
)

export const settings = z.object({
  $schema: z
    .string({ error: 'Write the path of the schema as a string.' })
    .optional()
    .describe('The schema of this file, for editors.'),
  listen: listen.optional(),
  pageSize: whole(1, 10_000).optional().meta({
    description: 'Items per page of a merged list. Many clients read only the first page.',
    default: 10_000,
  }),
  startupWait: wait().optional().meta({
    description:
      'How long the `initialize` of a new client waits for servers that the proxy does not know yet.',
    default: '4.5s',
  }),
  drain: wait().optional().meta({
    description:
      'How long calls in flight may still take when the proxy stops, a client closes its half of stdio or a socket, or a server is removed.',
    default: '10s',
  }),
  envFile: text('Write the path of a file.').optional().meta({
    description:
      "A file of variables with lines `NAME='value'`, for variables that the environment of the proxy does not have; relative to this file. It is read whenever this file is.",
    default: 'secrets.env',
  }),
  auth: auth
    .optional()
    .describe(
      'Who may access the proxy over HTTP, and with which scopes; see docs/configuration.md#auth. Without it, programs on this machine may.',
    ),
  cluster: cluster
    .optional()
    .describe(
      'Runs several replicas of `serve` as one proxy; see docs/cluster.md. A mistake in it makes the file unusable.',
    ),
  audit: text('Write "off", "stderr", or the path of a file.').optional().meta({
    description:
      'Where to write a line about each call, session, question, refused request and reload: `off`, `stderr`, or the path of a file that only its user can read; see docs/security.md#what-is-logged.',
    default: 'off',
  }),
  auditArguments: flag().optional().meta({
    description: 'Include the arguments of tools and prompts in the audit; known secrets are masked.',
    default: false,
  }),
  credentialStore: z.enum(['file', 'keychain'], { error: 'Write "file" or "keychain".' }).optional().meta({
    description:
      'Where logins at servers are kept: in files of the state folder, or in the keychain of the user (`keychain`), for which the npm package `@napi-rs/keyring` must be installed next to the proxy.',
    default: 'file',
  }),
  knownServers: flag().optional().meta({
    description:
      'Keep the capabilities and lists of servers on disk, so that `serve`, `stdio` and `bridge` can list them without starting them; see docs/configuration.md#known-servers.',
    default: true,
  }),
  log: log.optional().describe('Settings of the log.'),
  metrics: metrics.optional(),
  tracing: tracing.optional(),
  daemon: daemon.optional().describe('Settings of the daemon that clients share; see docs/daemon.md.'),
  views: z
    .record(z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, { error: viewName }), view, objectFix(VIEWS_EXAMPLE))
    .optional()
    .describe('Selections of servers, tools, resources and prompts, by name; see docs/views.md.'),
  clients: z
    .record(glob('cursor*'), client, objectFix('{ "cursor*": { "maxTools": 40 } }'))
    .optional()
    .describe('Settings for clients, by patterns of the name that they send; the first match applies.'),
  expose: expose
    .optional()
    .describe('How tools are shown: `direct`, `search` or `auto`, or an object; see docs/search.md.'),
  results: results.optional().describe('Long results in search mode; see docs/search.md.'),
  limits: limits
    .optional()
    .describe('Limits on the memory and time that clients and servers may use; see docs/limits.md.'),
  timeouts: timeouts
    .optional()
    .describe('Timeouts of all servers; the same key of a server takes precedence.'),
  requestState: requestState
    .optional()
    .describe('Encryption of the state that clients of 2026-07-28 carry between two requests.'),
})

export const root = settings.extend({
  listen: listenInEditors
    .optional()
    .describe(
      'Where the proxy listens: an HTTP port, a socket, or both. The address of a socket instead of an object means that socket and no HTTP.',
    ),
  metrics: metricsInEditors
    .optional()
    .describe('Metrics at `/metrics`; `false` turns them off. See docs/observability.md#metrics.'),
  tracing: tracingInEditors
    .optional()
    .describe(
      'Traces: an object, or `env` for the environment variables of OpenTelemetry; off if absent. See docs/observability.md#traces.',
    ),
  mcpServers: z
    .record(z.string().min(1), server)
    .describe('The servers behind the proxy, by name. Merged lists follow their order.'),
})
