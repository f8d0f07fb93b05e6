import type { JsonText } from '../../kernel/json/text.js'
import type { Client } from '../../model/links.js'
import { LIST_NAMES, LISTS, type ListName } from '../../model/listing.js'
import type { ServerFacts } from '../../model/peer.js'
import type { Connection } from '../../peers/connection.js'
import { type DeclaredSet, NOTHING_DECLARED } from '../../peers/declared-sets.js'
import type { ServerOptions } from '../../peers/dial.js'
import { profileOf } from '../../peers/sharing.js'
import { hasSameContent, type Listed } from '../listed.js'
import type { ServerView } from './server-view.js'

/** A server's capabilities and lists from its last run, as far as they could be read. */
export interface ServerSnapshot {
  readonly facts: ServerFacts
  readonly lists: Partial<Readonly<Record<ListName, readonly JsonText[]>>>
}

/** A server's snapshots, by the profile of its clients (`profileOf`). */
export type CachedServer = ReadonlyMap<string, ServerSnapshot>

/** PORT. Stores server data between runs (`state/server-cache.ts`). Never throws. */
export interface ServerCache {
  /** Returns the cached data of a server, if its configuration and installation are unchanged. */
  load(server: ServerOptions): CachedServer | undefined
  /** Records the current configuration and installation of a running server; later updates belong to them. */
  reached(server: ServerOptions): void
  /** Records that a list was read. `known` is called at the time of writing, which may be a moment later. */
  update(server: ServerOptions, known: () => CachedServer): void
}

/** The last capabilities and lists for clients of one profile, assumed to hold for the next such client. */
export interface CachedProfile {
  /** Undefined if the lists come from a server that this one replaced. */
  facts: ServerFacts | undefined
  readonly lists: Partial<Record<ListName, Listed>>
  /** Lists that the server answered with an error; it is not started for them. */
  readonly refused: Set<ListName>
  /** Lists that this process has not read from the server. */
  readonly unread: Set<ListName>
  /** True if the data comes from an earlier process and the server was not reached since. */
  isFromDisk: boolean
  /** True if the data is shown only until the server can be asked. */
  isDue: boolean
}

const PROFILES_MAX = 16

/** A list of a connection, for clients with equal declarations. */
interface ListSource {
  readonly connection: Connection
  readonly list: ListName
  readonly declared: DeclaredSet
}

const keyOf = ({ share, serverRequests }: Connection, declared: DeclaredSet): string =>
  profileOf(share.capabilities, serverRequests, declared, share.headersKey)

export const offers = ({ capabilities }: ServerFacts, list: ListName): boolean =>
  capabilities[LISTS[list].capability] !== undefined

/** Keeps data of servers without a connection, or before their lists are read. */
export class ProfileCache {
  readonly #disk: ServerCache | undefined
  readonly #profiles = new WeakMap<ServerView, Map<string, CachedProfile>>()

  constructor(disk: ServerCache | undefined) {
    this.#disk = disk
  }

  of(view: ServerView, client: Client): CachedProfile | undefined {
    const profiles = this.#by(view)
    const [own, other] = view.server.profilesOf(client)
    return profiles.get(own) ?? profiles.get(other)
  }

  on(view: ServerView, connection: Connection, declared: DeclaredSet): CachedProfile | undefined {
    return this.#by(view).get(keyOf(connection, declared))
  }

  /** Returns the data of the oldest profile. */
  ofAny(view: ServerView): CachedProfile | undefined {
    const [profile] = this.#by(view).values()
    return profile
  }

  /** Records a server's capabilities from a new connection. */
  reached(view: ServerView, connection: Connection): void {
    const { server, facts, clients } = connection
    this.#disk?.reached(server)
    if (facts === undefined) return
    const sets = [...clients].map(client => connection.shares.declaredBy(client))
    const keys = (sets.length === 0 ? [NOTHING_DECLARED] : sets).map(set => keyOf(connection, set))
    for (const key of new Set(keys)) this.#reached(view, key, facts)
  }

  #reached(view: ServerView, key: string, facts: ServerFacts): void {
    const profiles = this.#by(view)
    const profile = profiles.get(key)
    if (profile !== undefined) Object.assign(profile, { facts, isFromDisk: false, isDue: false })
    else {
      const [oldest] = profiles.keys()
      if (oldest !== undefined && profiles.size >= PROFILES_MAX) profiles.delete(oldest)
      profiles.set(key, cachedProfile(facts, {}))
    }
  }

  /** Records a list that the next connection of the profile will most likely receive. */
  update(view: ServerView, state: ListSource, listed: Listed): void {
    const { list } = state
    this.#learn(view, state, profile => {
      profile.lists[list] = listed
      profile.refused.delete(list)
      profile.unread.delete(list)
    })
  }

  /** Accepts lists from another replica. Returns the lists that are new to clients without a connection. */
  learned(view: ServerView, known: CachedServer): readonly ListName[] {
    const profiles = this.#by(view)
    const changed = new Set<ListName>()
    for (const [key, snapshot] of known) {
      const before = profiles.get(key)
      if (before === undefined && profiles.size >= PROFILES_MAX) continue
      const now = fromSnapshot(snapshot, view)
      profiles.set(key, { ...now, isFromDisk: before?.isFromDisk ?? true })
      for (const list of LIST_NAMES)
        if (!hasSameContent(before?.lists[list], now.lists[list])) changed.add(list)
    }
    return [...changed]
  }

  refused(view: ServerView, state: ListSource): void {
    const { list } = state
    this.#learn(view, state, profile => {
      if (profile.lists[list] === undefined) profile.refused.add(list)
    })
  }

  /** Copies the data of a replaced or re-exposed server, whose successor is expected to list the same. */
  inherit(view: ServerView, from: ServerView): void {
    const isSame = view.server === from.server
    const profiles = isSame ? this.#own(view) : this.#by(view)
    for (const [key, profile] of this.#by(from)) {
      const lists = mapLists(profile, (list, { raw }) => view.show(list, raw, profile.facts))
      if (isSame) profiles.set(key, { ...profile, lists })
      // The server's own data from its last run takes precedence.
      else if (!profiles.has(key))
        profiles.set(key, { ...cachedProfile(undefined, lists), unread: new Set(LIST_NAMES), isDue: true })
    }
  }

  /** Empties the lists of a server that has been away for too long. */
  forget(view: ServerView): void {
    const profiles = this.#by(view)
    for (const [key, profile] of profiles) {
      const lists = mapLists(profile, list => view.show(list, []))
      profiles.set(key, { ...profile, lists, isDue: true })
    }
  }

  #learn(view: ServerView, source: ListSource, act: (profile: CachedProfile) => void): void {
    const { connection, declared } = source
    const { facts } = connection
    // The first client of a kind may have joined after the server was reached.
    if (facts !== undefined && this.on(view, connection, declared) === undefined)
      this.#reached(view, keyOf(connection, declared), facts)
    const profile = this.on(view, connection, declared)
    if (profile === undefined) return
    act(profile)
    const profiles = this.#by(view)
    this.#disk?.update(connection.server, () => snapshotsOf(profiles))
  }

  #by(view: ServerView): Map<string, CachedProfile> {
    const known = this.#profiles.get(view)
    if (known !== undefined) return known
    const profiles = this.#own(view)
    for (const [key, snapshot] of this.#disk?.load(view.server.options) ?? [])
      profiles.set(key, fromSnapshot(snapshot, view))
    return profiles
  }

  #own(view: ServerView): Map<string, CachedProfile> {
    const profiles = new Map<string, CachedProfile>()
    this.#profiles.set(view, profiles)
    return profiles
  }
}

const cachedProfile = (facts: ServerFacts | undefined, lists: CachedProfile['lists']): CachedProfile => ({
  facts,
  lists,
  refused: new Set(),
  unread: new Set(),
  isFromDisk: false,
  isDue: false,
})

const collect = <T>(valueOf: (list: ListName) => T | undefined): Partial<Record<ListName, T>> =>
  Object.fromEntries(
    LIST_NAMES.flatMap(list => {
      const value = valueOf(list)
      return value === undefined ? [] : [[list, value] as const]
    }),
  )

const mapLists = ({ lists }: CachedProfile, change: (list: ListName, listed: Listed) => Listed) =>
  collect(list => {
    const listed = lists[list]
    return listed && change(list, listed)
  })

const fromSnapshot = ({ facts, lists }: ServerSnapshot, view: ServerView): CachedProfile => {
  const shown = collect(list => {
    const raw = offers(facts, list) ? lists[list] : []
    return raw && view.show(list, raw, facts)
  })
  return { ...cachedProfile(facts, shown), unread: new Set(LIST_NAMES), isFromDisk: true }
}

/** Returns the snapshot of each profile to write to disk, without refused lists. */
const snapshotsOf = (profiles: ReadonlyMap<string, CachedProfile>): CachedServer =>
  new Map(
    [...profiles].flatMap(([key, { facts, lists, refused }]) => {
      if (facts === undefined) return []
      const rawOf = (list: ListName) => (refused.has(list) ? [] : lists[list]?.raw)
      const raw = collect(list => (offers(facts, list) ? rawOf(list) : undefined))
      return [[key, { facts, lists: raw }] as const]
    }),
  )
