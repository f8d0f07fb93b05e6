import { resolve } from 'node:path'
import type { Argv } from 'yargs'
import { configFile, readConfiguration } from './configuration.js'
import { serveHttp } from './faces.js'
import { listenOptions, resolveListen } from './listening.js'
import { stdioSnippet } from './snippets.js'
import { configOption, logLevelOption, type Verb } from './verb.js'

const options = (cli: Argv) =>
  cli
    .options({ config: configOption, ...listenOptions, 'log-level': logLevelOption })
    .example('mcp-proxy serve --config mcp.json', 'All servers of the file at http://127.0.0.1:8808/mcp')
    .example(
      'mcp-proxy serve --config mcp.json --port 0',
      'On any free port; the first line of stdout names it',
    )

type Flags = ReturnType<typeof options> extends Argv<infer T> ? T : never

/** Serves all servers of a configuration as one, over HTTP. */
export const serve: Verb<Flags> = {
  usage: 'serve',
  describe: 'Serve all servers of a configuration as one, over HTTP',
  options,
  async run(args) {
    const config = await readConfiguration(args.config)
    const listen = resolveListen(config.listen, args)
    const more = stdioSnippet('mcp-proxy', ['stdio', '--config', resolve(configFile(args.config))])
    return await serveHttp(
      { config: { ...config, listen }, level: args.logLevel ?? config.logLevel },
      { name: 'mcp-proxy', more },
    )
  },
}
