import { searchRuleFor, viewsIn, type WantedView, writeViews } from '../../setup/client-views.js'
import type { ClientProgram } from '../../setup/clients/clients.js'
import { CLIENTS } from '../../setup/clients/clients.js'
import { restrictionsOf } from '../../setup/clients/tool-rules.js'
import type { InstallPlace, PlannedInstall } from '../../setup/install/install.js'
import type { OwnedInstall, Terms } from '../../setup/install/journal.js'
import { oneLineText, shortPath } from '../output/output.js'
import { planTakeOver } from '../verbs/setup/take-over.js'
import { type ClientMoves, movesIn, type StartVerdict, type TakeOver, takenBefore } from './client-moves.js'
import { keepRules } from './client-rules.js'
import { type Context, entryOf, installPlaceOf, oneByOne, usualTerms } from './installing.js'
import { setupMachine } from './setup-files.js'
import { type ClientShare, type ClientView, viewFor } from './view-plan.js'

/** The changes of one client's file, and what becomes of its servers. */
export interface ClientPlan extends ClientMoves {
  readonly plan: PlannedInstall
  readonly install: OwnedInstall['install'] | undefined
  /** The view by which it keeps seeing only its own servers; undefined if it sees all. */
  readonly view: ClientView | undefined
  /** How its entry starts or addresses us; a view in it is the user's. */
  readonly terms: Terms
  /** Whether it gets an entry although none of its servers moves. */
  readonly isAsked: boolean
}

export interface ClientsWish {
  /** Clients that the user has named. */
  readonly named: readonly string[]
  /** The servers of our file that were found in clients. */
  readonly found: readonly string[]
  /** Those of them that are new. */
  readonly fresh: ReadonlySet<string>
  readonly verdict: StartVerdict
  /** How the entries of these clients are to be, where the user has said that. */
  readonly terms?: Terms
}

/**
 * Plans to replace the servers of these clients by our entry, as far as they work behind the proxy. Clients
 * that have our entry already are planned too, if they would see new servers of others. Rejects with a
 * SetupError.
 */
export const planClients = async (
  places: readonly InstallPlace[],
  context: Context,
  wish: ClientsWish,
): Promise<readonly ClientPlan[]> => {
  const installs = (await context.journals.all()).filter(({ scope }) => scope === 'user')
  const clients = places.map(({ client }) => client)
  const others = installs.flatMap(({ client: id, install }): InstallPlace[] => {
    const client = clients.some(each => each.id === id) ? undefined : CLIENTS.find(each => each.id === id)
    return client === undefined ? [] : [{ client, scope: 'user', file: install.path }]
  })
  const takeOver = await planTakeOver(places, context, false, () => undefined)
  const drafts = await draftsOf({ places, others, installs }, takeOver, context, wish)
  return await replanned(drafts, context)
}

interface Where {
  readonly places: readonly InstallPlace[]
  /** Of clients that have our entry, and of which nothing else is wanted. */
  readonly others: readonly InstallPlace[]
  readonly installs: readonly OwnedInstall[]
}

type Draft = Omit<ClientPlan, 'plan'>

const draftsOf = async (
  { places, others, installs }: Where,
  takeOver: TakeOver,
  context: Context,
  { named, found, fresh, verdict, terms: asked }: ClientsWish,
): Promise<readonly Draft[]> => {
  const taken = await takenBefore(installs, context)
  const before = (owned: OwnedInstall): readonly string[] => taken(owned).map(({ as }) => as)
  const views = viewsIn(context.ownFile.file.value)
  const fromClients = new Set([
    ...found,
    ...fresh,
    ...installs.flatMap(before),
    ...[...views.values()].flatMap(names => names ?? []),
  ])
  const nothing: TakeOver = { ...takeOver, candidates: () => [] }
  const all = [
    ...places.map(place => ({ ...movesIn(place, takeOver, verdict), asked })),
    ...others.map(place => ({ ...movesIn(place, nothing, verdict), asked: undefined })),
  ]
  const drafts: Draft[] = []
  for (const { asked: terms, ...moves } of all) {
    const owned = installs.find(({ client }) => client === moves.place.client.id)
    const had = owned === undefined ? [] : before(owned)
    const isNamed = named.includes(moves.place.client.id)
    drafts.push(await draftOf(moves, { terms, owned, had, isNamed, fromClients, fresh, views }, context))
  }
  return drafts
}

interface DraftInput {
  readonly terms: ClientsWish['terms']
  readonly owned: OwnedInstall | undefined
  /** The servers that the client had before. */
  readonly had: readonly string[]
  readonly isNamed: boolean
  readonly fromClients: ReadonlySet<string>
  readonly fresh: ClientsWish['fresh']
  readonly views: ReturnType<typeof viewsIn>
}

const draftOf = async (
  each: ClientMoves,
  { terms, owned, had, isNamed, fromClients, fresh, views }: DraftInput,
  context: Context,
): Promise<Draft> => {
  const old = owned?.install
  const usersView = terms?.view ?? usersOwn(views, old?.view)
  const { moves, isDirect } = await restricted(each, { isInstalled: owned !== undefined, usersView }, context)
  const share: ClientShare = {
    client: each.place.client,
    isDirect,
    had: new Set([...moves.moved.map(({ as }) => as), ...had]),
    view: old?.view,
    isInstalled: owned !== undefined,
    isOpen: isNamed && moves.moved.length === 0,
  }
  const view = terms?.view === undefined ? viewFor(share, { fromClients, fresh, views }) : undefined
  const { via, url, project } = terms ?? old ?? usualTerms(context)
  const own = { terms: { via, url, view: usersView, project }, isAsked: terms !== undefined }
  return { ...moves, ...own, install: old, view }
}

/** Returns a view that the user wrote, and undefined for one of ours. */
const usersOwn = (views: ReturnType<typeof viewsIn>, name: string | undefined): string | undefined =>
  name !== undefined && views.get(name) === undefined ? name : undefined

/** Whether a client keeps its file as it is: an entry without any server would only be in the way. */
const isLeftAlone = ({ install, moved, stays, isAsked }: Draft): boolean =>
  !isAsked && install === undefined && moved.length === 0 && stays.length > 0

/**
 * Rules that a client has for tools do not cover calls through search tools. It sees its tools directly then;
 * where our file has another rule for it, the servers that its rules name stay.
 */
const restricted = async (
  moves: ClientMoves,
  { isInstalled, usersView }: { readonly isInstalled: boolean; readonly usersView: string | undefined },
  { files, ownFile }: Context,
): Promise<{ readonly moves: ClientMoves; readonly isDirect: boolean }> => {
  const { client } = moves.place
  const rules = await restrictionsOf(files, setupMachine(), client.id)
  const isNamed = (name: string): boolean => rules?.on(name) !== undefined
  const isOld = isInstalled && rules?.onProxy !== undefined
  if (rules === undefined || !(isOld || moves.moved.some(({ name }) => isNamed(name))))
    return { moves, isDirect: false }
  const search = searchRuleFor(ownFile.file.value, client.id, usersView)
  if (search === undefined) return { moves, isDirect: true }
  const why = (name: string): string =>
    `its rule "${rules.on(name)}" does not cover search tools; set "expose" to "direct" in ${search}`
  const stays = moves.moved.flatMap(each => (isNamed(each.name) ? [{ ...each, why: why(each.name) }] : []))
  const moved = moves.moved.filter(({ name }) => !isNamed(name))
  return { moves: { ...moves, moved, stays: [...moves.stays, ...stays] }, isDirect: isOld }
}

/** The same clients with their changes planned again. Rejects with a SetupError. */
export const replanned = async (
  drafts: readonly Draft[],
  context: Context,
): Promise<readonly ClientPlan[]> => {
  const { planInstall } = await import('../../setup/install/install.js')
  const plans = await oneByOne(
    drafts.map(draft => async () => {
      const { place, moved, view } = draft
      if (isLeftAlone(draft)) return unchanged(place)
      const terms = { ...draft.terms, view: draft.terms.view ?? view?.name }
      const entry = await entryOf(place.client, terms, context.programs)
      return await planInstall(context, place, { entry, terms, takes: moved.map(({ name }) => name) })
    }),
  )
  return drafts.flatMap((draft, at) => {
    const plan = plans[at]
    return plan === undefined ? [] : [{ ...draft, plan }]
  })
}

/** The same plans once the rules of clients have the new names; servers whose rules do not get them stay. */
export const withRules = async (
  plans: readonly ClientPlan[],
  context: Context,
  wish: Parameters<typeof keepRules>[1],
): Promise<readonly ClientPlan[]> => {
  const kept: ClientPlan[] = []
  for (const each of plans) kept.push(await keepRules(each, wish))
  return kept.every((each, at) => each === plans[at]) ? plans : await replanned(kept, context)
}

/** The same client with all servers, and without search tools if its rules need that. */
export const withAll = (each: ClientPlan): ClientPlan => ({
  ...each,
  view: each.view?.isDirect === true ? { ...each.view, without: [] } : undefined,
})

const unchanged = (place: InstallPlace): PlannedInstall => ({
  ...{ place, path: place.file, changes: [], lines: [] },
  isKept: () => Promise.resolve(true),
  carryOut: () => Promise.resolve(),
})

/** Rejects with a SetupError if the file of a client cannot be edited. */
export const checkEditable = async (client: ClientProgram, context: Context): Promise<void> => {
  const [{ planInstall }, { readClientFile }] = await Promise.all([
    import('../../setup/install/install.js'),
    import('../../setup/import/sources.js'),
  ])
  const place = await installPlaceOf(client, 'user', context)
  const machine = setupMachine()
  const { found } = await readClientFile({ machine, disk: context.files.disk }, client, place.file)
  const terms = usualTerms(context)
  const entry = await entryOf(client, terms, context.programs)
  await planInstall(context, place, { entry, terms, takes: found.map(({ name }) => name) })
}

/** Writes the views of these clients, and removes unused ones. Resolves with whether any changed. */
export const writeClientViews = async (
  plans: readonly ClientPlan[],
  { files, ownFile }: Context,
): Promise<boolean> => {
  const views = viewsIn(ownFile.file.value)
  const wanted = new Map<string, WantedView | undefined>()
  for (const each of plans) {
    if (isLeftAlone(each)) continue
    const { install, view } = each
    const old = install?.view
    if (old !== undefined && views.get(old) !== undefined) wanted.set(old, undefined)
    if (view !== undefined) wanted.set(view.name, view)
  }
  return await writeViews(files, ownFile.file.state.path, wanted)
}

/** Such as `Cursor: everything, linear → mcp-proxy (~/.cursor/mcp.json)`. */
export const clientLine = ({ moved, plan: { place, path } }: ClientPlan): string => {
  const names = moved.map(({ name }) => oneLineText(name)).join(', ')
  return `${place.client.label}: ${names === '' ? 'adds' : `${names} →`} mcp-proxy (${shortPath(path)})`
}
