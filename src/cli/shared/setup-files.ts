import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { packageFile } from '../../kernel/machine/package-file.js'
import { homeFolder } from '../../kernel/machine/who-am-i.js'
import type { ClientMachine } from '../../setup/clients/machine.js'
import type { Files } from '../../setup/files/revise.js'

export const setupMachine = (): ClientMachine => ({
  platform: process.platform,
  home: homeFolder(),
  cwd: process.cwd(),
  env: process.env,
})

/** Returns the state folder and the file access of `setup`. */
export const setupFiles = async (): Promise<{ readonly files: Files; readonly state: string }> => {
  const [{ systemDisk }, { stateDir }] = await Promise.all([
    import('../../setup/files/disk.js'),
    import('../../state/state-key.js'),
  ])
  const state = stateDir(process.env)
  return { files: { disk: systemDisk, backups: join(state, 'backups') }, state }
}

/** Returns the programs that clients' entries start. */
export const ownScripts = (): readonly string[] =>
  ['bin/mcp-proxy.js', 'bin/connect.cjs'].map(file => fileURLToPath(packageFile(file)))
