import { print } from '../shared/output/output.js'
import { CliError, defineVerb, EXIT, jsonOption, textOption } from '../shared/verb.js'

export const approve = defineVerb({
  usage: 'approve <code>',
  describe: 'Approve a pending sign-in at the embedded authorization server',
  positionals: { code: { type: 'string', demandOption: true, describe: 'The code that its page shows' } },
  flags: {
    as: textOption('The name of a person of the configuration; needed if it has any'),
    json: jsonOption,
  },
  examples: [
    ['mcp-proxy auth approve K7QX2MPA', 'As the user that the proxy runs as, on its machine'],
    ['mcp-proxy auth approve K7QX2MPA --as alice', 'For a person of the configuration'],
    ['mcp-proxy auth approve k7qx-2mpa', 'Case and dashes do not matter'],
  ],
  async run({ code, as, json }) {
    const [{ approveSignIn: leave }, { stateDir }] = await Promise.all([
      import('../../auth/authorization-server/sign-in/approvals.js'),
      import('../../state/state-key.js'),
    ])
    const answer = await leave(stateDir(process.env), { code, as })
    if (answer?.isApproved === true) {
      const { words } = answer
      print(json === true ? JSON.stringify({ version: 1, approved: words }) : `approved: ${words}`)
      return EXIT.ok
    }
    throw new CliError(EXIT.negative, answer?.words ?? NOBODY)
  },
})

const NOBODY =
  'no proxy of this user has a sign-in with this code: codes expire after five minutes, and the fifth wrong code ends all sign-ins'
