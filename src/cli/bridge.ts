import { resolve } from 'node:path'
import type { Argv } from 'yargs'
import { DEFAULTS } from '../config/defaults.js'
import type { ProxyConfig, ServerConfig } from '../config/types.js'
import { bridgedName, commandTransport, urlTransport } from './bridged.js'
import { EXIT } from './exit-codes.js'
import { serveHttp, serveStdio } from './faces.js'
import { listenOptions, resolveListen } from './listening.js'
import { stdioSnippet } from './snippets.js'
import { CliError, logLevelOption, textsOption, type Verb } from './verb.js'

const options = (cli: Argv) =>
  cli
    .usage(
      '$0 bridge [options] -- COMMAND [ARG…]\n$0 bridge [options] URL\n\nPut one server behind another transport, as it is.',
    )
    .positional('url', { type: 'string', describe: 'The address of a remote server (Streamable HTTP)' })
    .options({
      to: {
        choices: ['http', 'stdio'],
        default: 'http',
        requiresArg: true,
        describe: 'Where clients find the server: over HTTP, or on our stdin and stdout',
      } as const,
      ...listenOptions,
      header: textsOption('For a URL: a header of every request, as "Name: value"; may be repeated'),
      env: textsOption('For a command: a variable of its environment, as KEY=VALUE; may be repeated'),
      'log-level': logLevelOption,
    })
    .example('mcp-proxy bridge -- npx -y @modelcontextprotocol/server-memory', 'A local server over HTTP')
    .example(
      'mcp-proxy bridge --port 0 -- node server.js --verbose',
      'What follows -- is the command, untouched',
    )
    .example(
      'mcp-proxy bridge --to stdio https://example.com/mcp',
      'A remote server for a client that knows stdio',
    )
    .example(
      'mcp-proxy bridge --to stdio --header "Authorization: Bearer $TOKEN" https://example.com/mcp',
      '',
    )

type Flags = ReturnType<typeof options> extends Argv<infer T> ? T : never

/** A list or a greeting may wait so long for the one server; hosts give up after 30 s and more. */
const STARTUP_WAIT_MS = 20_000

/** Puts one server behind another transport; nothing of it is renamed. */
export const bridge: Verb<Flags> = {
  usage: 'bridge [url]',
  describe: 'Put one server behind another transport, as it is: -- COMMAND [ARG…], or a URL',
  options,
  async run(args, command) {
    checkCombination(args, command)
    const transport =
      command === undefined ? urlTransport(args.url ?? '', args.header) : commandTransport(command, args.env)
    const name = bridgedName(transport)
    const server: ServerConfig = {
      name,
      prefix: undefined,
      transport,
      tools: { allow: undefined, deny: [], rename: {}, override: {} },
      uris: 'preserve',
      sharing: transport.kind === 'stdio' ? DEFAULTS.sharing.stdio : DEFAULTS.sharing.url,
      start: DEFAULTS.start,
      timeouts: DEFAULTS.timeouts,
    }
    const config: ProxyConfig = {
      servers: [server],
      listen: args.to === 'http' ? resolveListen(DEFAULTS.listen, args) : DEFAULTS.listen,
      pageSize: DEFAULTS.pageSize,
      startupWaitMs: STARTUP_WAIT_MS,
      logLevel: DEFAULTS.logLevel,
    }
    const served = { config, level: args.logLevel ?? DEFAULTS.logLevel, isAlone: true }
    if (args.to === 'http') return await serveHttp(served, { name })
    return await serveStdio(served, stdioSnippet(name, bridgeArgs(args, command)))
  },
}

/** Throws a CliError for what of a command line contradicts itself. */
const checkCombination = (args: BridgeFlags, command: readonly string[] | undefined): void => {
  const wrong = command === undefined ? wrongWithUrl(args) : wrongWithCommand(args, command)
  if (wrong !== undefined) throw new CliError(EXIT.usage, wrong)
  const onlyHttp = args.host ?? args.port ?? args.allowRemote ?? args.allowedHost
  if (args.to === 'stdio' && onlyHttp !== undefined) {
    throw new CliError(EXIT.usage, '--host, --port and the like need --to http: stdio has no address')
  }
}

const WHICH =
  'which server? Write its command after --, as in: mcp-proxy bridge -- npx -y some-server; or give a URL'

const wrongWithUrl = ({ url, env }: BridgeFlags): string | undefined => {
  if (url === undefined) return WHICH
  return env === undefined ? undefined : '--env is for a command; a URL gets --header'
}

const wrongWithCommand = ({ url, header }: BridgeFlags, [program]: readonly string[]): string | undefined => {
  if (url !== undefined) return 'a URL and a command are two servers: give one of them'
  if (program === undefined || program === '') return WHICH
  return header === undefined ? undefined : '--header is for a URL; a command gets --env'
}

type BridgeFlags = Parameters<typeof resolveListen>[1] & {
  readonly to: string
  readonly url?: string | undefined
  readonly header?: readonly string[] | undefined
  readonly env?: readonly string[] | undefined
}

const bridgeArgs = (args: BridgeFlags, command: readonly string[] | undefined): string[] => [
  'bridge',
  '--to',
  'stdio',
  ...(args.header ?? []).flatMap(header => ['--header', header]),
  ...(args.env ?? []).flatMap(pair => ['--env', pair]),
  ...(args.url === undefined ? [] : [args.url]),
  ...(command === undefined ? [] : ['--', ...command.map(absoluteIfPath)]),
]

/** A client starts us in a folder of its own. */
const absoluteIfPath = (word: string): string => (/^\.\.?[/\\]/.test(word) ? resolve(word) : word)
