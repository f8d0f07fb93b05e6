import { suggest } from '../../config/schema/suggest.js'
import type { Files } from '../../setup/files/revise.js'
import type { ImportedEntry } from '../../setup/import/normalise.js'
import type { OwnFile } from '../../setup/own-file.js'
import { configTarget } from '../shared/configuration.js'
import { setupFiles, setupMachine } from '../shared/setup-files.js'
import { CliError, EXIT } from '../shared/verb.js'

export const openOwn = async (
  config: string | undefined,
): Promise<{ readonly own: OwnFile; readonly files: Files }> => {
  const [{ files }, { openOwnFile }] = await Promise.all([setupFiles(), import('../../setup/own-file.js')])
  return { own: await openOwnFile(files, configTarget(config), setupMachine()), files }
}

/** Returns a server's entry for `verb`. Throws a CliError for an unknown name. */
export const ownEntryOf = ({ servers, file }: OwnFile, name: string, verb: string): ImportedEntry => {
  const entry = servers.get(name)
  if (entry !== undefined) return entry
  const meant = suggest(name, [...servers.keys()])
  const hint = meant === undefined ? '' : `; did you mean ${meant}?`
  throw new CliError(EXIT.usage, `there is no server "${name}"${hint}`, {
    why: `${file.state.path} has ${[...servers.keys()].join(', ') || 'none'}`,
    fix: meant === undefined ? 'mcp-proxy check' : `mcp-proxy ${verb} ${meant}`,
  })
}
