import { z } from 'zod'
import { PROTOCOL_VERSIONS } from '../types.js'
import { access } from './auth.js'
import { serverLimits } from './limits.js'
import { oauth } from './oauth.js'
import { anyTexts, flag, glob, globs, limit, objectFix, text, texts, wait, whole } from './values.js'

export const timeouts = z.object(
  {
    connect: wait().optional().meta({
      description:
        'Maximum time for a server to start and answer `initialize`, including the installation of a package.',
      default: '60s',
    }),
    initialize: wait().optional().meta({
      description:
        'Maximum time for the answer to `initialize`, once the program runs or the address was reached; as `connect` if only that is set.',
      default: '60s',
    }),
    probe: wait().optional().meta({
      description:
        'Maximum time for a server to report its era. A program that does not answer is assumed to be `legacy`, an HTTP server to be unavailable.',
      default: '10s',
    }),
    list: wait().optional().meta({ description: 'Maximum time for one page of a list.', default: '15s' }),
    call: limit().optional().meta({
      description:
        'Maximum silence during a call; each progress notification restarts the timer. `off` for no limit.',
      default: '60s',
    }),
    total: limit().optional().meta({
      description: 'Maximum time for a whole call, whatever its progress. `off` for no limit.',
      default: '10m',
    }),
    tools: z
      .record(glob('export_*'), limit(), objectFix('{ "export_*": "5m" }'))
      .optional()
      .describe(
        'Maximum silence during calls of some tools, by patterns of the server’s own names, such as `{ "export_*": "5m" }`. The first match replaces `call`; `total` still applies.',
      ),
    ping: limit().optional().meta({
      description:
        'Silence of a server without requests in flight after which the proxy pings it. `off` never pings it.',
      default: '30s',
    }),
  },
  objectFix('{ "call": "5m" }'),
)

const restart = z.object(
  {
    first: wait().optional().meta({
      description:
        'Wait before a server that failed to start, or was lost before it answered any client, is started again; it doubles with each attempt. At least 100 ms.',
      default: '500ms',
    }),
    max: wait().optional().meta({ description: 'Maximum wait between two attempts.', default: '30s' }),
    failures: whole(1, 100).optional().meta({
      description:
        'Maximum consecutive failures within `window` before the server is given up: calls then fail at once, with the reason and the last lines of its stderr.',
      default: 5,
    }),
    window: wait()
      .optional()
      .meta({ description: 'The time in which `failures` are counted.', default: '60s' }),
    retry: wait().optional().meta({
      description:
        'Wait before a server that was given up is started once more, as long as a client uses it; a call also starts it, 5 s after the last attempt. At least 1 s.',
      default: '60s',
    }),
  },
  objectFix('{ "max": "10s" }'),
)

const override = z.object(
  {
    title: z.string({ error: 'Write a string.' }).optional().describe('Replaces the title of the tool.'),
    description: z
      .string({ error: 'Write a string.' })
      .optional()
      .describe('Replaces the description of the tool.'),
    annotations: z
      .record(z.string(), z.unknown(), objectFix('{ "readOnlyHint": true }'))
      .optional()
      .describe('Replaces members of the tool’s annotations, such as `readOnlyHint`; the others stay.'),
  },
  objectFix('{ "title": "Search" }'),
)

const NAME_FIX = 'Use 1 to 64 letters, digits, "_", "-" and "." for the new name.'

const tools = z.object(
  {
    allow: globs('get_*')
      .optional()
      .describe('Patterns of the tools to show, by the server’s own names; all if absent.'),
    deny: globs('get_*')
      .optional()
      .describe(
        'Patterns of the tools to hide; takes precedence over `allow`. A hidden tool cannot be called either.',
      ),
    rename: z
      .record(
        text('Write the server’s own name of a tool.'),
        z.string({ error: NAME_FIX }).regex(/^[A-Za-z0-9_.-]{1,64}$/, { error: NAME_FIX }),
        objectFix('{ "create_issue": "new_issue" }'),
      )
      .optional()
      .describe('Maps the server’s own names of tools to the names shown; the prefix is still added.'),
    override: z
      .record(
        text('Write the server’s own name of a tool.'),
        override,
        objectFix('{ "search": { "title": "Search" } }'),
      )
      .optional()
      .describe('Replaces titles, descriptions or annotations of tools, by the server’s own names.'),
  },
  objectFix('{ "deny": ["delete_*"] }'),
)

const PREFIX_FIX =
  'Use 1 to 24 letters, digits, "-" and "_", beginning with a letter, without "__" and not ending in "_"; or false.'

const VERSION_FIX = `Write one of ${PROTOCOL_VERSIONS.map(version => `"${version}"`).join(', ')}, or leave it out.`

const own = {
  prefix: z
    .union(
      [
        z
          .string({ error: PREFIX_FIX })
          .regex(/^(?!.*__)[A-Za-z](?:[A-Za-z0-9_-]{0,22}[A-Za-z0-9-])?$/, { error: PREFIX_FIX }),
        z.literal(false, { error: PREFIX_FIX }),
      ],
      { error: PREFIX_FIX },
    )
    .optional()
    .describe(
      'The part before `__` in the names of tools and prompts, and before `+` in URIs: 1 to 24 letters, digits, `-` and `_`, beginning with a letter, without `__`, not ending in `_`; derived from the server’s name if absent. `false` shows the server’s own names, except those that an earlier server has.',
    ),
  tools: tools.optional().describe('Filters and renames the tools of this server.'),
  tags: texts('Write a list of tags, such as ["web"].')
    .optional()
    .describe(
      'Tags by which views select this server (docs/views.md) and a search finds its tools (docs/search.md).',
    ),
  description: z
    .string({ error: 'Write a string, such as "{name} of the warehouse".' })
    .optional()
    .describe(
      'A description for tools that have none, with `{name}`, `{title}`, `{server}` and `{arguments}` replaced; see docs/search.md#tools-without-a-description.',
    ),
  access: access
    .optional()
    .describe(
      'The scopes that callers need to see this server and to call its tools; checked only with `auth`.',
    ),
  oauth: oauth.optional().meta({
    description:
      'How to sign in at a remote server that requires a login: `auto` discovers everything, an object sets details, `false` turns it off; see docs/configuration.md#logins. Not allowed together with an `Authorization` header.',
    default: 'auto',
  }),
  credentials: z
    .enum(['shared', 'per-principal'], { error: 'Write "shared" or "per-principal".' })
    .optional()
    .meta({
      description:
        'The login that is used at a remote server: one for all clients, or with `per-principal` one for each user, with separate connections and lists; see docs/configuration.md#per-user-logins.',
      default: 'shared',
    }),
  signInTool: flag().optional().meta({
    description: 'With `per-principal`, show users without a login a tool that leads to the sign-in page.',
    default: true,
  }),
  uris: z.enum(['prefix', 'preserve'], { error: 'Write "prefix" or "preserve".' }).optional().meta({
    description: '`prefix` adds the prefix to resource URIs, `preserve` passes them through unchanged.',
    default: 'prefix',
  }),
  sharing: z
    .enum(['principal', 'workspace', 'session', 'all'], {
      error: 'Write "principal", "workspace", "session" or "all".',
    })
    .optional()
    .describe(
      'The clients that share one connection: those of one user (`principal`, the default for `command`), those of one user in one folder (`workspace`), none (`session`, the default for `url`), or all (`all`); see docs/configuration.md#sharing.',
    ),
  start: z.enum(['lazy', 'eager'], { error: 'Write "lazy" or "eager".' }).optional().meta({
    description:
      '`lazy` starts the server when it is first needed, at the `initialize` of the first client, or at the first call to a known server; `eager` starts it with the proxy and keeps it running.',
    default: 'lazy',
  }),
  era: z
    .enum(['auto', 'modern', 'legacy'], { error: 'Write "auto", "modern" or "legacy".' })
    .optional()
    .meta({
      description:
        'The era of the protocol: `modern` for 2026-07-28, which has no sessions; `legacy` for the revisions with `initialize`; `auto` for the era of each client, if the server supports it. See docs/configuration.md#protocol-eras.',
      default: 'auto',
    }),
  protocolVersion: z
    .enum(PROTOCOL_VERSIONS, { error: VERSION_FIX })
    .optional()
    .describe(
      'The revision of the protocol to use, such as `2025-06-18`; this also determines the era. A legacy revision is offered in `initialize`, and the server may answer with another. Negotiated if absent.',
    ),
  timeouts: timeouts.optional().describe('Timeouts of this server.'),
  limits: serverLimits
    .optional()
    .describe('Limits of this server that differ from the top-level ones; see docs/limits.md.'),
  restart: restart.optional().describe('When a server that failed is started again.'),
  idleStop: limit().optional().meta({
    description:
      'How long a connection that no client uses stays open; `off` for ever. A program stops with its connection, and starts again when it is called.',
    default: '15m',
  }),
  replay: flag().optional().meta({
    description:
      'Call a tool with `readOnlyHint` or `idempotentHint` again if its call was lost while a user was being asked, for example because the proxy was restarted. Prompts and resources are always requested again.',
    default: false,
  }),
  serialize: flag().optional().meta({
    description:
      'Send the calls of clients that share a connection one after the other, so that each question reaches the right user; see docs/configuration.md#serialized-calls.',
    default: false,
  }),
  propagate: flag().optional().meta({
    description: 'Add the trace context to requests that are traced; see docs/observability.md#traces.',
    default: true,
  }),
  disabled: flag()
    .optional()
    .meta({ description: 'Leave this server out; the rest of its entry is ignored.', default: false }),
  enabled: flag().optional().meta({ description: 'The opposite of `disabled`.', default: true }),
}

const argsFix = 'Write a list of strings, such as ["-y", "some-server"]; put numbers in quotes too.'
const ENV_FIX = 'Write names and values, such as { "LANG": "C", "DEBUG": null }.'
const envName = 'Use a name that is not empty and holds no "=".'
const HEADER_FIX = 'Write header names and strings, such as { "Authorization": "Bearer ${TOKEN}" }.'
const headerName = "Use only letters, digits and the signs !#$%&'*+-.^_`|~ in the name of a header."
const URL_FIX =
  'Write the address of the server, such as "https://example.com/mcp" or "unix:///run/mcp.sock".'
const TYPE_FIX = 'Write "stdio", "http", "sse" or "ws", or leave it out.'

export const server = z.object(
  {
    command: text('Write the program to start, such as "npx"; its arguments go into "args".')
      .optional()
      .describe(
        'The program to start, without a shell; the proxy talks to it over stdin and stdout. A bare name is looked up in `PATH`, a path with a slash is relative to `cwd`, and a leading `~` is the home folder.',
      ),
    args: anyTexts(argsFix).optional().describe('The arguments of the program.'),
    env: z
      .record(
        z.string().regex(/^[^=\0]+$/, { error: envName }),
        z.union([z.string(), z.number(), z.boolean(), z.null()], { error: ENV_FIX }),
        { error: ENV_FIX },
      )
      .optional()
      .describe(
        'Environment variables, added to the few that a server inherits (docs/security.md#what-a-server-inherits). Numbers and booleans are used as they are written; `null` removes an inherited variable.',
      ),
    cwd: text('Write the path of a folder.')
      .optional()
      .describe(
        'The working folder of the program, relative to this file. If absent, the folder of this file; for a file in `~/.config/mcp-proxy` or the state folder, the home folder.',
      ),
    url: text(URL_FIX)
      .optional()
      .describe(
        'The address of a server that is already running: http, https, ws or wss; `unix:///path` for a unix domain socket, `pipe:///name` for a Windows named pipe.',
      ),
    serverUrl: text(URL_FIX).optional().describe('The same as `url`.'),
    httpUrl: text(URL_FIX).optional().describe('The same as `url`.'),
    headers: z
      .record(
        z.string().regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/, { error: headerName }),
        z.string({ error: HEADER_FIX }),
        { error: HEADER_FIX },
      )
      .optional()
      .describe(
        'HTTP headers to send with every request, or with the WebSocket handshake. Sockets have none.',
      ),
    type: z
      .enum(['stdio', 'http', 'streamable-http', 'streamableHttp', 'sse', 'ws', 'websocket'], {
        error: TYPE_FIX,
      })
      .optional()
      .describe('The transport; derived from the address if absent, see docs/configuration.md#transports.'),
    ...own,
    'x-mcp-proxy': z
      .object(own, objectFix('{ "sharing": "session" }'))
      .optional()
      .describe(
        'An object with keys of this table, for files that other programs read too; takes precedence over the same key outside.',
      ),
  },
  objectFix('{ "command": "npx", "args": ["-y", "some-server"] }'),
)
