import { lastLoginMs } from '../auth/store/files.js'
import type { ProxyConfig } from '../config/types.js'
import { type ServerCacheFiles, serverCacheFiles } from '../state/server-cache.js'
import { type ServerFailures, serverFailures } from '../state/server-failures.js'

/** Knowledge about the servers from earlier runs; undefined if nothing is cached. */
export interface KnownServers {
  readonly cache: ServerCacheFiles | undefined
  readonly failures: ServerFailures | undefined
  close(): Promise<void>
}

/** Opens the files about servers; `loginsDir` is the state folder of their logins. */
export const knownServers = (
  config: ProxyConfig,
  options: Parameters<typeof serverCacheFiles>[1],
  loginsDir: string,
): KnownServers => {
  const cache = serverCacheFiles(config, options)
  const failures = serverFailures(config, { ...options, lastLoginMs: () => lastLoginMs(loginsDir) })
  return {
    cache,
    failures,
    close: async () => {
      await cache?.close()
      await failures?.close()
    },
  }
}
