import type { ApprovalsView } from '../../control/api/approvals.js'
import { escapeForeign } from '../../kernel/hidden-text.js'
import { arrayText, rawText, textOf, withMember } from '../../kernel/json/text.js'
import { print, printText } from '../shared/output/output.js'
import { askRunning, pidOption, theRunning } from '../shared/running.js'
import { CliError, configOption, defineVerb, EXIT, jsonOption } from '../shared/verb.js'

const flags = { config: configOption, pid: pidOption }

export const approvals = defineVerb({
  usage: 'approvals',
  describe: 'List the calls that wait for the approval of a person',
  flags: { ...flags, json: jsonOption },
  examples: [
    ['mcp-proxy approvals', 'The calls that wait, with their ids'],
    ['mcp-proxy approvals --json', 'For scripts, with the address of the page and all arguments'],
    ['mcp-proxy approvals --config team.json', 'The calls of a proxy with another configuration'],
  ],
  async run({ config, pid, json = false }) {
    const body = await askRunning(await theRunning(config, pid), '/v1/approvals')
    const view = JSON.parse(body) as ApprovalsView
    if (json) print(exactJson(view))
    else printText(shown(view).map(escapeForeign).join('\n'))
    return EXIT.ok
  },
})

const shown = ({ approvals: waiting }: ApprovalsView): readonly string[] =>
  waiting.length === 0
    ? ['no calls wait for approval']
    : waiting.flatMap(({ id, principal, server, name, argumentsText, rule, expiresAt }) => [
        `${id}: ${principal} calls ${JSON.stringify(name)} of ${server} (rule ${rule}), until ${expiresAt}`,
        argumentsText === null ? '  another person decides' : `  ${argumentsText}`,
      ])

/** Keeps repeated members and all digits, because a script may decide by the arguments. */
const exactJson = ({ version, approvals: waiting }: ApprovalsView): string => {
  const all = waiting.map(({ argumentsText, ...about }) =>
    withMember(textOf(about), 'arguments', rawText(argumentsText ?? 'null')),
  )
  return withMember(textOf({ version }), 'approvals', arrayText(all)).toString()
}

const deciding = (verb: 'approve' | 'deny', done: string, describe: string) =>
  defineVerb({
    usage: `${verb} <id>`,
    describe,
    needs: 'the id of an approval',
    flags: { ...flags, json: jsonOption },
    positionals: {
      id: { type: 'string', demandOption: true, describe: 'The id, as in mcp-proxy approvals' },
    },
    examples: [
      [`mcp-proxy ${verb} 33342e7b9a38b49b0b417feb9ddae786`, 'Decides as the user that the proxy runs as'],
      [`mcp-proxy ${verb} 33342e7b9a38b49b0b417feb9ddae786 --json`, 'For scripts'],
      [
        `mcp-proxy ${verb} 33342e7b9a38b49b0b417feb9ddae786 --config team.json`,
        'A call of the proxy with another configuration',
      ],
    ],
    async run({ id, config, pid, json = false }) {
      const target = `/v1/approvals/${encodeURIComponent(id)}/${verb}`
      const answer = await askRunning(await theRunning(config, pid), target, '{}')
      if ((JSON.parse(answer) as { readonly decided: boolean }).decided) {
        print(json ? JSON.stringify({ version: 1, id, decision: verb }) : done)
        return EXIT.ok
      }
      throw new CliError(EXIT.negative, 'no call waits for your approval under this id', {
        why: 'it is unknown, decided or expired, or another person decides',
        fix: 'mcp-proxy approvals',
      })
    },
  })

export const approveCall = deciding('approve', 'approved', 'Approve a call that waits for you')
export const denyCall = deciding('deny', 'denied', 'Refuse a call that waits for you')
