import { formatProblem } from '../../config/file/problem.js'
import { redactServer, secretsOf } from '../../config/read/secrets.js'
import type { DisabledServer, ServerConfig, ServerTransport } from '../../config/types.js'
import { addSecrets, mask } from '../../kernel/mask.js'
import { configFile, loadFile } from '../configuration.js'
import { count, print, say } from '../output/output.js'
import { stdoutLook, tableText } from '../output/table.js'
import { configOption, defineVerb, EXIT } from '../verb.js'

const HEADINGS = ['NAME', 'TRANSPORT', 'PREFIX', 'SHARING', 'COMMAND OR URL']

export const check = defineVerb({
  usage: 'check',
  describe: 'Check a configuration: what is wrong, where, and how to mend it; starts nothing',
  flags: { config: configOption },
  examples: [
    ['mcp-proxy check --config mcp.json', 'What is wrong with the file, and which servers it configures'],
  ],
  async run(args) {
    const { prefixOf } = await import('../../app/server-registry.js')
    const { config, problems, disabled } = await loadFile(configFile(args.config))
    for (const problem of problems) print(formatProblem(problem))
    const rows = [
      ...(config?.servers ?? []).map(server => rowOf(server, prefixOf(server))),
      ...disabled.map(rowOfDisabled),
    ]
    if (config !== undefined) addSecrets(secretsOf(config))
    if (rows.length > 0) print(mask(tableText(HEADINGS, rows, stdoutLook())))
    const errors = problems.filter(({ severity }) => severity === 'error').length
    const warnings = problems.length - errors
    const servers = config?.servers.length ?? 0
    say(`${count(servers, 'server')}, ${count(errors, 'error')}, ${count(warnings, 'warning')}`)
    return errors > 0 ? EXIT.negative : EXIT.ok
  },
})

const rowOf = (server: ServerConfig, prefix: string | undefined): string[] => {
  const { name, transport, sharing } = redactServer(server)
  return [name, transport.kind, prefix ?? '(none)', sharing, reachOf(transport)]
}

const reachOf = (transport: ServerTransport): string => {
  if (transport.kind === 'stdio') return [transport.command, ...transport.args].join(' ')
  return transport.kind === 'socket' ? transport.path : transport.url
}

const rowOfDisabled = ({ name, why }: DisabledServer): string[] => [name, `(${why})`, '', '', '']
