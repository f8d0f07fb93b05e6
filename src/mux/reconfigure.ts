import { type Client, viewerOf } from '../model/links.js'
import type { ServerOptions } from '../peers/dial.js'
import type { Server } from '../peers/server.js'
import { lacksWorkspace } from '../peers/sharing.js'
import { startFor } from './clients/server-starter.js'
import type { RouterParts } from './compose.js'

export interface RouterChange {
  /** In their order. A server that stays is given by the very options object it was made with. */
  readonly servers: readonly ServerOptions[]
  /** Servers that stay but are shown to clients differently. */
  readonly reshown: ReadonlySet<ServerOptions>
  readonly drainMs: number
  readonly pageSize: number
  readonly startupWaitMs: number
}

/**
 * Replaces the set of servers. Servers that stay keep connections, lists and calls; removed ones are stopped
 * once their calls have ended; new ones are started if a client would have. Never rejects.
 */
export const reconfigure = async (change: RouterChange, parts: RouterParts): Promise<void> => {
  const { servers, reshown, drainMs, ...pace } = change
  const { pool, catalog, owners, starter, subscriptions } = parts
  const { joined, left } = pool.reload(servers)
  const successors = new Map(
    joined.flatMap(server => {
      const predecessor = left.find(({ name }) => name === server.name)
      return predecessor === undefined ? [] : [[server, predecessor] as const]
    }),
  )
  catalog.reload(pool.servers, {
    isExposureChanged: ({ options }) => reshown.has(options),
    successors,
    ...pace,
  })
  owners.reload()
  starter.reload(pace)
  const users = joined.flatMap(server =>
    usersOf(server, successors.get(server), parts).map(user => [server, user] as const),
  )
  const replaced = new Set(successors.values())
  const dismissals = left.map(server => {
    const connections = [...server.connections]
    const dismissal = pool.dismiss(server, drainMs)
    subscriptions.serverLeft(connections, replaced.has(server))
    return dismissal
  })
  for (const [server, user] of users) void startFor(server, user)
  await Promise.all(dismissals)
}

/** The clients to start a new server for: those of its predecessor, one per profile, or else any client. */
const usersOf = (
  server: Server,
  predecessor: Server | undefined,
  { catalog, clients }: RouterParts,
): readonly Client[] => {
  // Everybody who asks has one of its own.
  if (server.options.isPerPrincipal) return []
  const sees = (client: Client): boolean =>
    catalog.sees(viewerOf(client), server.options) && !lacksWorkspace(server.options, client)
  const users = [...(predecessor?.connections ?? [])].flatMap(({ clients }) => [...clients]).filter(sees)
  if (users.length > 0) return [...new Map(users.map(user => [server.profilesOf(user)[0], user])).values()]
  const anyone = [...clients.all].find(sees)
  return anyone === undefined || catalog.isCached(server, anyone) ? [] : [anyone]
}
