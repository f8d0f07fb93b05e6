import { resolve } from 'node:path'
import { configFile, readUsable } from '../configuration.js'
import { listenOptions, resolveListen } from '../listening.js'
import { stdioSnippet } from '../output/announcement.js'
import { serveNetwork } from '../serving.js'
import { CliError, configOption, defineVerb, EXIT, logLevelOption } from '../verb.js'

const NOWHERE =
  'the configuration leaves nothing to listen on: change "listen", or give --port NUMBER or --socket PATH'

export const serve = defineVerb({
  usage: 'serve',
  isService: true,
  describe:
    'Serve all servers of a configuration as one, over HTTP (/mcp, /sse), WebSocket (/ws) and a socket',
  flags: { config: configOption, ...listenOptions, 'log-level': logLevelOption },
  examples: [
    ['mcp-proxy serve --config mcp.json', 'All servers of the file at http://127.0.0.1:8808/mcp'],
    ['mcp-proxy serve --config mcp.json --port 0', 'On any free port; the first line of stdout names it'],
    [
      'mcp-proxy serve --config mcp.json --socket ./mcp.sock',
      'On a unix domain socket too, for this user only',
    ],
  ],
  async run(args) {
    const loaded = await readUsable(args.config)
    const { config } = loaded
    const listen = resolveListen(config.listen, args)
    if (!listen.http && listen.socket === undefined) throw new CliError(EXIT.configuration, NOWHERE)
    const file = resolve(configFile(args.config))
    const more = stdioSnippet('mcp-proxy', ['stdio', '--config', file])
    return await serveNetwork(
      {
        config: { ...config, listen },
        level: args.logLevel ?? config.logLevel,
        verb: 'serve',
        source: { file, loaded, isLevelFixed: args.logLevel !== undefined },
      },
      { name: 'mcp-proxy', more },
    )
  },
})
