import type { Plan } from '../../setup/import/plan.js'
import type { Sources } from '../../setup/import/sources.js'
import type { OwnFile } from '../../setup/own-file.js'
import { configTarget } from '../shared/configuration.js'
import { count } from '../shared/output/output.js'
import { ownScripts, setupFiles, setupMachine } from '../shared/setup-files.js'

/** The servers found on this machine and the import plan for them. */
export interface Findings extends Sources {
  readonly own: OwnFile
  readonly plan: Plan
}

/** Import options that ask no questions. */
export const QUIET_SOURCES = {
  keepsSecrets: false,
  only: undefined,
  name: undefined,
  onConflict: () => Promise.resolve('rename' as const),
  askSecret: () => Promise.resolve(undefined),
}

/** Finds the servers of these clients, or of all; writes nothing. Rejects with a SetupError. */
export const findServers = async (config: string | undefined, ids?: readonly string[]): Promise<Findings> => {
  const [{ files }, { openOwnFile }, { readClients }, { planImport }, { CLIENTS }] = await Promise.all([
    setupFiles(),
    import('../../setup/own-file.js'),
    import('../../setup/import/sources.js'),
    import('../../setup/import/plan.js'),
    import('../../setup/clients/clients.js'),
  ])
  const machine = setupMachine()
  const own = await openOwnFile(files, configTarget(config), machine)
  const clients = ids && CLIENTS.filter(({ id }) => ids.includes(id))
  const found = await readClients({ machine, disk: files.disk, clients, project: undefined })
  const plan = await planImport(own, found.sources, { ...QUIET_SOURCES, scripts: ownScripts() })
  return { ...found, own, plan }
}

/** Returns the number of servers per client, without our own entries or empty clients. */
const countsIn = ({ sources, plan: { servers } }: Findings): ReadonlyMap<string, number> => {
  let at = 0
  const counts = sources.map(({ label, found }): readonly [string, number] => {
    const planned = servers.slice(at, at + found.length)
    at += found.length
    return [label, planned.filter(({ state }) => state !== 'own').length]
  })
  return new Map(counts.filter(([, found]) => found > 0))
}

/** Formats a part such as "Cursor 3 servers" for each client that has any. */
export const foundParts = (found: Findings): readonly string[] =>
  [...countsIn(found)].map(([label, number]) => `${label} ${count(number, 'server')}`)

/** Returns the number of servers in all clients, without our own entries. */
export const foundCount = (found: Findings): number =>
  [...countsIn(found).values()].reduce((sum, each) => sum + each, 0)
