import type { ProxyOptions } from '../../app/proxy.js'
import type { Reloader } from '../../app/reload.js'
import { Fault } from '../../kernel/faults.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import { setupFiles, setupMachine } from './setup-files.js'

/** Returns the switch of single tools for a running proxy: it edits the file, then reloads it. */
export const toolSwitchOf =
  (file: string, reloader: () => Reloader | undefined): NonNullable<ProxyOptions['switchTool']> =>
  async (tool, isEnabled) => {
    const [{ openOwnFile, writeOwnFile }, { toolSwitched }, { files }] = await Promise.all([
      import('../../setup/own-file.js'),
      import('../../setup/tool-switch.js'),
      setupFiles(),
    ])
    try {
      const own = await openOwnFile(files, file, setupMachine())
      const entry = own.servers.get(tool.server)
      if (entry === undefined) throw new Error(`${file} has no server "${tool.server}"`)
      const change = toolSwitched(tool, entry, isEnabled)
      if (change !== undefined && 'message' in change) throw new Error(change.message)
      await writeOwnFile(files, own, change === undefined ? [] : [change])
    } catch (thrown) {
      throw new Fault(
        'invalid-params',
        sanitizeLine(thrown instanceof Error ? thrown.message : String(thrown)),
      )
    }
    await reloader()?.reload()
    if (reloader()?.status.lastReload?.result === 'refused')
      throw new Fault('invalid-params', `${file} was changed, but has errors: run mcp-proxy check`)
  }
