import { resolve } from 'node:path'
import { configFile, readUsable } from '../configuration.js'
import { stdioSnippet } from '../output/announcement.js'
import { loadParts, serveStdio } from '../serving.js'
import { configOption, defineVerb, logLevelOption } from '../verb.js'

export const stdio = defineVerb({
  usage: 'stdio',
  isService: true,
  describe: 'Serve all servers of a configuration as one, on stdin and stdout',
  flags: { config: configOption, 'log-level': logLevelOption },
  examples: [
    ['mcp-proxy stdio --config mcp.json', 'All servers of the file, for the client that starts this'],
  ],
  async run(args) {
    const [loaded] = await Promise.all([readUsable(args.config), loadParts()])
    const { config } = loaded
    const file = resolve(configFile(args.config))
    const hint = stdioSnippet('mcp-proxy', ['stdio', '--config', file])
    const source = { file, loaded, isLevelFixed: args.logLevel !== undefined }
    return await serveStdio({ config, level: args.logLevel ?? config.logLevel, verb: 'stdio', source }, hint)
  },
})
