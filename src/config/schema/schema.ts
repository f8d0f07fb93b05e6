import { z } from 'zod'
import { BASE_PATH } from '../../kernel/base-url.js'
import { authSchema } from './auth.js'
import { clusterSchema } from './cluster.js'
import { limits } from './limits.js'
import { lockInEditors, lockSchema } from './lock.js'
import { proxy } from './network.js'
import { ruleList } from './rules.js'
import { server } from './server.js'
import {
  auditInEditors,
  auditSchema,
  log,
  metrics,
  metricsInEditors,
  tracing,
  tracingInEditors,
} from './telemetry.js'
import { timeouts } from './timeouts.js'
import {
  anyTexts,
  flag,
  glob,
  limit,
  objectFix,
  plain,
  text,
  waitTime,
  wholeNumber,
  words,
} from './values.js'
import { client, expose, VIEWS_EXAMPLE, view } from './views.js'

const originFix = 'Write a list of origins without spaces, such as ["https://app.example.com"].'
const HOST_FORM = /^[^\s/?#@]+$/
/** `serve` would exit with an address of any other form. */
const LISTEN_FORM = /^(?!\d+$)\[?[A-Za-z0-9_:][A-Za-z0-9._:%-]*\]?$/
const PATH_FIX =
  'Write a path such as "/tools", of letters, digits and "-._~", without "..", a query, or a slash at the end.'
const HOSTS_FIX = 'Write a list of host names without spaces, such as ["proxy.example.com"].'
const HOST_FIX = 'Write an address or host name, such as "127.0.0.1".'
const PORT_FIX = 'Write a whole number from 0 to 65535; 0 takes any free port.'
const socketFix = 'Write the address of a socket, such as "unix:///run/user/1000/mcp.sock" or "pipe:///mcp".'

/** The long form of `listen`. */
const listen = z.object(
  {
    http: plain(flag(), {
      description: 'Listen for HTTP; `false` leaves only the socket.',
      default: true,
      reload: 'restart',
    }),
    host: plain(z.string({ error: HOST_FIX }).regex(LISTEN_FORM, { error: HOST_FIX }), {
      description: 'The address to listen on. See docs/security.md before changing it.',
      default: '127.0.0.1',
      reload: 'restart',
    }),
    port: plain(wholeNumber(0, 65_535, PORT_FIX), {
      description: 'The port to listen on; `0` takes any free port.',
      default: 8808,
      reload: 'restart',
    }),
    path: z
      .string({ error: PATH_FIX })
      .regex(BASE_PATH, { error: PATH_FIX })
      .optional()
      .describe(
        'A path such as `/tools`, below which everything is served, for a reverse proxy that passes the path on; see docs/networks.md#below-a-path.',
      ),
    allowedHosts: plain(words(HOSTS_FIX, HOST_FORM), {
      description:
        '`Host` headers to accept in addition to the loopback names and `listen.host`, with or without a port.',
      default: [],
      reload: 'restart',
    }),
    trustedProxies: words('Write a list of addresses and networks, such as ["10.0.0.0/8"].')
      .optional()
      .describe(
        'Reverse proxies, by address or network such as `10.0.0.0/8`. `X-Forwarded-For` in their requests names the client for limits, logs, the audit and anonymous principals; other requests with that header are not trusted.',
      ),
    allowedOrigins: plain(words(originFix), {
      description:
        'Origins of web pages that may call the proxy, such as `https://app.example.com`; pages of this machine always may.',
      default: [],
      reload: 'restart',
    }),
    sse: plain(flag(), {
      description: 'Serve HTTP+SSE, the transport of 2024-11-05, at `/sse` and `/messages` on the same port.',
      default: true,
      reload: 'restart',
    }),
    ws: plain(flag(), {
      description: 'Serve WebSocket at `/ws` on the same port.',
      default: true,
      reload: 'restart',
    }),
    servers: flag().optional().meta({
      description:
        'Serve each server alone, under its own names, at `/servers/NAME/mcp`, `/servers/NAME/sse` and `/servers/NAME/ws`; see docs/views.md#one-server.',
      default: true,
    }),
    socket: text(socketFix)
      .optional()
      .describe(
        'A local socket to listen on as well. `unix:///run/user/1000/mcp.sock` or an absolute path is a unix domain socket that only the user of the proxy can connect to; `pipe:///mcp` is a Windows named pipe. Messages are lines, as on stdio.',
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

const daemon = z.object(
  {
    idle: plain(limit(), {
      description: 'How long a daemon that a client started runs without clients; `off` for ever.',
      default: '10m',
      leastMs: 100,
      reload: 'restart',
    }),
    shellEnv: plain(flag(), {
      description:
        'Read `PATH`, and variables that the daemon lacks, from the login shell of its user; also for `serve` and `stdio`, if they do not find a program. See docs/daemon.md#variables.',
      default: true,
      reload: 'restart',
    }),
  },
  objectFix('{ "idle": "10m" }'),
)

const viewName = 'Use a letter and up to 31 more of a to z, 0 to 9 and "-" for the name of a view.'

const results = z.object(
  {
    max: plain(
      z.union([wholeNumber(1000, 10_000_000), z.literal('off')], {
        error: 'Write a whole number of characters from 1000, or "off".',
      }),
      {
        description:
          'The maximum characters of a result that a client in search mode gets at once; `off` for no limit.',
        default: 48_000,
        as: 'resultsMax',
        reload: 'live',
      },
    ),
  },
  objectFix('{ "max": 48000 }'),
)

const KEYS_FIX = 'Write a list of strings, such as ["${STATE_KEY}"].'

const requestState = z.object(
  {
    keys: anyTexts(KEYS_FIX)
      .optional()
      .describe(
        'Keys of 32 bytes in base64 (`openssl rand -base64 32`), needed only if several machines serve the same clients. The first key encrypts, all keys decrypt: to replace a key, put the new one in front, and remove the old one once the last task that clients follow is over, after an hour at the earliest. If absent, the proxy generates a key and keeps it in the state folder.',
      )
      .meta({ as: 'stateKeys', reload: 'restart' }),
  },
  objectFix('{ "keys": ["${STATE_KEY}"] }'),
)

export const settings = z.object({
  $schema: z
    .string({ error: 'Write the path of the schema as a string.' })
    .optional()
    .describe('The schema of this file, for editors.'),
  listen: listen.optional(),
  pageSize: plain(wholeNumber(1, 10_000), {
    description: 'Items per page of a merged list. Many clients read only the first page.',
    default: 10_000,
    reload: 'live',
  }),
  startupWait: plain(waitTime(), {
    description:
      'How long the `initialize` of a new client waits for servers that the proxy does not know yet.',
    default: '4.5s',
    leastMs: 0,
    reload: 'live',
  }),
  drain: plain(waitTime(), {
    description:
      'Maximum time for calls in flight when the proxy stops, a client closes its half of stdio or a socket, or a server is removed.',
    default: '10s',
    leastMs: 0,
    reload: 'live',
  }),
  envFile: text('Write the path of a file.').optional().meta({
    description:
      "A file of variables with lines `NAME='value'`, for variables that the environment of the proxy does not have; relative to this file. It is read whenever this file is.",
    default: 'secrets.env',
  }),
  proxy: proxy
    .optional()
    .describe(
      'The HTTP proxy for remote servers, logins and the MCP registry, instead of the variables `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`; `false` ignores these. See docs/networks.md#proxies.',
    )
    .meta({ reload: 'live' }),
  auth: authSchema
    .optional()
    .describe(
      'Who may access the proxy over HTTP, and with which scopes; see docs/configuration.md#auth. Without it, programs on this machine may.',
    )
    .meta({ reload: 'restart' }),
  cluster: clusterSchema
    .optional()
    .describe(
      'Runs several replicas of `serve` as one proxy; see docs/cluster.md. A mistake in it makes the file unusable.',
    )
    .meta({ reload: 'restart' }),
  audit: auditSchema.optional(),
  auditArguments: flag()
    .optional()
    .meta({
      description: 'The same as `audit.arguments`.',
      default: false,
    })
    .meta({ as: 'audit', reload: 'restart' }),
  credentialStore: plain(z.enum(['file', 'keychain'], { error: 'Write "file" or "keychain".' }), {
    description:
      'The store of logins at servers: files in the state folder (`file`), or the keychain of the user (`keychain`). The keychain needs the npm package `@napi-rs/keyring` next to the proxy.',
    default: 'file',
    reload: 'restart',
  }),
  knownServers: plain(flag(), {
    description:
      'Keep the capabilities and lists of servers on disk, so that `serve`, `stdio` and `bridge` can list them without starting them; see docs/configuration.md#known-servers.',
    default: true,
    reload: 'restart',
  }),
  log: log.optional().describe('Settings of the log.'),
  metrics: metrics.optional(),
  tracing: tracing.optional(),
  daemon: daemon
    .optional()
    .describe('Settings of the daemon that clients share; see docs/daemon.md.')
    .meta({ reload: 'restart' }),
  views: z
    .record(z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, { error: viewName }), view, objectFix(VIEWS_EXAMPLE))
    .optional()
    .describe('Selections of servers, tools, resources and prompts, by name; see docs/views.md.')
    .meta({ reload: 'live' }),
  clients: z
    .record(glob('cursor*'), client, objectFix('{ "cursor*": { "maxTools": 40 } }'))
    .optional()
    .describe('Settings for clients, by patterns of the name that they send; the first match applies.')
    .meta({ reload: 'live' }),
  expose: expose
    .optional()
    .describe('How tools are shown: `direct`, `search` or `auto`, or an object; see docs/search.md.')
    .meta({ reload: 'live' }),
  results: results.optional().describe('Long results in search mode; see docs/search.md.'),
  rules: ruleList
    .optional()
    .describe(
      'Rules over calls, in their order: who may call what, which calls a person has to approve, and how often; see docs/rules.md. A mistake in them makes the file unusable.',
    )
    .meta({ reload: 'live' }),
  lock: lockSchema.optional(),
  limits: limits
    .optional()
    .describe('Limits on the memory and time that clients and servers may use; see docs/limits.md.')
    .meta({ reload: 'live' }),
  timeouts: timeouts
    .optional()
    .describe('Timeouts of all servers; the same key of a server takes precedence.')
    .meta({ reload: 'retuned' }),
  requestState: requestState
    .optional()
    .describe('Encryption of the state that clients of 2026-07-28 carry between two requests.'),
})

export const root = settings.extend({
  listen: listenInEditors
    .optional()
    .describe(
      'Where the proxy listens: an HTTP port, a socket, or both. The address of a socket instead of an object means that socket and no HTTP.',
    )
    .meta({ reload: 'restart' }),
  lock: lockInEditors
    .optional()
    .describe(
      'A file with the reviewed definitions of the servers, or an object; see docs/rules.md#lock-server-definitions. A mistake in it makes the file unusable.',
    )
    .meta({ reload: 'live' }),
  audit: auditInEditors
    .optional()
    .meta({
      description:
        'The audit log, with a line for each call, session, question, refused request and reload: its destination, or an object. See docs/security.md#what-is-logged.',
      default: 'off',
    })
    .meta({ reload: 'restart' }),
  metrics: metricsInEditors
    .optional()
    .describe('Metrics at `/metrics`; `false` turns them off. See docs/observability.md#metrics.')
    .meta({ reload: 'restart' }),
  tracing: tracingInEditors
    .optional()
    .describe(
      'Traces: an object, or `env` for the environment variables of OpenTelemetry; off if absent. See docs/observability.md#traces.',
    )
    .meta({ reload: 'restart' }),
  mcpServers: z
    .record(z.string().min(1), server)
    .describe('The servers behind the proxy, by name. Merged lists follow their order.'),
})
