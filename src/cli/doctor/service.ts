import { realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { ServiceFacts } from '../../doctor/facts.js'
import { packageFile } from '../../kernel/machine/package-file.js'
import { SetupError } from '../../setup/setup-error.js'
import { findService, isActive, lingers } from '../service/found.js'
import { missingIn } from '../service/status.js'
import { CliError } from '../shared/verb.js'

/** Returns our installed login service; undefined without one. */
export const readService = async (isOffline: boolean): Promise<ServiceFacts | undefined> => {
  const found = await foundService()
  if (found?.command === undefined) return undefined
  const { command, manager, name } = found
  const gone = missingIn(command)
  const [, script = ''] = command
  const ours = realpathSync(fileURLToPath(packageFile('bin/mcp-proxy.js')))
  const isOther = gone.length === 0 && realpathSync(script) !== ours
  const isDown = gone.length === 0 && !isOffline && !(await isActive(found))
  return {
    file: manager.file,
    wrong: [
      ...gone.map(path => `${path} is gone`),
      ...(isOther ? [`it runs ${script}, which is another installation`] : []),
      ...(isDown ? ['it does not run'] : []),
    ],
    isLingering: lingers(name),
    hasPort: command.includes('--port'),
  }
}

/** Reinstalls the service with its current port. */
export const reinstall = async (config: string | undefined): Promise<void> => {
  const { install } = await import('../service/manage.js')
  const command = (await foundService())?.command ?? []
  const at = command.indexOf('--port')
  const port = at === -1 ? undefined : command[at + 1]
  await install.run({ config, port, json: undefined, _: [], $0: '' }, undefined)
}

/** Returns undefined if the service manager is unknown, or its file is unreadable or another program's. */
const foundService = async () => {
  try {
    return await findService()
  } catch (thrown) {
    if (thrown instanceof CliError || thrown instanceof SetupError) return undefined
    throw thrown
  }
}
