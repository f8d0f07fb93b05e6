import type { WantedView } from '../../setup/client-views.js'
import type { ClientProgram } from '../../setup/clients/clients.js'

/** What one client had, and how our entry in it is. */
export interface ClientShare {
  readonly client: ClientProgram
  /** The names in our file of the servers that moved from it, now or before. */
  readonly had: ReadonlySet<string>
  /** The view of its entry. */
  readonly view: string | undefined
  /** Whether our entry is in its file already. */
  readonly isInstalled: boolean
  /** Whether it gets all servers: the user has named it, and it had none. */
  readonly isOpen: boolean
  /** Whether it has rules for tools, which search tools would get round. */
  readonly isDirect: boolean
}

interface Known {
  /** Servers that came from clients, now or before. */
  readonly fromClients: ReadonlySet<string>
  /** Those of them that are new. */
  readonly fresh: ReadonlySet<string>
  /** The views of our file: the servers that each leaves out; undefined for a user's own. */
  readonly views: ReadonlyMap<string, readonly string[] | undefined>
}

/** A client's view. */
export interface ClientView extends WantedView {
  readonly name: string
}

/**
 * The view by which a client keeps seeing only the servers that it had, of all that came from clients; all
 * clients see servers that the user adds to our file. Undefined if it needs none.
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

/** A user's own view may have the name of a client. */
const freeName = (id: string, views: Known['views']): string => {
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? id : `${id}-${count}`
    if (!views.has(name) || views.get(name) !== undefined) return name
  }
}
