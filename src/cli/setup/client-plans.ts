import { searchRuleFor, viewsIn, type WantedView, writeViews } from '../../setup/client-views.js'
import type { ClientProgram } from '../../setup/clients/clients.js'
import { CLIENTS } from '../../setup/clients/clients.js'
import { restrictionsOf } from '../../setup/clients/tool-rules.js'
import type { InstallPlace, PlannedInstall } from '../../setup/install/install.js'
import type { OwnedInstall, Terms } from '../../setup/install/journal.js'
import { oneLineText, shortPath } from '../shared/output/output.js'
import { setupMachine } from '../shared/setup-files.js'
import { type ClientMoves, movesIn, type StartVerdict, type TakeOver, takenBefore } from './client-moves.js'
import { keepRules } from './client-rules.js'
import { planTakeOver } from './import-and-replace.js'
import { type Context, defaultTerms, entryOf, installPlaceOf, oneByOne } from './installing.js'
import { type ClientShare, type ClientView, viewFor } from './view-plan.js'

/** Planned changes of one client's file and servers. */
export interface ClientPlan extends ClientMoves {
  readonly plan: PlannedInstall
  readonly install: OwnedInstall['install'] | undefined
  /** View that hides other clients' servers; undefined if the client sees all servers. */
  readonly view: ClientView | undefined
  /** Terms of its entry; a view in them was set by the user. */
  readonly terms: Terms
  /** True if it gets an entry although none of its servers moves. */
  readonly isAsked: boolean
}

export interface ClientsWish {
  /** Clients that the user named. */
  readonly named: readonly string[]
  /** Servers of our file that were found in clients. */
  readonly found: readonly string[]
  /** New servers among `found`. */
  readonly fresh: ReadonlySet<string>
  readonly verdict: StartVerdict
  /** Terms of these clients' entries, if the user set them. */
  readonly terms?: Terms
}

/**
 * Plans to replace these clients' servers with our entry, as far as they work behind the proxy. Also plans
 * clients that already have our entry if they would see other clients' new servers. Rejects with a
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
  /** Clients that have our entry and need no other change. */
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
  /** Servers that the client had before. */
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
  const { via, url, project } = terms ?? old ?? defaultTerms(context)
  const own = { terms: { via, url, view: usersView, project }, isAsked: terms !== undefined }
  return { ...moves, ...own, install: old, view }
}

/** Returns a view that the user wrote; undefined for a generated view. */
const usersOwn = (views: ReturnType<typeof viewsIn>, name: string | undefined): string | undefined =>
  name !== undefined && views.get(name) === undefined ? name : undefined

/** Returns whether a client's file stays unchanged; an entry without any server would be useless. */
const isLeftAlone = ({ install, moved, stays, isAsked }: Draft): boolean =>
  !isAsked && install === undefined && moved.length === 0 && stays.length > 0

/**
 * Search tools bypass a client's rules for tools, so such a client sees its tools directly. If our file has
 * another rule for the client, the servers that its rules name stay.
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

/** Plans the same clients' changes again. Rejects with a SetupError. */
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

/**
 * Returns the plans after the clients' rules got the new names; servers whose rules were not changed stay.
 */
export const withRules = async (
  plans: readonly ClientPlan[],
  context: Context,
  wish: Parameters<typeof keepRules>[1],
): Promise<readonly ClientPlan[]> => {
  const kept: ClientPlan[] = []
  for (const each of plans) kept.push(await keepRules(each, wish))
  return kept.every((each, at) => each === plans[at]) ? plans : await replanned(kept, context)
}

/** Returns the plan with all servers, and without search tools if the client's rules need that. */
export const withAll = (each: ClientPlan): ClientPlan => ({
  ...each,
  view: each.view?.isDirect === true ? { ...each.view, without: [] } : undefined,
})

const unchanged = (place: InstallPlace): PlannedInstall => ({
  ...{ place, path: place.file, changes: [], lines: [] },
  isKept: () => Promise.resolve(true),
  carryOut: () => Promise.resolve(),
})

/** Rejects with a SetupError if a client's file cannot be edited. */
export const checkEditable = async (client: ClientProgram, context: Context): Promise<void> => {
  const [{ planInstall }, { readClientFile }] = await Promise.all([
    import('../../setup/install/install.js'),
    import('../../setup/import/sources.js'),
  ])
  const place = await installPlaceOf(client, 'user', context)
  const machine = setupMachine()
  const { found } = await readClientFile({ machine, disk: context.files.disk }, client, place.file)
  const terms = defaultTerms(context)
  const entry = await entryOf(client, terms, context.programs)
  await planInstall(context, place, { entry, terms, takes: found.map(({ name }) => name) })
}

/** Writes these clients' views and removes unused ones. Resolves with whether any changed. */
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

/** Formats a line such as `Cursor: everything, linear → mcp-proxy (~/.cursor/mcp.json)`. */
export const clientLine = ({ moved, plan: { place, path } }: ClientPlan): string => {
  const names = moved.map(({ name }) => oneLineText(name)).join(', ')
  return `${place.client.label}: ${names === '' ? 'adds' : `${names} →`} mcp-proxy (${shortPath(path)})`
}
