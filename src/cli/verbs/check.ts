import type { Argv } from 'yargs'
import { formatProblem } from '../../config/file/problem.js'
import { redactServer, secretsOf } from '../../config/read/secrets.js'
import type { DisabledServer, ServerConfig, ServerTransport } from '../../config/types.js'
import { addSecrets, mask } from '../../kernel/mask.js'
import { configFile, loadFile } from '../configuration.js'
import { print, say } from '../output/output.js'
import { stdoutLook, tableText } from '../output/table.js'
import { configOption, EXIT, type Verb } from '../verb.js'

const flags = { config: configOption } as const

const options = (cli: Argv) =>
  cli
    .options(flags)
    .example('mcp-proxy check --config mcp.json', 'What is wrong with the file, and what it amounts to')

type Flags = ReturnType<typeof options> extends Argv<infer T> ? T : never

const HEADINGS = ['NAME', 'TRANSPORT', 'PREFIX', 'SHARING', 'COMMAND OR URL']

/** Checks a configuration without starting anything. */
export const check: Verb<Flags> = {
  usage: 'check',
  describe: 'Check a configuration: what is wrong, where, and how to mend it; starts nothing',
  flags,
  options,
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
    say(
      `${count(config?.servers.length ?? 0, 'server')}, ${count(errors, 'error')}, ${count(warnings, 'warning')}`,
    )
    return errors > 0 ? EXIT.negative : EXIT.ok
  },
}

const rowOf = (server: ServerConfig, prefix: string | undefined): string[] => {
  const { name, transport, sharing } = redactServer(server)
  return [name, transport.kind, prefix ?? '(none)', sharing, reachOf(transport)]
}

const reachOf = (transport: ServerTransport): string => {
  if (transport.kind === 'stdio') return [transport.command, ...transport.args].join(' ')
  return transport.kind === 'socket' ? transport.path : transport.url
}

const rowOfDisabled = ({ name, why }: DisabledServer): string[] => [name, `(${why})`, '', '', '']

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`
