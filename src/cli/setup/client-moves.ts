import type { InstallPlace } from '../../setup/install/install.js'
import type { OwnedInstall } from '../../setup/install/journal.js'
import { oneLineText } from '../shared/output/output.js'
import { wrappedText } from '../shared/output/wrap.js'
import type { Context } from './installing.js'

/** A server of a client's file that may move behind the proxy. */
export interface Candidate {
  /** Name in the client's file. */
  readonly name: string
  /** Name in our file; undefined if it is not there. */
  readonly as: string | undefined
  /** True if our file lacks it. */
  readonly isNew: boolean
  /** Reason why it stays in its client, as far as known before it starts. */
  readonly why: string | undefined
}

/** An import that removes servers from their clients. */
export interface TakeOver {
  /** Returns the servers of a client's file, except our own entry. */
  readonly candidates: (file: string) => readonly Candidate[]
  /** New servers, as `name from client`. */
  readonly imported: readonly string[]
  /** Writes our file. Rejects with a SetupError. */
  readonly carryOut: () => Promise<void>
}

/** Returns why a server of our file may not replace a client's server; undefined if it may. */
export type StartVerdict = (as: string, isNew: boolean) => string | typeof UNCHOSEN | undefined

/** The verdict on a server that the user did not choose. */
export const UNCHOSEN = { why: 'it was not chosen', isUnchosen: true } as const

/** Planned moves of one client's servers. */
export interface ClientMoves {
  readonly place: InstallPlace
  /** Servers that move behind the proxy. */
  readonly moved: readonly (Candidate & { readonly as: string })[]
  /** Servers that stay, with reasons. */
  readonly stays: readonly (Candidate & { readonly why: string; readonly isUnchosen?: boolean })[]
}

/** Splits a client's servers; only servers that were seen to work behind the proxy move. */
export const movesIn = (
  place: InstallPlace,
  { candidates }: TakeOver,
  verdict: StartVerdict,
): ClientMoves => {
  const moved: ClientMoves['moved'][number][] = []
  const stays: ClientMoves['stays'][number][] = []
  for (const each of candidates(place.file)) {
    const { as } = each
    const why = each.why ?? (as === undefined ? 'it was left out' : verdict(as, each.isNew))
    if (typeof why === 'object') stays.push({ ...each, ...why })
    else if (why !== undefined) stays.push({ ...each, why })
    else if (as !== undefined) moved.push({ ...each, as })
  }
  return { place, moved, stays }
}

/** A server that moved behind the proxy, with its names in the client's file and in ours. */
export interface Taken {
  readonly name: string
  readonly as: string
}

/** Returns the servers that installs removed from their clients, with their names there and in our file. */
export const takenBefore = async (
  installs: readonly OwnedInstall[],
  { ownFile, own }: Pick<Context, 'ownFile' | 'own'>,
): Promise<(owned: OwnedInstall) => readonly Taken[]> => {
  const [{ planImport }, { dialectOf }, { formatOf }, { QUIET_SOURCES }] = await Promise.all([
    import('../../setup/import/plan.js'),
    import('../../setup/import/sources.js'),
    import('../../setup/clients/formats.js'),
    import('./finding.js'),
  ])
  const found = new Map<OwnedInstall, readonly Taken[]>()
  for (const each of installs) {
    const { client, install } = each
    const entries = install.removed.flatMap(({ name, value }) =>
      typeof value === 'object' && value !== null && !Array.isArray(value) ? [{ name, entry: value }] : [],
    )
    const dialect = dialectOf(formatOf(client))
    const source = { id: client, label: client, file: install.path, found: entries, dialect }
    const { servers } = await planImport(ownFile, [source as never], {
      ...QUIET_SOURCES,
      scripts: own.scripts,
    })
    const names = servers.flatMap(({ name, state, as }) => {
      if (state === 'there' && as !== undefined) return [{ name, as }]
      return ownFile.servers.has(name) ? [{ name, as: name }] : []
    })
    found.set(each, names)
  }
  return owned => found.get(owned) ?? []
}

/** Formats lines such as `! weather stays in VS Code: WEATHER_KEY is missing`. */
export const stayLines = ({ stays, place }: ClientMoves): readonly string[] =>
  stays.map(({ name, why }) =>
    wrappedText(`! ${oneLineText(name)} stays in ${place.client.label}: ${oneLineText(why)}`),
  )
