import { createHash } from 'node:crypto'
import type { CachedServer } from '../../catalog/lists/profile-cache.js'
import type { Broadcasts } from '../../cluster/broadcasts.js'
import type { Logger } from '../../kernel/logger.js'
import type { ServerOptions } from '../../peers/dial.js'
import type { ServerCacheFiles } from '../../state/server-cache.js'
import { decodeServer } from '../../state/server-cache-file.js'

const KIND = 'lists'
/** Lifetime of the lists of a server that no replica reads any more. */
const LIFE_MS = 30 * 24 * 3600_000

export interface SharedListsOptions {
  readonly broadcasts: Pick<Broadcasts, 'on' | 'write'>
  readonly cache: Pick<ServerCacheFiles, 'share' | 'printOf'>
  readonly servers: () => readonly ServerOptions[]
  /** Called when another replica has read different lists of a server. */
  readonly learned: (server: ServerOptions, known: CachedServer) => void
  readonly log: Logger
}

/** Digests of all lists of a server: as last read here, and as last shared. */
interface Digests {
  read?: string
  received?: string
}

/**
 * Shares server lists between replicas. Sends only changed lists: replicas with their own process of a server
 * may legitimately see different lists.
 */
export const shareLists = ({ broadcasts, cache, servers, learned, log }: SharedListsOptions): void => {
  let all = new WeakMap<ServerOptions, Digests>()
  const of = (server: ServerOptions): Digests => {
    const digests = all.get(server) ?? {}
    all.set(server, digests)
    return digests
  }
  cache.share((server, print, bytes) => {
    const digests = of(server)
    const digest = digestOf(bytes)
    const isNews = digests.read !== digest && digests.received !== digest
    digests.read = digest
    if (!isNews) return
    delete digests.received
    const value = Buffer.concat([Buffer.from(`${print}\n`), bytes])
    broadcasts.write(KIND, print, { value, ttlMs: LIFE_MS }).catch((thrown: unknown) => {
      delete digests.read
      log.warn({ err: thrown }, 'cannot share changed lists with the other replicas')
    })
  })
  broadcasts.on(KIND, {
    received(value) {
      const end = value.indexOf('\n')
      const print = value.subarray(0, end).toString()
      const server = servers().find(each => cache.printOf(each) === print)
      if (server === undefined) return
      const bytes = value.subarray(end + 1)
      const digests = of(server)
      digests.received = digestOf(bytes)
      const known = digests.received === digests.read ? undefined : decodeServer(bytes)
      if (known !== undefined) learned(server, known)
    },
    lost() {
      all = new WeakMap()
    },
  })
}

const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('base64')
