import type { ApprovalsView } from '../../control/api/approvals.js'
import { visibleText } from '../../kernel/secrets/plain-text.js'
import { print, printText } from '../shared/output/output.js'
import { askRunning, pidOption, theRunning } from '../shared/running.js'
import { CliError, configOption, defineVerb, EXIT, jsonOption } from '../shared/verb.js'

const flags = { config: configOption, pid: pidOption }

export const approvals = defineVerb({
  usage: 'approvals',
  describe: 'List the calls that wait for the approval of a person',
  flags: { ...flags, json: jsonOption },
  examples: [['mcp-proxy approvals', 'The calls, with the commands that decide about them']],
  async run({ config, pid, json = false }) {
    const body = await askRunning(await theRunning(config, pid), '/v1/approvals')
    const view = JSON.parse(body) as ApprovalsView
    if (json) print(JSON.stringify(view, null, 2))
    else printText(shown(view).map(visibleText).join('\n'))
    return EXIT.ok
  },
})

const shown = ({ approvals: waiting }: ApprovalsView): readonly string[] =>
  waiting.length === 0
    ? ['no calls wait for approval']
    : waiting.flatMap(({ id, principal, server, name, arguments: args, rule, expiresAt }) => [
        `${id}: ${principal} calls ${JSON.stringify(name)} of ${server} (rule ${rule}), until ${expiresAt}`,
        ...(args === null ? ['  another person decides'] : [`  ${JSON.stringify(args)}`]),
      ])

const deciding = (verb: 'approve' | 'deny', done: string, describe: string) =>
  defineVerb({
    usage: `${verb} <id>`,
    describe,
    needs: 'the id of an approval',
    flags,
    positionals: {
      id: { type: 'string', demandOption: true, describe: 'The id, as in mcp-proxy approvals' },
    },
    examples: [
      [`mcp-proxy ${verb} 0f3c9a1be47d4c5a8e21b6d07c9f1a35`, 'Decides as the user that the proxy runs as'],
    ],
    async run({ id, config, pid }) {
      const target = `/v1/approvals/${encodeURIComponent(id)}/${verb}`
      const answer = await askRunning(await theRunning(config, pid), target, '{}')
      if ((JSON.parse(answer) as { readonly decided: boolean }).decided) {
        print(done)
        return EXIT.ok
      }
      throw new CliError(EXIT.negative, NOT_YOURS)
    },
  })

const NOT_YOURS =
  'no call waits for your approval under this id: it is unknown, decided, expired, or another person decides; see mcp-proxy approvals'

export const approve = deciding('approve', 'approved', 'Approve a call that waits for you')
export const deny = deciding('deny', 'denied', 'Refuse a call that waits for you')
