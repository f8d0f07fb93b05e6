import { z } from 'zod'
import { DEFAULTS } from '../defaults.js'
import { PROTOCOL_VERSIONS } from '../types.js'
import { access } from './auth.js'
import { serverLimits } from './limits.js'
import { oauth } from './oauth.js'
import { flag, limit, objectMend, text, texts, wait, whole } from './values.js'

const GLOB_MEND = 'Use a pattern of 1 to 200 characters, such as "export_*".'

export const timeouts = z.object(
  {
    connect: wait().optional().meta({
      description:
        'Longest wait for a server to start and to answer initialize, including the installation of a package.',
      default: '60s',
    }),
    initialize: wait().optional().meta({
      description:
        'Longest wait for the answer to initialize, once the program runs or the address was reached; that of connect if absent.',
      default: '60s',
    }),
    probe: wait().optional().meta({
      description:
        'Longest wait for a server to say what it speaks, before it is taken for one of an older revision; over HTTP, for one that is not there.',
      default: '10s',
    }),
    list: wait().optional().meta({ description: 'Longest wait for one page of a list.', default: '15s' }),
    call: limit().optional().meta({
      description:
        'Longest silence during a call; each progress notification starts it anew. "off" for none.',
      default: '60s',
    }),
    total: limit().optional().meta({
      description: 'Longest time for a whole call, whatever its progress. "off" for none.',
      default: '10m',
    }),
    tools: z
      .record(
        z.string().regex(/^[\s\S]{1,200}$/, { error: GLOB_MEND }),
        limit(),
        objectMend('{ "export_*": "5m" }'),
      )
      .optional()
      .describe(
        'Longest silence during calls of some tools, by patterns of the server’s own names; the first pattern that matches applies, instead of "call".',
      ),
    ping: limit().optional().meta({
      description:
        'Longest silence of a server without requests to answer before it is pinged. "off" for none.',
      default: '30s',
    }),
  },
  objectMend('{ "call": "5m" }'),
)

const restart = z.object(
  {
    first: wait().optional().meta({
      description:
        'The first wait before a server that failed is started again; each further one is twice as long.',
      default: '500ms',
    }),
    max: wait().optional().meta({ description: 'The longest of these waits.', default: '30s' }),
    failures: whole(1, 100).optional().meta({
      description: 'So many failures within "window", with nobody served in between, and it is given up.',
      default: DEFAULTS.restart.failures,
    }),
    window: wait().optional().meta({ description: 'See "failures".', default: '60s' }),
    retry: wait().optional().meta({
      description: 'How long after it was given up it is tried once more, as long as somebody uses it.',
      default: '60s',
    }),
  },
  objectMend('{ "max": "10s" }'),
)

const override = z.object(
  {
    title: z
      .string({ error: 'Write a string.' })
      .optional()
      .describe('Title shown in place of the tool’s own.'),
    description: z
      .string({ error: 'Write a string.' })
      .optional()
      .describe('Description shown in place of the tool’s own.'),
    annotations: z
      .record(z.string(), z.unknown(), objectMend('{ "readOnlyHint": true }'))
      .optional()
      .describe('Members that replace those of the tool’s annotations, such as readOnlyHint.'),
  },
  objectMend('{ "title": "Search" }'),
)

const NAME_MEND = 'Use 1 to 64 letters, digits, "_", "-" and "." for the new name.'
const globsMend = 'Write a list of patterns, each of 1 to 200 characters, such as ["get_*"].'
const globs = () =>
  z.array(z.string({ error: globsMend }).min(1, { error: globsMend }).max(200, { error: globsMend }), {
    error: globsMend,
  })

const tools = z.object(
  {
    allow: globs()
      .optional()
      .describe(
        'Patterns of the tools to show, by the server’s own names; * stands for anything. All if absent.',
      ),
    deny: globs().optional().describe('Patterns of the tools to hide; wins over allow.'),
    rename: z
      .record(
        z.string(),
        z.string({ error: NAME_MEND }).regex(/^[A-Za-z0-9_.-]{1,64}$/, { error: NAME_MEND }),
        objectMend('{ "create_issue": "new_issue" }'),
      )
      .optional()
      .describe(
        'New names for tools: from the server’s own name to the name shown (the prefix is still added).',
      ),
    override: z
      .record(z.string(), override, objectMend('{ "search": { "title": "Search" } }'))
      .optional()
      .describe('Other titles, descriptions or annotations for tools, by the server’s own names.'),
  },
  objectMend('{ "deny": ["delete_*"] }'),
)

const PREFIX_MEND =
  'Use 1 to 24 letters, digits, "-" and "_", beginning with a letter, without "__" and not ending in "_"; or false.'

const VERSION_MEND = `Write one of ${PROTOCOL_VERSIONS.map(version => `"${version}"`).join(', ')}, or leave it out.`

const own = {
  prefix: z
    .union(
      [
        z
          .string({ error: PREFIX_MEND })
          .regex(/^(?!.*__)[A-Za-z](?:[A-Za-z0-9_-]{0,22}[A-Za-z0-9-])?$/, { error: PREFIX_MEND }),
        z.literal(false, { error: PREFIX_MEND }),
      ],
      { error: PREFIX_MEND },
    )
    .optional()
    .describe(
      'What stands before "__" in the names of this server’s tools and prompts; false for nothing. Derived from the server’s name if absent.',
    ),
  tools: tools.optional().describe('Which tools of this server are shown, and under which names.'),
  tags: texts('Write a list of tags, such as ["web"].')
    .optional()
    .describe('Words by which views name this server, and by which its tools are found.'),
  description: z
    .string({ error: 'Write a string, such as "{name} of the warehouse".' })
    .optional()
    .describe(
      'What the server is for; shown for tools that say nothing of themselves, with {name}, {title}, {server} and {arguments} replaced.',
    ),
  access: access
    .optional()
    .describe('Which scopes are needed to see this server and to call its tools; counts only with auth.'),
  oauth: oauth.optional().meta({
    description:
      'How to sign in at this server, if it asks for a login: found out (auto, true), as the object says, or not at all (false). Not beside an Authorization header.',
    default: DEFAULTS.login.oauth,
  }),
  credentials: z
    .enum(['shared', 'per-principal'], { error: 'Write "shared" or "per-principal".' })
    .optional()
    .meta({
      description:
        'Whose login is used at this server: one for all clients, or for each user of the proxy (auth) his own, with connections and lists of his own.',
      default: DEFAULTS.login.credentials,
    }),
  signInTool: flag().optional().meta({
    description:
      'With "per-principal": whether users without a login are shown a tool that leads them there.',
    default: DEFAULTS.login.signInTool,
  }),
  uris: z.enum(['prefix', 'preserve'], { error: 'Write "prefix" or "preserve".' }).optional().meta({
    description: 'Whether resource URIs get the server’s prefix or pass through unchanged.',
    default: DEFAULTS.uris,
  }),
  sharing: z
    .enum(['principal', 'workspace', 'session', 'all'], {
      error: 'Write "principal", "workspace", "session" or "all".',
    })
    .optional()
    .describe(
      'Who shares one connection to this server: the sessions of one user (principal, the default for command), those of them in the same folder (workspace), nobody (session, the default for url), or everybody (all; the server can then ask the client nothing).',
    ),
  start: z.enum(['lazy', 'eager'], { error: 'Write "lazy" or "eager".' }).optional().meta({
    description: 'Whether the server starts when it is first needed or with the proxy.',
    default: DEFAULTS.start,
  }),
  era: z
    .enum(['auto', 'modern', 'legacy'], { error: 'Write "auto", "modern" or "legacy".' })
    .optional()
    .meta({
      description:
        'What the server speaks: the stateless protocol since 2026-07-28 (modern), the one with initialize before it (legacy), or what each client speaks, as far as the server does (auto).',
      default: DEFAULTS.era,
    }),
  protocolVersion: z
    .enum(PROTOCOL_VERSIONS, { error: VERSION_MEND })
    .optional()
    .describe(
      'The revision of the protocol to speak with this server; one before 2026-07-28 is offered in initialize, and the server may counter with another. Negotiated if absent.',
    ),
  timeouts: timeouts.optional().describe('How long to wait for this server.'),
  limits: serverLimits.optional().describe('Bounds that are other for this server than for all.'),
  restart: restart.optional().describe('When this server is started again after it failed.'),
  idleStop: limit().optional().meta({
    description:
      'How long a connection that no client uses stays open; a program ends with it, and starts again when it is called. "off" for ever.',
    default: '15m',
  }),
  replay: flag().optional().meta({
    description:
      'Whether a tool that says that it only reads, or may be called twice (readOnlyHint, idempotentHint), is called again if its call was lost while a person was asked.',
    default: DEFAULTS.replay,
  }),
  serialize: flag().optional().meta({
    description:
      'Whether clients that share a connection to this server and can be asked something call it one after the other, so that its questions find their person.',
    default: DEFAULTS.serialize,
  }),
  propagate: flag().optional().meta({
    description: 'Whether requests to this server say which trace they belong to, where they are traced.',
    default: DEFAULTS.propagate,
  }),
  disabled: flag().optional().meta({ description: 'Leaves this server out.', default: false }),
  enabled: flag().optional().meta({ description: 'The opposite of disabled.', default: true }),
}

const argsMend = 'Write a list of strings, such as ["-y", "some-server"]; put numbers in quotes too.'
const ENV_MEND = 'Write names and values, such as { "LANG": "C", "DEBUG": null }.'
const envName = 'Use a name that is not empty and holds no "=".'
const HEADER_MEND = 'Write header names and strings, such as { "Authorization": "Bearer ${TOKEN}" }.'
const headerName = "Use only letters, digits and the signs !#$%&'*+-.^_`|~ in the name of a header."
const URL_MEND =
  'Write the address of the server, such as "https://example.com/mcp" or "unix:///run/mcp.sock".'
const TYPE_MEND = 'Write "stdio", "http", "sse" or "ws", or leave it out.'

export const server = z.object(
  {
    command: text('Write the program to start, such as "npx"; its arguments go into "args".')
      .optional()
      .describe('The program that is started and spoken to over its stdin and stdout.'),
    args: texts(argsMend).optional().describe('The arguments of the program, one string each.'),
    env: z
      .record(
        z.string().regex(/^[^=\0]+$/, { error: envName }),
        z.union([z.string(), z.number(), z.boolean(), z.null()], { error: ENV_MEND }),
        { error: ENV_MEND },
      )
      .optional()
      .describe('Environment variables of the program; null takes one away.'),
    cwd: text('Write the path of a folder.')
      .optional()
      .describe(
        'The folder in which the program runs, relative to this file; the folder of this file if absent.',
      ),
    url: text(URL_MEND)
      .optional()
      .describe(
        'The address of a server that runs already: http, https, ws or wss; unix:///path for a unix domain socket, pipe:///name for a named pipe.',
      ),
    serverUrl: text(URL_MEND).optional().describe('The same as url.'),
    httpUrl: text(URL_MEND).optional().describe('The same as url.'),
    headers: z
      .record(
        z.string().regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/, { error: headerName }),
        z.string({ error: HEADER_MEND }),
        { error: HEADER_MEND },
      )
      .optional()
      .describe(
        'HTTP headers that are sent with every request to url, or with the handshake of a WebSocket.',
      ),
    type: z
      .enum(['stdio', 'http', 'streamable-http', 'streamableHttp', 'sse', 'ws', 'websocket'], {
        error: TYPE_MEND,
      })
      .optional()
      .describe(
        'How the server is reached. If absent: command means stdio; an http address means Streamable HTTP first and then HTTP+SSE; other addresses say it themselves.',
      ),
    ...own,
    'x-mcp-proxy': z
      .object(own, objectMend('{ "sharing": "session" }'))
      .optional()
      .describe(
        'The keys that only this proxy knows, for files that other programs read too; wins over the same key outside.',
      ),
  },
  objectMend('{ "command": "npx", "args": ["-y", "some-server"] }'),
)
