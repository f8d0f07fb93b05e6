import type { InstallPlace, PlannedInstall } from '../../setup/install/install.js'
import type { Terms } from '../../setup/install/journal.js'
import { readUsable } from '../shared/configuration.js'
import { printToStderr } from '../shared/output/output.js'
import { stayLines, type TakeOver } from './client-moves.js'
import { type ClientPlan, planClients, withRules, writeClientViews } from './client-plans.js'
import { type Findings, findServers } from './finding.js'
import { startOnce, verdictOn } from './first-start.js'
import { planTakeOver } from './import-and-replace.js'
import type { Context } from './installing.js'

/**
 * Returns the planning options before servers move; other clients' servers stay hidden from these clients.
 */
const wishIn = (places: readonly InstallPlace[], takeOver: TakeOver, found: Findings) => {
  const candidates = places.flatMap(({ file }) => takeOver.candidates(file))
  return {
    // A client without servers sees all: the user named it to get some.
    named: places.flatMap(({ client, file }) => (takeOver.candidates(file).length === 0 ? [client.id] : [])),
    found: found.plan.servers.flatMap(({ as, state }) =>
      as !== undefined && (state === 'there' || state === 'restricted') ? [as] : [],
    ),
    fresh: new Set(candidates.flatMap(({ as, isNew }) => (isNew && as !== undefined ? [as] : []))),
    wanted: new Set(candidates.flatMap(({ as }) => as ?? [])),
  }
}

interface Replacing {
  readonly places: readonly InstallPlace[]
  readonly terms: Terms
  readonly config: string | undefined
  readonly isAsking: boolean
}

/** An import of clients' servers and the resulting changes of their files. */
export interface Replacement {
  readonly takeOver: TakeOver
  /** Changes of the files if all servers work. */
  readonly preview: readonly ClientPlan[]
  /**
   * Imports and starts the servers, prints the ones that stay, writes the clients' views and plans the rest.
   * Rejects with a SetupError or a CliError.
   */
  readonly prove: (reopened: () => Promise<Context>) => Promise<readonly PlannedInstall[]>
}

/** Plans to replace clients' servers; each client still sees only its own. Rejects with a SetupError. */
export const planReplacement = async (
  { places, terms, config, isAsking }: Replacing,
  context: Context,
): Promise<Replacement> => {
  const takeOver = await planTakeOver(places, context, isAsking)
  const { wanted, ...wish } = wishIn(places, takeOver, await findServers(config))
  const preview = await planClients(places, context, { ...wish, terms, verdict: () => undefined })
  const prove = async (reopened: () => Promise<Context>): Promise<readonly PlannedInstall[]> => {
    await takeOver.carryOut()
    const { config: loaded } = await readUsable(config)
    const servers = loaded.servers.filter(({ name }) => wanted.has(name))
    const waiting = loaded.waiting.filter(({ name }) => wanted.has(name))
    const verdict = verdictOn(await startOnce({ ...loaded, servers, waiting }))
    const now = await reopened()
    const planned = await planClients(places, now, { ...wish, terms, verdict })
    for (const each of planned) for (const line of stayLines(each)) printToStderr(line)
    const work = await withRules(planned, now, { config, isAsking })
    await writeClientViews(work, now)
    return work.map(({ plan }) => plan)
  }
  return { takeOver, preview, prove }
}
