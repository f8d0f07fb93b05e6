import { EraCache } from '../../src/eras/detect/era-cache.js'
import type { ServerLinkOptions } from '../../src/eras/detect/server.js'
import { rawText } from '../../src/kernel/json/text.js'
import { silentLogger } from '../../src/kernel/logger.js'
import { NO_CAPABILITIES } from '../../src/model/peer.js'
import type { FakeClock } from './fake-clock.js'

/** What it takes to open a connection, with everything that a test does not care about. */
export const linkOptions = (
  given: Partial<ServerLinkOptions> & { readonly clock: FakeClock },
): ServerLinkOptions => {
  let last = 0
  return {
    server: 's',
    listener: { requested: () => undefined, notified: () => undefined, closed: () => undefined },
    capabilities: NO_CAPABILITIES,
    clientInfo: rawText('{"name":"client","version":"1"}'),
    identity: rawText('{"name":"proxy","version":"1"}'),
    offer: '2025-11-25',
    era: 'auto',
    serverRequests: 'returned',
    probeMs: 10_000,
    timeoutMs: 60_000,
    pingMs: Number.POSITIVE_INFINITY,
    signal: new AbortController().signal,
    eraCache: new EraCache(given.clock),
    nextId: () => {
      last += 1
      return last
    },
    log: silentLogger,
    ...given,
  }
}
