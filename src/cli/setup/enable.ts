import { print, printToStderr } from '../shared/output/output.js'
import { askRunning, chooseRunning } from '../shared/running.js'
import { configOption, defineVerb, jsonOption } from '../shared/verb.js'
import { followedBy } from './followed.js'
import { openOwn, ownEntryOf } from './own-server.js'

const toggle = (isDisabled: boolean) => {
  const verb = isDisabled ? 'disable' : 'enable'
  return defineVerb({
    usage: `${verb} <server>`,
    needs: 'the name of a server',
    describe: isDisabled ? 'Disable a server and keep its entry' : 'Enable a disabled server',
    flags: { config: configOption, json: jsonOption },
    positionals: { server: { type: 'string', demandOption: true, describe: 'The server' } },
    examples: [
      [`mcp-proxy ${verb} github`, 'A running proxy follows'],
      [`mcp-proxy ${verb} github --config mcp.json`, 'In another configuration'],
      [`mcp-proxy ${isDisabled ? 'enable' : 'disable'} github`, 'Undoes it'],
    ],
    async run({ config, server: name, json = false }) {
      const { own, files } = await openOwn(config)
      const { toggled, writeOwnFile } = await import('../../setup/own-file.js')
      const isWritten = await writeOwnFile(files, own, toggled(name, ownEntryOf(own, name, verb), isDisabled))
      // Covers a server that was disabled only on the page: the file already enables it.
      if (!isDisabled && !isWritten) await enableRunning(own.file.state.path, name)
      if (json) print(JSON.stringify({ version: 1, name, disabled: isDisabled, changed: isWritten }))
      else printToStderr(`${name} is ${isWritten ? '' : 'already '}${verb}d`)
      return await followedBy(own.file.state.path)
    },
  })
}

const enableRunning = async (file: string, name: string): Promise<void> => {
  const { one } = await chooseRunning(file)
  if (one === undefined) return
  await askRunning(one, `/v1/servers/${encodeURIComponent(name)}/enable`, '{}').catch(() => undefined)
}

export const enable = toggle(false)
export const disable = toggle(true)
