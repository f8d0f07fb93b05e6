import { z } from 'zod'
import { PROTOCOL_VERSIONS } from '../types.js'
import { access } from './auth.js'
import { serverLimits } from './limits.js'
import { network } from './network.js'
import { oauth } from './oauth.js'
import { restart, timeouts } from './timeouts.js'
import { anyTexts, flag, globs, limit, objectFix, plain, text, texts } from './values.js'

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
  prefix: plain(
    z.union(
      [
        z
          .string({ error: PREFIX_FIX })
          .regex(/^(?!.*__)[A-Za-z](?:[A-Za-z0-9_-]{0,22}[A-Za-z0-9-])?$/, { error: PREFIX_FIX }),
        z.literal(false, { error: PREFIX_FIX }),
      ],
      { error: PREFIX_FIX },
    ),
    {
      description:
        'The part before `__` in the names of tools and prompts, and before `+` in URIs; derived from the server’s name if absent. It has 1 to 24 letters, digits, `-` and `_`, begins with a letter, and neither contains `__` nor ends in `_`. `false` shows the server’s own names, except names that an earlier server uses.',
      reload: 'reshown',
    },
  ),
  tools: tools
    .optional()
    .describe('Filters and renames the tools of this server.')
    .meta({ reload: 'reshown' }),
  tags: plain(texts('Write a list of tags without spaces around them, such as ["web"].'), {
    description:
      'Tags by which views select this server (docs/views.md) and a search finds its tools (docs/search.md).',
    default: [],
    reload: 'reshown',
  }),
  description: plain(z.string({ error: 'Write a string, such as "{name} of the warehouse".' }), {
    description:
      'A description for tools that have none, with `{name}`, `{title}`, `{server}` and `{arguments}` replaced; see docs/search.md#tools-without-a-description.',
    reload: 'reshown',
  }),
  trustAnnotations: plain(flag(), {
    description:
      'Believe the annotations of this server in `rules`; `false` believes only those in `tools.override`.',
    default: true,
    reload: 'reshown',
  }),
  access: access
    .optional()
    .describe(
      'The scopes that callers need to see this server and to call its tools; checked only with `auth`.',
    )
    .meta({ reload: 'reshown' }),
  oauth: oauth
    .optional()
    .meta({
      description:
        'How to sign in at a remote server that requires a login: `auto` discovers everything, an object sets details, `false` turns it off; see docs/configuration.md#logins. Not allowed together with an `Authorization` header.',
      default: 'auto',
    })
    .meta({ reload: 'replaced' }),
  credentials: plain(z.enum(['shared', 'per-principal'], { error: 'Write "shared" or "per-principal".' }), {
    description:
      'The login used at a remote server: one for all clients (`shared`), or one for each user (`per-principal`), with separate connections and lists. See docs/configuration.md#per-user-logins.',
    default: 'shared',
    reload: 'replaced',
  }),
  signInTool: plain(flag(), {
    description: 'With `per-principal`, show users without a login a tool that leads to the sign-in page.',
    default: true,
    reload: 'replaced',
  }),
  ...network,
  uris: plain(z.enum(['prefix', 'preserve'], { error: 'Write "prefix" or "preserve".' }), {
    description: '`prefix` adds the prefix to resource URIs, `preserve` passes them through unchanged.',
    default: 'prefix',
    reload: 'reshown',
  }),
  sharing: z
    .enum(['principal', 'workspace', 'session', 'all'], {
      error: 'Write "principal", "workspace", "session" or "all".',
    })
    .optional()
    .describe(
      'The clients that share one connection. `principal`: all clients of a user (the default for `command`). `workspace`: all clients of a user in one folder. `session`: one client session (the default for `url`). `all`: all clients. See docs/configuration.md#sharing.',
    )
    .meta({ reload: 'replaced' }),
  start: plain(z.enum(['lazy', 'eager'], { error: 'Write "lazy" or "eager".' }), {
    description:
      '`lazy` starts the server when it is first needed: at the `initialize` of the first client, or at the first call to a known server. `eager` starts it with the proxy and keeps it running.',
    default: 'lazy',
    reload: 'retuned',
  }),
  era: plain(z.enum(['auto', 'modern', 'legacy'], { error: 'Write "auto", "modern" or "legacy".' }), {
    description:
      'The era of the protocol: `modern` for 2026-07-28, without sessions; `legacy` for the revisions with `initialize`. `auto` uses the era of each client, if the server supports it. See docs/configuration.md#protocol-eras.',
    default: 'auto',
    reload: 'replaced',
  }),
  protocolVersion: plain(z.enum(PROTOCOL_VERSIONS, { error: VERSION_FIX }), {
    description:
      'The revision of the protocol to use, such as `2025-06-18`; this also determines the era. A legacy revision is offered in `initialize`, and the server may answer with another. Negotiated if absent.',
    reload: 'replaced',
  }),
  timeouts: timeouts.optional().describe('Timeouts of this server.').meta({ reload: 'retuned' }),
  limits: serverLimits
    .optional()
    .describe('Limits of this server that differ from the top-level ones; see docs/limits.md.')
    .meta({ reload: 'retuned' }),
  restart: restart
    .optional()
    .describe('When a server that failed is started again.')
    .meta({ reload: 'retuned' }),
  idleStop: plain(limit(), {
    description:
      'How long a connection that no client uses stays open; `off` for ever. A program stops with its connection, and starts again when it is called.',
    default: '15m',
    reload: 'retuned',
  }),
  replay: plain(flag(), {
    description:
      'Call a tool with `readOnlyHint` or `idempotentHint` again if its call was lost while a user was being asked, for example because the proxy was restarted. Prompts and resources are always requested again.',
    default: false,
    reload: 'retuned',
  }),
  serialize: plain(flag(), {
    description:
      'Send the calls of clients that share a connection one after the other, so that each question reaches the right user; see docs/configuration.md#serialized-calls.',
    default: false,
    reload: 'retuned',
  }),
  propagate: plain(flag(), {
    description: 'Add the trace context to requests that are traced; see docs/observability.md#traces.',
    default: true,
    reload: 'retuned',
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
      )
      .meta({ as: 'transport', reload: 'replaced' }),
    args: anyTexts(argsFix)
      .optional()
      .describe('The arguments of the program.')
      .meta({ as: 'transport', reload: 'replaced' }),
    env: z
      .record(
        z.string().regex(/^[^=\0]+$/, { error: envName }),
        z.union([z.string(), z.number(), z.boolean(), z.null()], { error: ENV_FIX }),
        { error: ENV_FIX },
      )
      .optional()
      .describe(
        'Environment variables, added to the few that a server inherits (docs/security.md#what-a-server-inherits). Numbers and booleans are used as they are written; `null` removes an inherited variable.',
      )
      .meta({ as: 'transport', reload: 'replaced' }),
    envFile: text('Write the path of a file, such as ".env".')
      .optional()
      .describe(
        'A dotenv file with additional variables for the program, relative to this file; `env` takes precedence. `${NAME}` in a value is a variable of an earlier line or of the proxy. The file is read again when it or this file changes.',
      )
      .meta({ as: 'transport', reload: 'replaced' }),
    inheritEnv: flag()
      .optional()
      .describe(
        'Pass the whole environment of the proxy to the program, instead of the few variables that a server inherits. `env` and `envFile` take precedence.',
      )
      .meta({ as: 'transport', default: false, reload: 'replaced' }),
    cwd: text('Write the path of a folder.')
      .optional()
      .describe(
        'The working folder of the program, relative to this file. If absent, the folder of this file; for a file in `~/.config/mcp-proxy` or the state folder, the home folder.',
      )
      .meta({ as: 'transport', reload: 'replaced' }),
    url: text(URL_FIX)
      .optional()
      .describe(
        'The address of a server that is already running: http, https, ws or wss; `unix:///path` for a unix domain socket, `pipe:///name` for a Windows named pipe; append `#/mcp` for HTTP over them.',
      )
      .meta({ as: 'transport', reload: 'replaced' }),
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
        'HTTP headers to send with every request, or with the WebSocket handshake. Sockets need a path after `#` for them.',
      )
      .meta({ as: 'transport', reload: 'replaced' }),
    type: z
      .union([z.enum(['stdio', 'http', 'sse', 'ws'], { error: TYPE_FIX }), text(TYPE_FIX)], {
        error: TYPE_FIX,
      })
      .optional()
      .describe(
        'The transport; derived from the address if absent, see docs/configuration.md#transports. Other spellings, such as `streamable-http`, `websocket` and `local`, are accepted too.',
      )
      .meta({ as: 'transport', reload: 'replaced' }),
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
