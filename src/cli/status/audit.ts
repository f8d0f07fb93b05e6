import { systemCode } from '../../kernel/faults.js'
import type { VerifyReport } from '../../telemetry/audit/verify.js'
import { count, print, printToStderr } from '../shared/output/output.js'
import { CliError, defineVerb, EXIT, jsonOption, textOption, type VerbGroup } from '../shared/verb.js'

const verify = defineVerb({
  usage: 'verify <files..>',
  describe: 'Check that no line of an audit log was edited, removed, repeated or moved',
  needs: 'the audit files, the oldest first',
  positionals: {
    files: {
      type: 'string',
      array: true,
      demandOption: true,
      describe: 'The files, the oldest first',
    },
  },
  flags: {
    head: textOption('A head that an earlier run printed; its line must still be there'),
    json: jsonOption,
  },
  examples: [
    ['mcp-proxy audit verify audit.jsonl', 'The breaks, and the head of each chain'],
    ['mcp-proxy audit verify audit.jsonl.1 audit.jsonl', 'Rotated files, the oldest first'],
    ['mcp-proxy audit verify audit.jsonl --head HASH', 'Also find lines that were cut off at the end'],
  ],
  async run({ files, head, json = false }) {
    const { verifyAudit } = await import('../../telemetry/audit/verify.js')
    const report = await verifyAudit(files, head).catch((thrown: unknown) => {
      const code = systemCode(thrown)
      if (code === undefined) throw thrown
      throw new CliError(EXIT.configuration, `cannot read the audit log (${code})`, {
        why: thrown instanceof Error ? thrown.message : undefined,
        fix: 'check the paths and the rights of the files',
      })
    })
    if (json) print(JSON.stringify({ version: 1, ...report }, null, 2))
    else show(report, head)
    return report.ok ? EXIT.ok : EXIT.negative
  },
})

const show = ({ files, lines, chains, breaks }: VerifyReport, head: string | undefined): void => {
  for (const { chain, from, to, head } of chains)
    print(`chain ${chain}, lines ${from} to ${to}, head ${head}`)
  for (const { file, line, what } of breaks) print(`broken ${file}:${line}: ${what}`)
  const found = [count(files, 'file'), count(lines, 'line'), count(chains.length, 'chain')]
  printToStderr(`${found.join(', ')}, ${count(breaks.length, 'break')}`)
  if (head === undefined) printToStderr(UNVERIFIED)
}

const UNVERIFIED =
  'not verified: whether whole runs or trailing lines were removed; store a head elsewhere and pass it with --head'

export const audit: VerbGroup = {
  usage: 'audit',
  describe: 'Check the audit log',
  verbs: [verify],
}
