import type { JsonText } from '../../kernel/json/text.js'
import type { Client } from '../../model/links.js'
import { LIST_NAMES, LISTS, type ListName } from '../../model/listing.js'
import type { ServerFacts } from '../../model/peer.js'
import type { Connection } from '../../peers/connection.js'
import type { ServerOptions } from '../../peers/dial.js'
import { profileOf } from '../../peers/sharing.js'
import type { Listed } from './listed.js'
import type { ServerView } from './server-view.js'

/** What a server said when it last ran: about itself, and its lists as it sent them, as far as they could be read. */
export interface Said {
  readonly facts: ServerFacts
  readonly lists: Partial<Readonly<Record<ListName, readonly JsonText[]>>>
}

/** That, for each profile of its clients (`profileOf`). */
export type Known = ReadonlyMap<string, Said>

/**
 * PORT. What outlives this process: with it a server is known before it runs. Implemented by `app/state/server-cache`. Nothing here
 * rejects or throws, and nothing waits for a disk but `recall`.
 */
export interface KnownServers {
  /** What is remembered of a server that is configured, and installed, exactly as it was then; undefined if nothing is. */
  recall(server: ServerOptions): Known | undefined
  /** A server runs as it is configured and installed at the moment: what is learnt from here on is about that. */
  met(server: ServerOptions): void
  /** A server's list was read. `known` is asked for when it is written down, which may be a moment later. */
  learnt(server: ServerOptions, known: () => Known): void
}

/** What a server said last to clients of one profile: what it is taken to say to the next one before it has. */
export interface Memory {
  /** Undefined if nothing is known but what another server listed, whose place it took. */
  facts: ServerFacts | undefined
  readonly lists: Partial<Record<ListName, Listed>>
  /** The lists that it answered with an error: there is nothing in them, and no reason to start it for them. */
  readonly refused: Set<ListName>
  /** Whether it comes from an earlier process, and nobody has seen since whether it still holds. */
  isRecalled: boolean
  /** Whether it is shown only until the server can be asked. */
  isDue: boolean
}

/** Profiles of one server; the one that was met first is forgotten first. */
const PROFILES_MAX = 16

/** Whether a server that says this about itself has a list at all. */
export const offers = ({ capabilities }: ServerFacts, list: ListName): boolean =>
  capabilities[LISTS[list].capability] !== undefined

/** What is known of servers without a connection, or before one was read. */
export class Remembered {
  readonly #known: KnownServers | undefined
  /** By profile. */
  readonly #memories = new WeakMap<ServerView, Map<string, Memory>>()

  constructor(known: KnownServers | undefined) {
    this.#known = known
  }

  /** What is taken to be so for a client; undefined if nothing is. */
  of(view: ServerView, client: Client): Memory | undefined {
    const memories = this.#by(view)
    const [own, other] = view.server.profilesOf(client)
    return memories.get(own) ?? memories.get(other)
  }

  /** What was last said on connections like this one. */
  on(view: ServerView, { share, serverRequests }: Connection): Memory | undefined {
    return this.#by(view).get(profileOf(share.capabilities, serverRequests))
  }

  /** What is taken to be so for anybody. */
  ofAny(view: ServerView): Memory | undefined {
    const [memory] = this.#by(view).values()
    return memory
  }

  /** A server introduced itself on a connection. */
  met(view: ServerView, connection: Connection): void {
    const { server, share, serverRequests, facts } = connection
    this.#known?.met(server)
    if (facts === undefined) return
    const memory = this.on(view, connection)
    if (memory !== undefined) Object.assign(memory, { facts, isRecalled: false, isDue: false })
    else {
      const memories = this.#by(view)
      const [oldest] = memories.keys()
      if (oldest !== undefined && memories.size >= PROFILES_MAX) memories.delete(oldest)
      memories.set(profileOf(share.capabilities, serverRequests), memoryWith(facts, {}))
    }
  }

  /** A list was read on a connection: what the next one of the profile will most likely have. */
  learnt(view: ServerView, connection: Connection, list: ListName, listed: Listed): void {
    this.#learn(view, connection, memory => {
      memory.lists[list] = listed
      memory.refused.delete(list)
    })
  }

  /** A list was asked for in vain. */
  refused(view: ServerView, connection: Connection, list: ListName): void {
    this.#learn(view, connection, memory => {
      if (memory.lists[list] === undefined) memory.refused.add(list)
    })
  }

  /** A server takes the place of another one, or is shown in another way: it is taken to list the same. */
  inherit(view: ServerView, from: ServerView): void {
    const isSame = view.server === from.server
    const memories = isSame ? this.#own(view) : this.#by(view)
    for (const [profile, memory] of this.#by(from)) {
      const lists = mapLists(memory, (list, { raw }) => view.show(list, raw))
      if (isSame) memories.set(profile, { ...memory, lists })
      // What it said itself when it last ran counts for more.
      else if (!memories.has(profile)) memories.set(profile, { ...memoryWith(undefined, lists), isDue: true })
    }
  }

  /** A server has been away for too long to be taken to list anything. */
  forget(view: ServerView): void {
    const memories = this.#by(view)
    for (const [profile, memory] of memories) {
      const lists = mapLists(memory, list => view.show(list, []))
      memories.set(profile, { ...memory, lists, isDue: true })
    }
  }

  #learn(view: ServerView, connection: Connection, act: (memory: Memory) => void): void {
    const memory = this.on(view, connection)
    if (memory === undefined) return
    act(memory)
    const memories = this.#by(view)
    this.#known?.learnt(connection.server, () => knownOf(memories))
  }

  #by(view: ServerView): Map<string, Memory> {
    const known = this.#memories.get(view)
    if (known !== undefined) return known
    const memories = this.#own(view)
    for (const [profile, said] of this.#known?.recall(view.server.options) ?? [])
      memories.set(profile, memoryOf(said, view))
    return memories
  }

  #own(view: ServerView): Map<string, Memory> {
    const memories = new Map<string, Memory>()
    this.#memories.set(view, memories)
    return memories
  }
}

const memoryWith = (facts: ServerFacts | undefined, lists: Memory['lists']): Memory => ({
  facts,
  lists,
  refused: new Set(),
  isRecalled: false,
  isDue: false,
})

const mapLists = (
  { lists }: Memory,
  other: (list: ListName, listed: Listed) => Listed,
): Partial<Record<ListName, Listed>> =>
  Object.fromEntries(
    LIST_NAMES.flatMap(list => {
      const listed = lists[list]
      return listed === undefined ? [] : [[list, other(list, listed)] as const]
    }),
  )

const memoryOf = ({ facts, lists }: Said, view: ServerView): Memory => {
  const shown = LIST_NAMES.flatMap(list => {
    const raw = offers(facts, list) ? lists[list] : []
    return raw === undefined ? [] : [[list, view.show(list, raw)] as const]
  })
  return { ...memoryWith(facts, Object.fromEntries(shown)), isRecalled: true }
}

/** What is to be remembered of a server: the lists that it has, for each profile. */
const knownOf = (memories: ReadonlyMap<string, Memory>): Known =>
  new Map(
    [...memories].flatMap(([profile, { facts, lists, refused }]) => {
      if (facts === undefined) return []
      const raw = LIST_NAMES.flatMap(list => {
        const items = refused.has(list) ? [] : lists[list]?.raw
        return items !== undefined && offers(facts, list) ? [[list, items] as const] : []
      })
      return [[profile, { facts, lists: Object.fromEntries(raw) }] as const]
    }),
  )
