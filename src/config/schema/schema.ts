import { z } from 'zod'
import { DEFAULTS } from '../defaults.js'
import { auth } from './auth.js'
import { cluster } from './cluster.js'
import { limits } from './limits.js'
import { server, timeouts } from './server.js'
import { flag, limit, objectMend, text, texts, wait, whole } from './values.js'
import { client, expose, VIEWS_EXAMPLE, view } from './views.js'

const originMend = 'Write a list of origins, such as ["https://app.example.com"].'
const RATIO_MEND = 'Write a number from 0 to 1.'
const KEEP_MEND = 'Write a list of "errors" and "slow".'
const PORT_MEND = 'Write a whole number from 0 to 65535; 0 takes any free port.'
const socketMend = 'Write the address of a socket, such as "unix:///run/user/1000/mcp.sock" or "pipe:///mcp".'

/** Where clients find us, in its long form. */
const listen = z.object(
  {
    http: flag().optional().meta({
      description: 'Whether to listen for HTTP; false leaves only the socket.',
      default: DEFAULTS.listen.http,
    }),
    host: text('Write an address or host name, such as "127.0.0.1".')
      .optional()
      .meta({ description: 'The address to listen on.', default: DEFAULTS.listen.host }),
    port: whole(0, 65_535, PORT_MEND)
      .optional()
      .meta({ description: 'The port to listen on; 0 takes any free one.', default: DEFAULTS.listen.port }),
    allowedHosts: texts('Write a list of host names, such as ["proxy.example.com"].')
      .optional()
      .describe('Host headers that are accepted beside those of the address that is listened on.'),
    trustedProxies: texts('Write a list of addresses and networks, such as ["10.0.0.0/8"].')
      .optional()
      .describe('Reverse proxies, by address or network, whose X-Forwarded-For names the client.'),
    allowedOrigins: texts(originMend).optional().describe('Origins of web pages that may call.'),
    sse: flag().optional().meta({
      description: 'Whether to serve HTTP+SSE at /sse on the same port, for clients that know nothing newer.',
      default: DEFAULTS.listen.sse,
    }),
    ws: flag().optional().meta({
      description: 'Whether to serve WebSocket at /ws on the same port.',
      default: DEFAULTS.listen.ws,
    }),
    socket: text(socketMend)
      .optional()
      .describe(
        'A socket to listen on as well: unix:///path for a unix domain socket, pipe:///name for a named pipe.',
      ),
  },
  { error: 'Write an object, such as { "port": 8808 }, or the address of a socket.' },
)

const SOCKET = /^(?:unix:|pipe:|\/|\\\\|\$\{)/

/** Also the short form, for editors only: a union could not tell what does not fit. */
const listenInEditors = z.union([listen, z.string().regex(SOCKET).describe('Only this socket, and no HTTP.')])

const log = z.object(
  {
    level: z
      .enum(['debug', 'info', 'warn', 'error', 'silent'], {
        error: 'Write "debug", "info", "warn", "error" or "silent".',
      })
      .optional()
      .meta({ description: 'The least important kind of line that is written.', default: DEFAULTS.logLevel }),
    slow: limit().optional().meta({
      description: 'A call of a client that takes longer is logged as a warning.',
      default: 'off',
    }),
  },
  objectMend('{ "level": "info" }'),
)

const TRACING_MEND = 'Write "env", or an object such as { "endpoint": "http://127.0.0.1:4318" }.'

const tracing = z.object(
  {
    endpoint: text('Write the address of a collector, such as "http://127.0.0.1:4318".').describe(
      'The address of an OTLP collector, to which /v1/traces is added.',
    ),
    protocol: z
      .enum(['http/protobuf', 'http/json'], {
        error: 'Write "http/protobuf" or "http/json"; both use port 4318.',
      })
      .optional()
      .meta({ description: 'How spans are written.', default: DEFAULTS.tracing.protocol }),
    headers: z
      .record(
        z.string(),
        z.string({ error: 'Write the value as text.' }),
        objectMend('{ "x-api-key": "${KEY}" }'),
      )
      .optional()
      .describe('Headers that the collector wants.'),
    ratio: z
      .number({ error: RATIO_MEND })
      .min(0, { error: RATIO_MEND })
      .max(1, { error: RATIO_MEND })
      .optional()
      .meta({ description: 'The share of traces that begin here.', default: DEFAULTS.tracing.ratio }),
    trustParents: flag()
      .optional()
      .describe(
        'Whether callers decide if their requests are traced; if absent, programs of this machine and those with a credential do.',
      ),
    perSecond: whole(1, 10_000).optional().meta({
      description: 'The most traces in a second.',
      default: DEFAULTS.tracing.perSecond,
    }),
    keep: z
      .array(z.enum(['errors', 'slow'], { error: KEEP_MEND }), { error: KEEP_MEND })
      .optional()
      .describe('Calls that are recorded although they are not sampled; slow ones are those of "log.slow".'),
    content: flag().optional().meta({
      description:
        'Whether arguments and results of tools are recorded, if OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT says so too.',
      default: false,
    }),
    baggage: texts('Write a list of keys, such as ["tenant"].')
      .optional()
      .describe('Keys of baggage that pass from headers of clients to headers of servers.'),
  },
  { error: TRACING_MEND },
)

/** Also `"env"`, for editors only, as with "listen". */
const tracingInEditors = z.union([
  tracing,
  z.literal('env').describe('As the variables of OpenTelemetry say.'),
])

const METRICS_MEND = 'Write false, or an object such as { "listen": "127.0.0.1:9464" }.'

const metrics = z.object(
  {
    listen: text('Write an address and a port, such as "127.0.0.1:9464".')
      .optional()
      .describe('An address that serves the metrics and nothing else, such as "127.0.0.1:9464".'),
    token: text('Write a token, such as "${METRICS_TOKEN}".')
      .optional()
      .describe('What whoever reads them there must send as a bearer token; needed off this machine.'),
    tools: z
      .enum(['counters', 'histograms'], { error: 'Write "counters" or "histograms".' })
      .optional()
      .meta({
        description: 'Whether each tool has only counters, or a histogram of its durations as well.',
        default: DEFAULTS.metrics.tools,
      }),
    series: whole(100, 100_000).optional().meta({
      description: 'The most series of counters and histograms.',
      default: DEFAULTS.metrics.series,
    }),
  },
  { error: METRICS_MEND },
)

/** Also `false`, for editors only, as with "listen". */
const metricsInEditors = z.union([metrics, z.literal(false).describe('Nothing is counted.')])

const daemon = z.object(
  {
    idle: limit().optional().meta({
      description: 'How long a daemon that was started by need stays without clients; "off" for ever.',
      default: '10m',
    }),
    shellEnv: flag().optional().meta({
      description:
        'Whether a daemon takes PATH, and variables that it lacks, from the login shell of its user.',
      default: DEFAULTS.daemon.shellEnv,
    }),
  },
  objectMend('{ "idle": "10m" }'),
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
          'The most characters of a result that a client in search mode gets at once; "off" for any.',
        default: DEFAULTS.resultsMax,
      }),
  },
  objectMend('{ "max": 48000 }'),
)

const KEYS_MEND = 'Write a list of strings, such as ["${STATE_KEY}"].'

const requestState = z.object(
  {
    keys: texts(KEYS_MEND)
      .optional()
      .describe(
        'Keys of 32 bytes in base64. The first one seals, all of them open, so that a key is replaced by putting the new one in front. Without any, one is made and kept in the state folder of the user.',
      ),
  },
  objectMend('{ "keys": ["${STATE_KEY}"] }'),
)

export const settings = z.object({
  $schema: z
    .string({ error: 'Write the path of the schema as a string.' })
    .optional()
    .describe('The schema of this file.'),
  listen: listen.optional(),
  pageSize: whole(1, 10_000)
    .optional()
    .meta({ description: 'How many items a page of a merged list holds.', default: DEFAULTS.pageSize }),
  startupWait: wait().optional().meta({
    description: 'How long a new client waits for servers that are still starting.',
    default: '4.5s',
  }),
  drain: wait().optional().meta({
    description: 'How long calls that are under way may still take when the proxy is asked to end.',
    default: '10s',
  }),
  envFile: text('Write the path of a file.').optional().meta({
    description:
      "A file with lines NAME='value', for variables that the environment of the proxy does not have; relative to this file.",
    default: 'secrets.env',
  }),
  auth: auth.optional().describe('Who may come in, and for what; without it, nobody has to prove anything.'),
  cluster: cluster.optional().describe('How several replicas of "serve" are one proxy.'),
  audit: text('Write "off", "stderr", or the path of a file.').optional().meta({
    description: 'Where a line about each call is written: "off", "stderr", or the path of a file.',
    default: DEFAULTS.audit,
  }),
  auditArguments: flag().optional().meta({
    description: 'Whether that line holds the arguments of tools and prompts too.',
    default: DEFAULTS.auditArguments,
  }),
  credentialStore: z.enum(['file', 'keychain'], { error: 'Write "file" or "keychain".' }).optional().meta({
    description:
      'Where logins at servers are kept: in files of the state folder, or in the keychain of the user.',
    default: DEFAULTS.credentialStore,
  }),
  knownServers: flag().optional().meta({
    description:
      'Whether what servers said about themselves, and listed, is kept in the state folder of the user, so that they need not run to be listed.',
    default: DEFAULTS.knownServers,
  }),
  log: log.optional().describe('What is written to the log.'),
  metrics: metrics.optional(),
  tracing: tracing.optional(),
  daemon: daemon.optional().describe('The daemon that clients share.'),
  views: z
    .record(z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, { error: viewName }), view, objectMend(VIEWS_EXAMPLE))
    .optional()
    .describe('Parts of what there is, by name; at /mcp/NAME, with --view NAME, or by "clients".'),
  clients: z
    .record(z.string(), client, objectMend('{ "cursor*": { "maxTools": 40 } }'))
    .optional()
    .describe('What clients get that call themselves so; "*" stands for anything.'),
  expose: expose
    .optional()
    .describe('How tools are shown: all of them (direct), by search alone (search), or as suits the client.'),
  results: results.optional().describe('What clients in search mode get of long results.'),
  limits: limits.optional().describe('How much clients and servers may make the proxy hold, or wait for.'),
  timeouts: timeouts
    .optional()
    .describe('How long to wait for servers; the same key of a server takes precedence.'),
  requestState: requestState
    .optional()
    .describe('How the states are sealed that clients of 2026-07-28 carry from one request to the next.'),
})

export const root = settings.extend({
  listen: listenInEditors
    .optional()
    .describe('Where clients find the proxy: an HTTP port, a socket, or both.'),
  metrics: metricsInEditors
    .optional()
    .describe('What is counted for /metrics, and who may read it; false counts nothing.'),
  tracing: tracingInEditors.optional().describe('How requests are traced, and where their spans are sent.'),
  mcpServers: z.record(z.string().min(1), server).describe('The servers behind the proxy, by name.'),
})
