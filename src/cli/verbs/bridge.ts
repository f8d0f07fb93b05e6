import { resolve } from 'node:path'
import type { Argv } from 'yargs'
import { DEFAULTS, MAX_DURATION_MS } from '../../config/defaults.js'
import { durationMs } from '../../config/read/quantity.js'
import type { Era, ProxyConfig, ServerConfig } from '../../config/types.js'
import { listenOptions, resolveListen } from '../listening.js'
import { stdioSnippet, type Way } from '../output/announcement.js'
import { serveNetwork, serveStdio } from '../serving.js'
import { CliError, EXIT, logLevelOption, textOption, textsOption, type Verb } from '../verb.js'
import { bridgedName, commandTransport, FROM, urlTransport } from './bridged.js'

const TO = ['http', 'sse', 'ws', 'unix', 'stdio'] as const satisfies readonly (Way | 'stdio')[]

const ERAS = ['auto', 'modern', 'legacy'] as const satisfies readonly Era[]

const flags = {
  to: {
    choices: TO,
    default: 'http',
    requiresArg: true,
    describe:
      'Where clients find the server. http, sse and ws share one port and say which URL is told first; unix needs --socket; ' +
      'stdio is our stdin and stdout',
  },
  from: {
    choices: FROM,
    requiresArg: true,
    describe:
      'For a URL: how to speak to it. Without it, Streamable HTTP and then HTTP+SSE for http addresses',
  },
  era: {
    choices: ERAS,
    requiresArg: true,
    describe: 'What the server speaks: found out (auto, the default), 2026-07-28 (modern), or older (legacy)',
  },
  ...listenOptions,
  header: textsOption('For a URL: a header of every request, as "Name: value"; may be repeated'),
  'startup-wait': textOption(
    'How long initialize and lists wait while the server starts, such as 5s; as long as it may take to start if absent',
  ),
  env: textsOption('For a command: a variable of its environment, as KEY=VALUE; may be repeated'),
  'log-level': logLevelOption,
} as const

const options = (cli: Argv) =>
  cli
    .usage(
      '$0 bridge [options] -- COMMAND [ARG…]\n$0 bridge [options] URL\n\nPut one server behind another transport, as it is.',
    )
    .positional('url', {
      type: 'string',
      describe: 'The address of a server: http(s), ws(s), unix:///PATH or pipe:///NAME',
    })
    .options(flags)
    .example('mcp-proxy bridge -- npx -y @modelcontextprotocol/server-memory', 'A local server over HTTP')
    .example(
      'mcp-proxy bridge --port 0 -- node server.js --verbose',
      'What follows -- is the command, untouched',
    )
    .example('mcp-proxy bridge --to ws -- npx -y some-server', 'A local server over WebSocket')
    .example('mcp-proxy bridge --from sse http://localhost:3001/sse', 'An old server for newer clients')
    .example(
      'mcp-proxy bridge --to stdio https://example.com/mcp',
      'A remote server for a client that knows stdio',
    )
    .example(
      'mcp-proxy bridge --to stdio --header "Authorization: Bearer $TOKEN" https://example.com/mcp',
      '',
    )

type Flags = ReturnType<typeof options> extends Argv<infer T> ? T : never

/** Puts one server behind another transport; nothing of it is renamed. */
export const bridge: Verb<Flags> = {
  usage: 'bridge [url]',
  isService: true,
  describe: 'Put one server behind another transport, as it is: -- COMMAND [ARG…], or a URL',
  flags,
  options,
  async run(args, command) {
    checkCombination(args, command)
    const transport =
      command === undefined ? urlTransport(args.url ?? '', args) : commandTransport(command, args.env)
    const name = bridgedName(transport)
    const server: ServerConfig = {
      name,
      prefix: undefined,
      transport,
      tools: { allow: undefined, deny: [], rename: {}, override: {} },
      uris: 'preserve',
      sharing: transport.kind === 'stdio' ? DEFAULTS.sharing.stdio : DEFAULTS.sharing.url,
      start: DEFAULTS.start,
      era: args.era ?? DEFAULTS.era,
      protocolVersion: undefined,
      timeouts: DEFAULTS.timeouts,
      restart: DEFAULTS.restart,
      idleStopMs: DEFAULTS.idleStopMs,
      replay: DEFAULTS.replay,
      limits: {},
      serialize: DEFAULTS.serialize,
    }
    const config: ProxyConfig = {
      servers: [server],
      listen: resolveListen({ ...DEFAULTS.listen, http: hasPort(args.to) }, args),
      pageSize: DEFAULTS.pageSize,
      startupWaitMs: startupWaitOf(args.startupWait),
      drainMs: DEFAULTS.drainMs,
      knownServers: DEFAULTS.knownServers,
      limits: DEFAULTS.limits,
      audit: undefined,
      logLevel: DEFAULTS.logLevel,
      variables: [],
      stateKeys: [],
    }
    const served = {
      config,
      level: args.logLevel ?? DEFAULTS.logLevel,
      isAlone: true,
      verb: 'bridge' as const,
    }
    if (args.to === 'stdio') return await serveStdio(served, stdioSnippet(name, bridgeArgs(args, command)))
    return await serveNetwork(served, { name, first: args.to })
  },
}

/** There is nothing else to show while the only server starts. Throws a CliError for what is no duration. */
const startupWaitOf = (text: string | undefined): number => {
  if (text === undefined) return DEFAULTS.timeouts.connectMs
  const ms = durationMs(text)
  if (ms >= 0 && ms <= MAX_DURATION_MS) return ms
  throw new CliError(EXIT.usage, '--startup-wait needs a duration such as 500ms, 5s or 1m')
}

const hasPort = (to: BridgeFlags['to']): boolean => to === 'http' || to === 'sse' || to === 'ws'

/** Throws a CliError for what of a command line contradicts itself. */
const checkCombination = (args: BridgeFlags, command: readonly string[] | undefined): void => {
  const wrong =
    (command === undefined ? wrongWithUrl(args) : wrongWithCommand(args, command)) ?? wrongWithFace(args)
  if (wrong !== undefined) throw new CliError(EXIT.usage, wrong)
}

const wrongWithFace = (args: BridgeFlags): string | undefined => {
  const onlyPort = args.host ?? args.port ?? args.allowRemote ?? args.allowedHost
  if (!hasPort(args.to) && onlyPort !== undefined) {
    return `--host, --port and the like need --to http, sse or ws: ${args.to === 'stdio' ? 'stdio' : 'a socket'} has no port`
  }
  if (args.to === 'unix' && args.socket === undefined) return '--to unix needs --socket PATH'
  if (args.to === 'stdio' && args.socket !== undefined) return '--socket is for --to unix, http, sse or ws'
  return undefined
}

const WHICH =
  'which server? Write its command after --, as in: mcp-proxy bridge -- npx -y some-server; or give a URL'

const wrongWithUrl = ({ url, env }: BridgeFlags): string | undefined => {
  if (url === undefined) return WHICH
  return env === undefined ? undefined : '--env is for a command; a URL gets --header'
}

const wrongWithCommand = (
  { url, header, from }: BridgeFlags,
  [program]: readonly string[],
): string | undefined => {
  if (url !== undefined) return 'a URL and a command are two servers: give one of them'
  if (program === undefined || program === '') return WHICH
  if (from !== undefined) return '--from is for a URL; a command is spoken to over its stdin and stdout'
  return header === undefined ? undefined : '--header is for a URL; a command gets --env'
}

type BridgeFlags = Parameters<typeof resolveListen>[1] & {
  readonly to: (typeof TO)[number]
  readonly url?: string | undefined
  readonly from?: (typeof FROM)[number] | undefined
  readonly era?: Era | undefined
  readonly header?: readonly string[] | undefined
  readonly env?: readonly string[] | undefined
  readonly startupWait?: string | undefined
}

const bridgeArgs = (args: BridgeFlags, command: readonly string[] | undefined): string[] => [
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

/** A client starts us in a folder of its own. */
const absoluteIfPath = (word: string): string => (/^\.\.?[/\\]/.test(word) ? resolve(word) : word)
