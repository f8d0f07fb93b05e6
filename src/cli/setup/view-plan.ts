import type { WantedView } from '../../setup/client-views.js'
import type { ClientProgram } from '../../setup/clients/clients.js'

/** A client's previous servers and the state of our entry in it. */
export interface ClientShare {
  readonly client: ClientProgram
  /** Names in our file of the servers that moved from it, now or before. */
  readonly had: ReadonlySet<string>
  /** View of its entry. */
  readonly view: string | undefined
  /** True if its file already has our entry. */
  readonly isInstalled: boolean
  /** True if it gets all servers: the user named it, and it had none. */
  readonly isOpen: boolean
  /** True if it has rules for tools, which search tools would bypass. */
  readonly isDirect: boolean
}

interface Known {
  /** Servers that came from clients, now or before. */
  readonly fromClients: ReadonlySet<string>
  /** New servers among `fromClients`. */
  readonly fresh: ReadonlySet<string>
  /** Views of our file with the servers that each leaves out; undefined for a view that the user wrote. */
  readonly views: ReadonlyMap<string, readonly string[] | undefined>
}

export interface ClientView extends WantedView {
  readonly name: string
}

/**
 * Returns the view that keeps a client's list unchanged: of all servers that came from clients, it shows only
 * the client's own. All clients see servers that the user adds to our file. Undefined if the client needs no
 * view.
 */
export const viewFor = (
  { client, had, view, isInstalled, isOpen, isDirect }: ClientShare,
  { fromClients, fresh, views }: Known,
): ClientView | undefined => {
  const old = view === undefined ? undefined : views.get(view)
  const start = isInstalled ? (old ?? []) : isOpen ? [] : [...fromClients]
  const added = isOpen && !isInstalled ? [] : fresh
  const without = [...new Set([...start, ...added])].filter(name => !had.has(name))
  if (without.length === 0 && !isDirect) return undefined
  return { name: old === undefined ? freeName(client.id, views) : (view ?? client.id), without, isDirect }
}

/** Returns a free view name; the user's own view may have the client's name. */
const freeName = (id: string, views: Known['views']): string => {
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? id : `${id}-${count}`
    if (!views.has(name) || views.get(name) !== undefined) return name
  }
}
