import { resolve } from 'node:path'
import type { ProxyOptions } from '../../app/proxy.js'
import type { ProxyEnvironment } from '../../control/environment/environment.js'
import { serverViewName } from '../../kernel/server-view.js'
import { configFile, readUsable } from '../shared/configuration.js'
import { printToStderr } from '../shared/output/output.js'
import { CliError, configOption, defineVerb, EXIT, logLevelOption, textOption } from '../shared/verb.js'
import { stdioSnippet } from './announcement.js'
import { loadParts, serveStdioCommand } from './serving.js'

export const stdio = defineVerb({
  usage: 'stdio',
  isService: true,
  describe: 'Serve all servers of a configuration as one, on stdin and stdout',
  flags: {
    config: configOption,
    view: textOption('The view that the client gets'),
    'log-level': logLevelOption,
    workspace: { ...textOption('The folder that the client works in'), hidden: true },
  },
  examples: [
    ['mcp-proxy stdio --config mcp.json', 'All servers of the file, for the client that starts this'],
    ['mcp-proxy stdio --log-level debug 2> log', 'With a debug log in a file'],
    ['mcp-proxy connect --config mcp.json', 'The same from a daemon that all clients share'],
  ],
  async run(args) {
    const [loaded] = await Promise.all([readUsable(args.config), loadParts()])
    const { config } = loaded
    const file = resolve(configFile(args.config))
    const hint = stdioSnippet('mcp-proxy', ['stdio', '--config', file])
    const source = { file, loaded, isLevelFixed: args.logLevel !== undefined }
    const { view, workspace } = args
    const names = ['default', ...config.views.map(({ name }) => name)]
    const isServer = config.servers.some(({ name }) => serverViewName(name) === view)
    if (view !== undefined && !isServer && !names.includes(view))
      throw new CliError(EXIT.usage, `there is no view ${view}; there are: ${[...new Set(names)].join(', ')}`)
    const level = args.logLevel ?? config.logLevel
    const programEnv = config.daemon.shellEnv ? shellEnvironment() : undefined
    return await serveStdioCommand(
      { config, level, verb: 'stdio', source, view, workspace, programEnv },
      hint,
    )
  },
})

/** Adds the login shell's PATH once a program is not found: desktop programs start us with a short one. */
const shellEnvironment = (): ProxyOptions['programEnv'] => {
  let environment: Promise<ProxyEnvironment> | undefined
  const load = async (): Promise<ProxyEnvironment> => {
    const { ProxyEnvironment } = await import('../../control/environment/environment.js')
    return new ProxyEnvironment({ env: process.env, isPersons: true, tell: printToStderr })
  }
  return async need => {
    if (need.isMissing === true) environment ??= load()
    return (await (await environment)?.forPrograms(need)) ?? process.env
  }
}
