import type { Client } from '../../../setup/clients/clients.js'
import { restrictionsOf, ruleAgainst } from '../../../setup/clients/tool-rules.js'
import type { Files } from '../../../setup/files/revise.js'
import type { Plan } from '../../../setup/import/plan.js'
import type { Source } from '../../../setup/import/sources.js'
import type { Place } from '../../../setup/install/install.js'
import type { OwnFile } from '../../../setup/own-file.js'
import { say } from '../../output/output.js'
import {
  type Candidate,
  type ClientMoves,
  movesIn,
  stayLines,
  type TakeOver,
} from '../../setup/client-moves.js'
import { askInput } from '../../setup/inputs.js'
import { setupFiles, thisMachine } from '../../setup/setup-files.js'

interface TakeOverContext {
  readonly files: Files
  readonly ownFile: OwnFile
  readonly own: { readonly scripts: readonly string[] }
}

/** Plans to import all servers of these files. Rejects with a SetupError. */
export const planTakeOver = async (
  places: readonly { readonly client: Client; readonly file: string }[],
  { files, ownFile, own }: TakeOverContext,
  isAsking: boolean,
  tell: (text: string) => void = say,
): Promise<TakeOver> => {
  const [{ planImport }, { readClientFile }, { writeOwnFile }] = await Promise.all([
    import('../../../setup/import/plan.js'),
    import('../../../setup/import/sources.js'),
    import('../../../setup/own-file.js'),
  ])
  const machine = thisMachine()
  const sources = await Promise.all(
    places.map(({ client, file }) => readClientFile({ machine, disk: files.disk }, client, file)),
  )
  const plan = await planImport(ownFile, sources, {
    keepsSecrets: false,
    only: undefined,
    name: undefined,
    scripts: own.scripts,
    onConflict: () => Promise.resolve('rename'),
    askSecret: isAsking ? askInput : () => Promise.resolve(undefined),
  })
  const added = plan.servers.filter(({ entry }) => entry !== undefined)
  for (const { name, notes } of added) for (const note of new Set(notes)) tell(`${name}: ${note}`)
  for (const name of plan.secrets.keys()) tell(`${name} goes to ${ownFile.secrets.path}`)
  const rules = new Map<string, Awaited<ReturnType<typeof ruleAgainst>>>()
  for (const { client } of places) rules.set(client.id, await ruleAgainst(files, machine, client.id))
  const candidates = candidatesOf(plan, sources, ownFile).map(each => ({
    ...each,
    why: each.why ?? rules.get(each.id)?.(each.name)?.why,
  }))
  return {
    candidates: file => candidates.flatMap(each => (each.file === file ? [each] : [])),
    imported: added.map(({ from, name, as = name }) => `${as} from ${from}`),
    carryOut: async () => {
      const changes = added.map(({ name, as = name, entry }) => ({ at: [], name: as, value: entry }))
      await writeOwnFile(files, ownFile, changes, plan.secrets)
    },
  }
}

/** The servers of a place that move, as far as that is known before they are started. */
export const movable =
  (takeOver: TakeOver) =>
  (place: Place): readonly string[] =>
    movesIn(place, takeOver, () => undefined).moved.map(({ name }) => name)

interface Proving {
  readonly config: string | undefined
  readonly isAsking: boolean
  /** The view that the client gets. */
  readonly view: string | undefined
}

/** A client's rules for tools do not cover search tools: the servers that they name stay. */
const withoutRestricted = async (moves: ClientMoves): Promise<ClientMoves> => {
  const { files } = await setupFiles()
  const rules = await restrictionsOf(files, thisMachine(), moves.place.client.id)
  const stays = moves.moved.flatMap(each => {
    const rule = rules?.on(each.name)
    const why = `its rule "${rule}" does not cover search tools; mcp-proxy init moves it with a view`
    return rule === undefined ? [] : [{ ...each, why }]
  })
  const moved = moves.moved.filter(({ name }) => rules?.on(name) === undefined)
  return { ...moves, moved, stays: [...moves.stays, ...stays] }
}

/**
 * Starts the imported servers that would move, and prints those that stay. Resolves with the names that move.
 * Rejects with a CliError.
 */
export const provenIn = async (
  places: readonly Place[],
  takeOver: TakeOver,
  { config, isAsking, view }: Proving,
): Promise<(place: Place) => readonly string[]> => {
  const [{ readUsable }, { startOnce, verdictOn }, { keepRules }] = await Promise.all([
    import('../../configuration.js'),
    import('../../setup/first-start.js'),
    import('../../setup/client-rules.js'),
  ])
  const { rulesOf, shownInAnyCase } = await import('../../../budget/expose-rules.js')
  const wanted = new Set(places.flatMap(({ file }) => takeOver.candidates(file).map(({ as }) => as)))
  const { config: loaded } = await readUsable(config)
  const servers = loaded.servers.filter(({ name }) => wanted.has(name))
  const waiting = loaded.waiting.filter(({ name }) => wanted.has(name))
  const verdict = verdictOn(await startOnce({ ...loaded, servers, waiting }))
  const rulesFor = rulesOf(loaded)
  const moves: ClientMoves[] = []
  for (const place of places) {
    const found = movesIn(place, takeOver, as => verdict(as, false))
    const isDirect = shownInAnyCase(rulesFor(place.client.id, view ?? ''))?.mode === 'direct'
    const safe = isDirect ? found : await withoutRestricted(found)
    moves.push(await keepRules(safe, { config, isAsking }))
  }
  for (const each of moves) for (const line of stayLines(each)) say(line)
  return place => moves.find(each => each.place === place)?.moved.map(({ name }) => name) ?? []
}

const candidatesOf = (
  { servers }: Plan,
  sources: readonly Source[],
  { servers: ours }: OwnFile,
): readonly (Candidate & { readonly file: string; readonly id: string })[] => {
  const entries = sources.flatMap(({ id, found }) => found.map(({ entry }) => ({ id, entry })))
  return servers.flatMap(({ name, file, state, as, entry, obstacles }, at) => {
    if (state === 'own') return []
    const { id = '', entry: { disabled, enabled } = {} } = entries[at] ?? {}
    const isOff = disabled === true || enabled === false
    const isOffHere = (entry ?? ours.get(as ?? ''))?.['disabled'] === true
    const off = isOff ? ['it is disabled'] : isOffHere ? ['it is disabled behind the proxy'] : []
    const [why] = as === undefined ? ['it has no name, or was left out'] : [...obstacles, ...off]
    return [{ id, name, file, as, isNew: entry !== undefined, why }]
  })
}
