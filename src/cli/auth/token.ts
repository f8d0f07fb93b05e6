import { createPersonalToken, tokenHash } from '../../kernel/secrets/personal-token.js'
import { print } from '../shared/output/output.js'
import { CliError, defineVerb, EXIT, jsonOption } from '../shared/verb.js'

/** Names that the configuration schema accepts and that stay one word in principals and logs. */
const NAME = /^[^\s"\\]+$/

export const token = defineVerb({
  usage: 'token <name>',
  describe: 'Create an access token for a user or program, and print the configuration line',
  needs: 'the name of a user or program',
  synopsis:
    '$0 auth token NAME\n\nPrints a new token once; the configuration gets only its hash. Adding the line ' +
    'takes effect with a reload, and so does removing it.',
  flags: {
    page: { type: 'boolean', describe: 'A token for approval pages alone; no client can use it' },
    json: jsonOption,
  },
  positionals: {
    name: { type: 'string', demandOption: true, describe: 'The user or program that the token identifies' },
  },
  examples: [
    ['mcp-proxy auth token alice', 'A token for alice, and its configuration line'],
    ['mcp-proxy auth token build-server', 'One for a program'],
    ['mcp-proxy auth token alice --page', 'One to approve calls with in a browser'],
    ['mcp-proxy auth token alice --json', 'Both as one JSON document'],
  ],
  run({ name, page = false, json }) {
    if (!NAME.test(name)) throw new CliError(EXIT.usage, 'the name must be one word without quotes')
    const made = createPersonalToken()
    const hash = `sha256:${tokenHash(made)}`
    if (json === true) {
      print(JSON.stringify({ version: 1, name, token: made, hash, ...(page && { for: 'page' }) }))
      return Promise.resolve(EXIT.ok)
    }
    const people = `${JSON.stringify(name)}: { "tokens": [{ "hash": "${hash}"${page ? ', "for": "page"' : ''} }] }`
    print(`${made}   shown once; give it to ${name}`)
    print(`Add to the file:  "auth": { "people": { ${people} } }`)
    return Promise.resolve(EXIT.ok)
  },
})
