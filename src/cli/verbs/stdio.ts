import { resolve } from 'node:path'
import type { Argv } from 'yargs'
import { configFile, readUsable } from '../configuration.js'
import { stdioSnippet } from '../output/announcement.js'
import { loadParts, serveStdio } from '../serving.js'
import { configOption, logLevelOption, type Verb } from '../verb.js'

const flags = { config: configOption, 'log-level': logLevelOption } as const

const options = (cli: Argv) =>
  cli
    .options(flags)
    .example('mcp-proxy stdio --config mcp.json', 'All servers of the file, for the client that starts this')

type Flags = ReturnType<typeof options> extends Argv<infer T> ? T : never

/** Serves all servers of a configuration as one to the client that started us. */
export const stdio: Verb<Flags> = {
  usage: 'stdio',
  isService: true,
  describe: 'Serve all servers of a configuration as one, on stdin and stdout',
  flags,
  options,
  async run(args) {
    const [loaded] = await Promise.all([readUsable(args.config), loadParts()])
    const { config } = loaded
    const file = resolve(configFile(args.config))
    const hint = stdioSnippet('mcp-proxy', ['stdio', '--config', file])
    const source = { file, loaded, isLevelFixed: args.logLevel !== undefined }
    return await serveStdio({ config, level: args.logLevel ?? config.logLevel, verb: 'stdio', source }, hint)
  },
}
