import { View } from '../catalog/views/view.js'
import type { LockConfig, ProxyConfig, ServerConfig } from '../config/types.js'
import { LocalClient } from '../control/local-client.js'
import { systemClock } from '../kernel/async/clock.js'
import { Semaphore } from '../kernel/async/semaphore.js'
import { changedMembers, LockedPart, type SentServer } from '../kernel/definitions.js'
import { Fault } from '../kernel/faults.js'
import { matcherOf } from '../kernel/globs.js'
import type { JsonText } from '../kernel/json/text.js'
import { sanitizeLine } from '../kernel/secrets/mask.js'
import {
  ProbeLog,
  probedState,
  probedTexts,
  probedTool,
  type ServerProbe,
} from '../telemetry/status/probed.js'
import type { ServerStatus } from '../telemetry/status/status.js'
import { createProxy } from './proxy.js'

/** Maximum servers that start at the same time. */
const AT_ONCE = 8
const PAGE_SIZE = 1_000_000
const SHORT_LIST_MS = 5000

/** Connects to each server of a configuration and disconnects again. Never rejects. */
export const probeServers = async (
  config: ProxyConfig,
  servers: readonly ServerConfig[],
  timeoutMs: number,
): Promise<readonly ServerProbe[]> => {
  const turns = new Semaphore({
    places: () => AT_ONCE,
    onWait: () => undefined,
    holdMs: Number.POSITIVE_INFINITY,
    clock: systemClock,
  })
  const never = new AbortController().signal
  const closing: Promise<void>[] = []
  const probed = await Promise.all(
    servers.map(server => turns.pass(never, () => probeOne(config, server, { timeoutMs, closing }))),
  )
  await Promise.all(closing)
  return probed
}

interface ProbeOptions {
  readonly timeoutMs: number
  /** Collects disconnects, which need not delay the next server. */
  readonly closing: Promise<void>[]
}

const probeOne = async (
  config: ProxyConfig,
  server: ServerConfig,
  { timeoutMs, closing }: ProbeOptions,
): Promise<ServerProbe> => {
  const received = new ProbeLog()
  const startedMs = performance.now()
  const plain = plainly(server, timeoutMs)
  const only = { servers: [plain], startupWaitMs: timeoutMs, pageSize: PAGE_SIZE }
  const proxy = createProxy(
    { ...config, ...only, audit: undefined, auth: undefined, lock: undefined },
    { log: received, listWaitMs: Math.max(plain.timeouts.listMs, SHORT_LIST_MS) },
  )
  const client = new LocalClient(proxy.clientHandler)
  const look = (): ServerStatus | undefined => proxy.status().servers[0]
  const views = config.views.map(rules => new View(rules)).filter(view => view.hasServer(server))
  try {
    const { instructions = '' } = await client.welcome
    const first = look()
    // Reading the lists of a server that is not ready would wait again.
    const tools = first?.state === 'ready' ? await readTools(client) : []
    const sent = proxy.sentBy(server.name, client.principal)
    const found = sent === undefined || 'missing' in sent ? undefined : sent
    return {
      server: server.name,
      transport: server.transport.kind,
      ms: Math.round(performance.now() - startedMs),
      ...probedState(first, look(), timeoutMs),
      noise: received.noise,
      repairs: received.repairs,
      instructionBytes: Buffer.byteLength(instructions),
      tools: tools.map(tool => probedTool(tool, server, views)),
      differences: found && differencesFrom(config.lock, server.name, found),
      texts: probedTexts(found),
    }
  } finally {
    client.close()
    closing.push(proxy.close())
  }
}

/** Returns the differences of a locked server from the lock file. */
const differencesFrom = (lock: LockConfig | undefined, server: string, sent: SentServer) => {
  if (lock === undefined || !matcherOf(lock.servers)(server)) return undefined
  return new LockedPart(server, lock.locked.get(server), lock.ignore).all(sent).map(found => ({
    ...{ name: sanitizeLine(found.name), change: found.change },
    fields: changedMembers(found).map(field => sanitizeLine(field)),
  }))
}

/** Returns the server without renames and prefixes, to show the effect of the proxy on its own names. */
const plainly = (server: ServerConfig, timeoutMs: number): ServerConfig => {
  const { timeouts, tools } = server
  const atMost = (ms: number): number => Math.min(ms, timeoutMs)
  return {
    ...server,
    prefix: false,
    tools: { ...tools, rename: {} },
    timeouts: {
      ...timeouts,
      connectMs: atMost(timeouts.connectMs),
      initializeMs: atMost(timeouts.initializeMs),
      probeMs: atMost(timeouts.probeMs),
      listMs: atMost(timeouts.listMs),
    },
  }
}

/** Reads the other lists too, to report their repairs. */
const readTools = async (client: LocalClient): Promise<readonly JsonText[]> => {
  const read = async (
    list: 'tools' | 'prompts' | 'resources' | 'templates',
  ): Promise<readonly JsonText[]> => {
    try {
      return await client.list(list)
    } catch (thrown) {
      if (thrown instanceof Fault) return []
      throw thrown
    }
  }
  const [tools] = await Promise.all([read('tools'), read('prompts'), read('resources'), read('templates')])
  return tools
}
