import { print, printToStderr } from '../shared/output/output.js'
import { configOption, defineVerb, jsonOption } from '../shared/verb.js'
import { followedBy } from './followed.js'
import { openOwn, ownEntryOf } from './own-server.js'

export const remove = defineVerb({
  usage: 'remove <server>',
  needs: 'the name of a server',
  describe: 'Remove a server from the configuration and print its entry',
  flags: { config: configOption, json: jsonOption },
  positionals: { server: { type: 'string', demandOption: true, describe: 'The server' } },
  examples: [
    ['mcp-proxy remove github', 'A running proxy finishes its calls, then stops it'],
    ['mcp-proxy remove github --json', 'The entry as one JSON document'],
    ['mcp-proxy disable github', 'Keeps the entry'],
  ],
  async run({ config, server: name, json }) {
    const { own, files } = await openOwn(config)
    const [{ redacted }, { writeOwnFile }] = await Promise.all([
      import('../../setup/import/secrets.js'),
      import('../../setup/own-file.js'),
    ])
    const entry = redacted(ownEntryOf(own, name, 'remove'))
    await writeOwnFile(files, own, [{ at: [], name, value: undefined }])
    print(
      json === true
        ? JSON.stringify({ version: 1, name, entry })
        : JSON.stringify({ [name]: entry }, null, 2),
    )
    const used = new Set(JSON.stringify(entry).match(/(?<=\$\{)\w+(?=\})/g))
    const left = [...used].filter(variable => Object.hasOwn(own.variables, variable))
    if (left.length > 0) printToStderr(`${own.secrets.path} still has ${left.join(', ')}`)
    return await followedBy(own.file.state.path)
  },
})
