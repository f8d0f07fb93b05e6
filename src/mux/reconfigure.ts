import type { Catalog } from '../catalog/catalog.js'
import type { Owners } from '../catalog/owners.js'
import type { Client } from '../model/links.js'
import type { ServerOptions } from '../peers/options.js'
import type { Server } from '../peers/server.js'
import type { ServerPool } from '../peers/server-pool.js'
import type { ClientRegistry } from './clients/client-registry.js'
import { type Reach, startFor } from './clients/reach.js'
import type { ResourceSubscriptions } from './notifications/resource-subscriptions.js'

/** What another configuration changes for the router. */
export interface RouterChange {
  /** In their order; those that stay by the very options that they were made with, whatever has changed in these. */
  readonly servers: readonly ServerOptions[]
  /** Those that stay and are shown in another way. */
  readonly reshown: ReadonlySet<ServerOptions>
  /** How long calls at servers that leave may still take. */
  readonly drainMs: number
  readonly pageSize: number
  readonly startupWaitMs: number
}

/** All that has to know of other servers. */
export interface Parts {
  readonly pool: ServerPool
  readonly catalog: Catalog
  readonly owners: Owners
  readonly reach: Reach
  readonly guests: ClientRegistry
  readonly feeds: ResourceSubscriptions
}

/**
 * Puts other servers in the place of those that there are. Those that stay keep their connections, lists and calls; those that
 * leave take no more calls and are stopped when those under way are over; those that come are started if their predecessor was in
 * use, or somebody is there who would have started them by coming. Resolves when all that left are stopped; never rejects.
 */
export const reconfigure = async (change: RouterChange, parts: Parts): Promise<void> => {
  const { servers, reshown, drainMs, ...pace } = change
  const { pool, catalog, owners, reach, feeds } = parts
  const { joined, left } = pool.reload(servers)
  const successors = new Map(
    joined.flatMap(server => {
      const predecessor = left.find(({ name }) => name === server.name)
      return predecessor === undefined ? [] : [[server, predecessor] as const]
    }),
  )
  catalog.reload(pool.servers, { isReshown: ({ options }) => reshown.has(options), successors, ...pace })
  owners.reload()
  reach.reload(pace)
  const users = joined.flatMap(server =>
    usersOf(server, successors.get(server), parts).map(user => [server, user] as const),
  )
  const replaced = new Set(successors.values())
  const dismissals = left.map(server => {
    const connections = [...server.connections]
    const dismissal = pool.dismiss(server, drainMs)
    feeds.serverLeft(connections, replaced.has(server))
    return dismissal
  })
  for (const [server, user] of users) void startFor(server, user)
  await Promise.all(dismissals)
}

/**
 * On whose behalf a new server is started: of those who used the server before it, one for all to whom it lists the same, else of
 * anybody who would have started it, which is nobody if it is known already.
 */
const usersOf = (
  server: Server,
  predecessor: Server | undefined,
  { catalog, guests }: Parts,
): readonly Client[] => {
  const users = [...(predecessor?.connections ?? [])].flatMap(({ clients }) => [...clients])
  if (users.length > 0) return [...new Map(users.map(user => [server.profilesOf(user)[0], user])).values()]
  const { anyone } = guests
  return anyone === undefined || catalog.isRemembered(server, anyone) ? [] : [anyone]
}
