import { resolve } from 'node:path'
import { DEFAULTS, MAX_DURATION_MS, plainDefaults } from '../../config/defaults.js'
import { mayHaveLogin } from '../../config/read/oauth.js'
import { durationMs } from '../../config/schema/duration.js'
import type { Era, ProxyConfig, ServerConfig } from '../../config/types.js'
import { proxyRulesOf } from '../../kernel/machine/forward-proxy.js'
import { listenOptions, resolveListen } from '../shared/listening.js'
import {
  CliError,
  defineVerb,
  EXIT,
  logLevelOption,
  textOption,
  textsOption,
  type VerbArguments,
} from '../shared/verb.js'
import { type ClientSnippet, stdioSnippet } from './announcement.js'
import { bridgedName, commandTransport, FROM, urlTransport } from './bridged.js'
import { serveNetwork, serveStdioCommand } from './serving.js'

const TO = ['http', 'sse', 'ws', 'unix', 'stdio'] as const satisfies readonly (ClientSnippet | 'stdio')[]

const ERAS = ['auto', 'modern', 'legacy'] as const satisfies readonly Era[]

const flags = {
  to: {
    choices: TO,
    default: 'http',
    requiresArg: true,
    describe:
      'How clients reach the server: http, sse and ws share one port, unix needs --socket, and stdio uses ' +
      'stdin and stdout. The chosen URL is printed first',
  },
  from: {
    choices: FROM,
    requiresArg: true,
    describe:
      'For a URL: its transport; otherwise http addresses are tried with Streamable HTTP, then HTTP+SSE',
  },
  era: {
    choices: ERAS,
    requiresArg: true,
    describe:
      'The revision of the server: 2026-07-28 (modern), older (legacy), or detected (auto, the default)',
  },
  ...listenOptions,
  header: textsOption(
    'For a URL: a header of every request, as "Name: value" with variables such as ${TOKEN}; may be repeated',
  ),
  'startup-wait': textOption(
    'How long initialize and lists wait for the server to start, such as 5s; without it as long as needed',
  ),
  env: textsOption('For a command: a variable of its environment, as KEY=VALUE; may be repeated'),
  'log-level': logLevelOption,
} as const

const positionals = {
  url: { type: 'string', describe: 'The address of a server: http(s), ws(s), unix:///PATH or pipe:///NAME' },
} as const

type Args = VerbArguments<typeof flags, typeof positionals>

export const bridge = defineVerb({
  usage: 'bridge [url]',
  isService: true,
  takesCommand: true,
  describe: 'Serve one server unchanged over another transport: -- COMMAND [ARG…], or a URL',
  synopsis:
    '$0 bridge [options] -- COMMAND [ARG…]\n$0 bridge [options] URL\n\n' +
    'Serve one server unchanged over another transport.',
  flags,
  positionals,
  examples: [
    ['mcp-proxy bridge -- npx -y @modelcontextprotocol/server-memory', 'A local server over HTTP'],
    ['mcp-proxy bridge --port 0 -- node server.js --verbose', 'Everything after -- is the command'],
    ['mcp-proxy bridge --to ws -- npx -y some-server', 'A local server over WebSocket'],
    ['mcp-proxy bridge --from sse http://localhost:3001/sse', 'An old server for newer clients'],
    ['mcp-proxy bridge --to stdio https://example.com/mcp', 'A remote server for a stdio client'],
    [
      "mcp-proxy bridge --to stdio --header 'Authorization: Bearer ${TOKEN}' https://example.com/mcp",
      'With a token from the environment',
    ],
  ],
  async run(args, command) {
    checkCombination(args, command)
    const transport =
      command === undefined ? urlTransport(args.url ?? '', args) : commandTransport(command, args.env)
    const name = bridgedName(transport)
    const server: ServerConfig = {
      ...DEFAULTS.server,
      name,
      transport,
      access: { see: [], call: [] },
      oauth: mayHaveLogin(transport) ? {} : undefined,
      tools: { allow: undefined, deny: [], rename: {}, override: {} },
      uris: 'preserve',
      sharing: transport.kind === 'stdio' ? DEFAULTS.sharing.stdio : DEFAULTS.sharing.url,
      era: args.era ?? DEFAULTS.server.era,
      timeouts: DEFAULTS.timeouts,
      restart: DEFAULTS.restart,
      limits: {},
    }
    const config: ProxyConfig = {
      ...plainDefaults('proxy'),
      ...plainDefaults('log'),
      ...plainDefaults('results'),
      daemon: DEFAULTS.daemon,
      limits: DEFAULTS.limits,
      servers: [server],
      waiting: [],
      proxy: proxyRulesOf(process.env),
      listen: resolveListen({ ...DEFAULTS.listen, http: hasPort(args.to) }, args),
      startupWaitMs: startupWaitOf(args.startupWait),
      metrics: { ...DEFAULTS.metrics, listen: undefined, token: undefined },
      tracing: undefined,
      views: [],
      clients: [],
      expose: { mode: 'direct' },
      auth: undefined,
      cluster: undefined,
      audit: undefined,
      variables: [],
      stateKeys: [],
    }
    const level = args.logLevel ?? DEFAULTS.logLevel
    const served = { config, level, isAlone: true, verb: 'bridge' as const }
    if (args.to === 'stdio')
      return await serveStdioCommand(served, stdioSnippet(name, bridgeArgs(args, command)))
    return await serveNetwork(served, { name, first: args.to })
  },
})

/** Defaults to the server's start timeout. Throws a CliError for an invalid duration. */
const startupWaitOf = (text: string | undefined): number => {
  if (text === undefined) return DEFAULTS.timeouts.connectMs
  const ms = durationMs(text)
  if (ms >= 0 && ms <= MAX_DURATION_MS) return ms
  throw new CliError(EXIT.usage, '--startup-wait needs a duration such as 500ms, 5s or 1m')
}

const hasPort = (to: Args['to']): boolean => to === 'http' || to === 'sse' || to === 'ws'

/** Throws a CliError for contradictory arguments. */
const checkCombination = (args: Args, command: readonly string[] | undefined): void => {
  const wrong =
    (command === undefined ? wrongWithUrl(args) : wrongWithCommand(args, command)) ?? wrongWithListening(args)
  if (wrong !== undefined) throw new CliError(EXIT.usage, wrong)
}

const wrongWithListening = (args: Args): string | undefined => {
  const onlyPort = args.host ?? args.port ?? args.allowRemote ?? args.allowedHost
  if (!hasPort(args.to) && onlyPort !== undefined) {
    const portless = args.to === 'stdio' ? 'stdio' : 'a socket'
    return `--host, --port and similar options need --to http, sse or ws: ${portless} does not use a port`
  }
  if (args.to === 'unix' && args.socket === undefined) return '--to unix needs --socket PATH'
  if (args.to === 'stdio' && args.socket !== undefined) return '--socket is for --to unix, http, sse or ws'
  return undefined
}

const WHICH =
  'which server? Write its command after --, as in: mcp-proxy bridge -- npx -y some-server; or give a URL'

const wrongWithUrl = ({ url, env }: Args): string | undefined => {
  if (url === undefined) return WHICH
  return env === undefined ? undefined : '--env is for a command; a URL gets --header'
}

const wrongWithCommand = ({ url, header, from }: Args, [program]: readonly string[]): string | undefined => {
  if (url !== undefined) return 'a URL and a command are two servers: give only one of them'
  if (program === undefined || program === '') return WHICH
  if (from !== undefined) return '--from is for a URL; a command is spoken to over its stdin and stdout'
  return header === undefined ? undefined : '--header is for a URL; a command gets --env'
}

const bridgeArgs = (args: Args, command: readonly string[] | undefined): string[] => [
  'bridge',
  '--to',
  'stdio',
  ...(args.from === undefined ? [] : ['--from', args.from]),
  ...(args.era === undefined ? [] : ['--era', args.era]),
  ...(args.startupWait === undefined ? [] : ['--startup-wait', args.startupWait]),
  ...(args.header ?? []).flatMap(header => ['--header', header]),
  ...(args.env ?? []).flatMap(pair => ['--env', pair]),
  ...(args.url === undefined ? [] : [args.url]),
  ...(command === undefined ? [] : ['--', ...command.map(absoluteIfPath)]),
]

/** Makes a relative path absolute, because a client starts us in another folder. */
const absoluteIfPath = (word: string): string => (/^\.\.?[/\\]/.test(word) ? resolve(word) : word)
