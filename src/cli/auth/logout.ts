import { print, printToStderr } from '../shared/output/output.js'
import { configOption, defineVerb, EXIT, jsonOption } from '../shared/verb.js'
import { findServer, openStore } from './signing-in.js'

export const logout = defineVerb({
  usage: 'logout <server>',
  describe: 'Log out of a server: revoke its tokens if possible, and remove them',
  needs: 'the name or the address of a server',
  flags: {
    config: configOption,
    json: jsonOption,
    'forget-client': { type: 'boolean', describe: 'Remove the registration at the authorization server too' },
  },
  positionals: {
    server: { type: 'string', demandOption: true, describe: 'Its name, or its address' },
  },
  examples: [
    ['mcp-proxy auth logout linear', 'Revokes and removes its tokens'],
    ['mcp-proxy auth logout linear --config mcp.json', 'A server of another configuration'],
    ['mcp-proxy auth logout linear --forget-client', 'Registers again at the next login'],
  ],
  async run(args) {
    const { logOut } = await import('../../auth/store/logout.js')
    const { name, transport, settings, owner, store: kind } = await findServer(args.server, args.config)
    const store = await openStore(kind)
    const { wasSignedIn, isRevoked } = await logOut({
      ...{ server: name, url: transport.url, settings, owner, store, network: transport },
      forgetsClient: args.forgetClient === true,
    })
    if (args.json === true) print(JSON.stringify({ version: 1, name, wasSignedIn, isRevoked }))
    else print(wasSignedIn ? `${name}: signed out.` : `${name}: not signed in.`)
    if (!isRevoked)
      printToStderr(
        `The authorization server of ${name} did not revoke the tokens; they expire by themselves.`,
      )
    return EXIT.ok
  },
})
