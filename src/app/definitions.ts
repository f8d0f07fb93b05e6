import type { ProxyConfig, ServerConfig } from '../config/types.js'
import { LocalClient } from '../control/local-client.js'
import { systemClock } from '../kernel/async/clock.js'
import { Semaphore } from '../kernel/async/semaphore.js'
import type { Caller } from '../kernel/caller.js'
import type { SentServer } from '../kernel/definitions.js'
import { LOCKED_LISTS } from '../kernel/lock-file.js'
import { silentLogger } from '../kernel/logger.js'
import { createProxy } from './proxy.js'

/** Maximum servers that start at the same time. */
const AT_ONCE = 8

/** The definitions of a server, or the reason why they cannot be read. */
export type ReadDefinitions = SentServer | { readonly why: string }

/** Starts servers and reads everything that a lock file keeps of them. Never rejects. */
export const readDefinitions = async (
  config: ProxyConfig,
  servers: readonly ServerConfig[],
  caller: Caller,
): Promise<ReadonlyMap<string, ReadDefinitions>> => {
  const turns = new Semaphore({
    ...{ places: () => AT_ONCE, onWait: () => undefined, holdMs: Number.POSITIVE_INFINITY },
    clock: systemClock,
  })
  const never = new AbortController().signal
  const read = servers.map(async server => {
    const found = await turns.pass(never, () => readOne(config, server, caller))
    return [server.name, found] as const
  })
  return new Map(await Promise.all(read))
}

const readOne = async (
  config: ProxyConfig,
  server: ServerConfig,
  caller: Caller,
): Promise<ReadDefinitions> => {
  const { connectMs, listMs } = server.timeouts
  const only = { servers: [server], startupWaitMs: connectMs, audit: undefined, auth: undefined }
  const alone = { lock: undefined, cluster: undefined, expose: { mode: 'direct' } } as const
  const proxy = createProxy({ ...config, ...only, ...alone }, { log: silentLogger, listWaitMs: listMs })
  const client = new LocalClient(proxy.clientHandler, { caller })
  try {
    await client.welcome
    // A list that fails is missing below.
    await Promise.allSettled(LOCKED_LISTS.map(list => client.list(list)))
    const sent = proxy.sentBy(server.name, caller.principal)
    if (sent === undefined) return { why: proxy.status().servers[0]?.why ?? 'no answer' }
    return 'missing' in sent ? { why: `its list of ${sent.missing} cannot be read to the end` } : sent
  } finally {
    client.close()
    await proxy.close()
  }
}
