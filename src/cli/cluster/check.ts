import type { ClusterReport } from '../../app/cluster/check.js'
import { secretsOf } from '../../config/read/secrets.js'
import { addSecrets, mask } from '../../kernel/secrets/mask.js'
import { configFile, readConfiguration } from '../shared/configuration.js'
import { count, oneLineText, print, printText, printToStderr } from '../shared/output/output.js'
import { stdoutLayout, tableText } from '../shared/output/table.js'
import { CliError, configOption, defineVerb, EXIT, jsonOption } from '../shared/verb.js'

export const check = defineVerb({
  usage: 'check',
  describe: 'Check whether replicas can form a cluster: engine, keys and peer addresses; starts none',
  flags: { config: configOption, json: jsonOption },
  examples: [
    ['mcp-proxy cluster check --config mcp.json', 'Whether its replicas can form a cluster'],
    ['mcp-proxy cluster check && mcp-proxy serve', 'Start only if the check passes'],
    ['mcp-proxy cluster check --json | jq .findings', 'For programs'],
  ],
  async run({ config, json = false }) {
    const whole = await readConfiguration(config)
    const { cluster } = whole
    if (cluster === undefined)
      throw new CliError(EXIT.configuration, `${configFile(config)} has no "cluster"`, {
        why: 'without it, each proxy works on its own (docs/cluster.md)',
      })
    addSecrets(secretsOf(whole))
    const { checkConfigured } = await import('../../app/cluster/check.js')
    const report = await checkConfigured(cluster, whole)
    const errors = report.findings.filter(({ level }) => level === 'error').length
    if (json) print(mask(JSON.stringify({ version: 1, ok: errors === 0, ...report }, null, 2)))
    else show(report, errors)
    return errors > 0 ? EXIT.negative : EXIT.ok
  },
})

const LINE_CHARS = 400
const WORDS = { error: 'error', warn: 'warning', note: 'note' } as const

const show = ({ engine, members, findings }: ClusterReport, errors: number): void => {
  const line = (text: string): string => mask(oneLineText(text)).slice(0, LINE_CHARS)
  if (engine !== undefined) {
    const { name, version, roundTripMs, clockMs } = engine
    print(line(`engine ${name} ${version}, answers in ${roundTripMs} ms, clock ${clockMs} ms ahead of ours`))
  }
  const rows = members.map(({ id, address, state, version, link }) => [id, address, state, version, link])
  if (rows.length > 0)
    print(mask(tableText(['ID', 'ADDRESS', 'STATE', 'VERSION', 'LINK'], rows, stdoutLayout())))
  for (const { level, subject, message, fix } of findings)
    printText(line(`${WORDS[level]}  ${subject}: ${message}; ${fix}`))
  const warnings = findings.filter(({ level }) => level === 'warn').length
  printToStderr(
    `${count(members.length, 'replica')}, ${count(errors, 'error')}, ${count(warnings, 'warning')}`,
  )
}
