import { type Client, viewerOf } from '../model/links.js'
import type { ServerOptions } from '../peers/dial.js'
import type { Server } from '../peers/server.js'
import { lacksWorkspace } from '../peers/sharing.js'
import { startFor } from './clients/server-starter.js'
import type { RouterParts } from './compose.js'

export interface RouterChange {
  /** The new servers in order. A remaining server has the same options object as before. */
  readonly servers: readonly ServerOptions[]
  /** Remaining servers with a changed exposure. */
  readonly reshown: ReadonlySet<ServerOptions>
  readonly drainMs: number
  readonly pageSize: number
  readonly startupWaitMs: number
}

/**
 * Replaces the set of servers. Remaining servers keep connections, lists and calls. Removed ones stop after
 * their last calls. New ones start if clients need them. Never rejects.
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

/**
 * Returns the clients to start a new server for: those of its predecessor, one per profile, or else any
 * client.
 */
const usersOf = (
  server: Server,
  predecessor: Server | undefined,
  { catalog, clients }: RouterParts,
): readonly Client[] => {
  // Each principal opens its own instance on demand.
  if (server.options.isPerPrincipal) return []
  const sees = (client: Client): boolean =>
    catalog.sees(viewerOf(client), server.options) && !lacksWorkspace(server.options, client)
  const users = [...(predecessor?.connections ?? [])].flatMap(({ clients }) => [...clients]).filter(sees)
  if (users.length > 0) return [...new Map(users.map(user => [server.profilesOf(user)[0], user])).values()]
  const anyone = [...clients.all].find(sees)
  return anyone === undefined || catalog.isCached(server, anyone) ? [] : [anyone]
}
