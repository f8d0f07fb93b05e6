import { resolve } from 'node:path'
import type { LogLevel } from '../../config/types.js'
import type { ProxyEnvironment } from '../../control/environment/environment.js'
import { type ConfigClaim, claimConfig, type ServeMode } from '../shared/config-claim.js'
import { configFile, readUsable, type Usable } from '../shared/configuration.js'
import { type ListenFlags, listenOptions, resolveListen } from '../shared/listening.js'
import { printToStderr } from '../shared/output/output.js'
import { CliError, configOption, defineVerb, EXIT, logLevelOption } from '../shared/verb.js'
import { stdioSnippet } from './announcement.js'
import { serveNetwork } from './serving.js'

const NOWHERE =
  'the configuration leaves nothing to listen on: change "listen", or give --port NUMBER or --socket PATH'

const TOKEN_HINT =
  'Over HTTP each client sends its token: --header "Authorization: Bearer TOKEN" for Claude Code,\n' +
  '"headers": { "Authorization": "Bearer TOKEN" } in an entry of "mcpServers" or "servers".'

export const serve = defineVerb({
  usage: 'serve',
  isService: true,
  describe:
    'Serve all servers of a configuration as one, over HTTP (/mcp, /sse), WebSocket (/ws) and a socket',
  flags: {
    config: configOption,
    ...listenOptions,
    'log-level': logLevelOption,
    daemon: { type: 'boolean', hidden: true, describe: 'Run as the daemon that clients share' },
    keep: { type: 'boolean', hidden: true, describe: 'Keep running without clients' },
    service: { type: 'boolean', hidden: true, describe: 'A supervisor restarts it after a handover' },
  },
  examples: [
    ['mcp-proxy serve --config mcp.json', 'All servers of the file at http://127.0.0.1:8808/mcp'],
    ['mcp-proxy serve --config mcp.json --port 0', 'On any free port; the first line of stdout names it'],
    [
      'mcp-proxy serve --config mcp.json --socket ./mcp.sock',
      'On a unix domain socket too, for this user only',
    ],
  ],
  async run(args) {
    const file = resolve(configFile(args.config))
    const isKept = args.daemon === true || args.service === true
    // Replicas must be known before the claim.
    const loaded = isKept ? undefined : await load(args)
    const isReplica = loaded?.usable.config.cluster !== undefined
    const taken = await claimConfig(file, args, isReplica)
    if (taken === 'taken' && !isReplica) return EXIT.ok
    const claim = taken === 'taken' ? undefined : taken
    try {
      return await serveAt(file, args, { claim, ...(loaded ?? (await load(args))) })
    } finally {
      claim?.lock.release()
    }
  },
})

interface ServeFlags extends ListenFlags, ServeMode {
  readonly config?: string | undefined
  readonly logLevel?: LogLevel | undefined
}

interface Found {
  readonly environment: ProxyEnvironment
  readonly usable: Usable
}

const load = async ({ config, daemon, service }: ServeFlags): Promise<Found> => {
  const { ProxyEnvironment } = await import('../../control/environment/environment.js')
  const isPersons = daemon !== true && service !== true
  const environment = new ProxyEnvironment({ env: process.env, isPersons, tell: printToStderr })
  return { environment, usable: await readUsable(config, environment) }
}

const serveAt = async (
  file: string,
  args: ServeFlags,
  { environment, usable: loaded, claim }: Found & { readonly claim: ConfigClaim | undefined },
): Promise<number> => {
  const { config } = loaded
  const listen = resolveListen(config.listen, args, config.auth)
  const isAsked = config.listen.isGiven || args.host !== undefined || args.port !== undefined
  const isDaemon = claim?.isDaemon === true
  // A daemon that clients started opens no port unless asked.
  const http = listen.http && (isAsked || !isDaemon)
  if (!isDaemon && !http && listen.socket === undefined) {
    throw new CliError(EXIT.configuration, NOWHERE)
  }
  const hints = config.auth?.people.some(({ tokens }) => tokens.length > 0) === true ? [TOKEN_HINT] : []
  const more = [...hints, stdioSnippet('mcp-proxy', ['stdio', '--config', file])].join('\n\n')
  return await serveNetwork(
    {
      config: { ...config, listen: { ...listen, http } },
      level: args.logLevel ?? config.logLevel,
      verb: 'serve',
      source: { file, loaded, isLevelFixed: args.logLevel !== undefined },
      claim,
      environment,
    },
    { name: 'mcp-proxy', more },
  )
}
