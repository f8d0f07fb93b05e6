import { durationMs } from '../../config/schema/duration.js'
import { print, printToStderr } from '../shared/output/output.js'
import { CliError, configOption, defineVerb, EXIT, jsonOption, textOption } from '../shared/verb.js'
import { findServer, signIn } from './signing-in.js'

export const login = defineVerb({
  usage: 'login <server>',
  describe: 'Sign in to a server; a running proxy uses the login at once',
  needs: 'the name or the address of a server',
  flags: {
    config: configOption,
    json: jsonOption,
    'no-browser': { type: 'boolean', describe: 'Print the address to open, and read the redirect address' },
    device: { type: 'boolean', describe: 'Sign in on another device with a code, if the server supports it' },
    timeout: { ...textOption('How long to wait for the user, such as 10m'), default: '5m' },
    'forget-client': { type: 'boolean', describe: 'Register this proxy again at the authorization server' },
  },
  positionals: {
    server: { type: 'string', demandOption: true, describe: 'Its name, or its address for bridge' },
  },
  examples: [
    ['mcp-proxy auth login linear --config mcp.json', 'Opens a browser'],
    ['mcp-proxy auth login notion --no-browser', 'On a machine without one'],
    ['mcp-proxy auth login https://mcp.example.com/mcp', 'For mcp-proxy bridge'],
  ],
  async run(args) {
    const timeoutMs = durationMs(args.timeout)
    if (!(timeoutMs > 0)) {
      throw new CliError(EXIT.usage, `--timeout must be a duration, such as 10m, not "${args.timeout}"`)
    }
    const server = await findServer(args.server, args.config)
    const { tokens } = await signIn(server, {
      usesBrowser: args.noBrowser !== true,
      wantsDevice: args.device === true,
      forgetsClient: args.forgetClient === true,
      timeoutMs,
      print: args.json === true ? printToStderr : print,
    })
    const { name } = server
    const { scopes: granted, refresh } = tokens ?? {}
    if (args.json === true) {
      print(JSON.stringify({ version: 1, name, scopes: granted, refreshes: refresh !== undefined }))
      return EXIT.ok
    }
    const scopes = granted === undefined ? '' : `, scopes ${granted.join(' ')}`
    const renewal = refresh === undefined ? '' : ', refreshes by itself'
    print(`${name}: signed in${scopes}${renewal}. A running proxy uses it now.`)
    return EXIT.ok
  },
})
