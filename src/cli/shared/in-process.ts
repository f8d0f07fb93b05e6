import type { LogLevel, ProxyConfig } from '../../config/types.js'
import type { LocalClient, LocalClientOptions } from '../../control/local-client.js'
import { type Caller, LOCAL } from '../../kernel/caller.js'
import type { ServerStatus } from '../../telemetry/status/status.js'
import { ProgressLine } from './output/progress.js'
import { untilSignal, type WorkOutcome } from './until-signal.js'

/** A proxy in this process, for short-lived verbs. */
export interface InProcessSession {
  readonly client: LocalClient
  /** Returns the server states; a failed server that is being retried counts as failed. */
  readonly status: () => readonly ServerStatus[]
}

interface InProcessOptions {
  readonly level: LogLevel
  /** Cache the server lists for the next proxy. Cached lists are not read. */
  readonly isRemembered?: boolean
  /** Exit code of a signal that arrived before the session started. */
  readonly stopped?: () => number | undefined
}

/** Returns a local caller in the current folder, for servers that need a folder. */
export const callerHere = (): Caller => ({ ...LOCAL, cwd: process.cwd() })

/**
 * Larger than any list, so that one page is enough and the client waits for an unavailable server only once.
 */
const PAGE_SIZE = 1_000_000
const POLL_MS = 50
/** Starts that take less time show no progress. */
const QUIET_MS = 500

/**
 * Starts the servers, waits up to each server's connect timeout, runs `work`, shows its result and stops
 * everything. Resolves with the exit code of `work` or of the signal that ended it; rejects as `work` does.
 */
export const inProcess = async (
  config: ProxyConfig,
  options: LocalClientOptions & InProcessOptions,
  work: (session: InProcessSession) => Promise<WorkOutcome>,
): Promise<number> => {
  const [{ createProxy }, { createLogger }, { LocalClient }] = await Promise.all([
    import('../../app/proxy.js'),
    import('../../telemetry/logs/logger.js'),
    import('../../control/local-client.js'),
  ])
  const log = await createLogger({ level: options.level, isTerminal: process.stderr.isTTY })
  const startupWaitMs = Math.max(0, ...config.servers.map(({ timeouts }) => timeouts.connectMs))
  const listMs = Math.max(0, ...config.servers.map(({ timeouts }) => timeouts.listMs))
  const patient: ProxyConfig = { ...config, startupWaitMs, pageSize: PAGE_SIZE }
  const memory = options.isRemembered === true ? await ownMemory() : {}
  const proxy = createProxy(patient, { log, listWaitMs: listMs, ...memory })
  const client = new LocalClient(proxy.clientHandler, options)
  const starts = watchStarts(() => proxy.status().servers)
  try {
    return await untilSignal({ close: () => proxy.close(), log, stopped: options.stopped?.() }, async () => {
      await client.welcome
      starts.stop()
      return await work({ client, status: () => starts.status() })
    })
  } finally {
    starts.stop()
  }
}

const ownMemory = async () => {
  const { stateDir } = await import('../../state/state-key.js')
  return { stateDir: stateDir(process.env), isFirstStart: true }
}

/** Shows slow servers on a terminal while they start, and remembers why a retried server failed. */
const watchStarts = (current: () => readonly ServerStatus[]) => {
  const failures = new Map<string, Pick<ServerStatus, 'why' | 'stderr'>>()
  const startedMs = performance.now()
  const line = new ProgressLine()
  const update = (): void => {
    const all = current()
    for (const { name, why, stderr } of all) if (why !== undefined) failures.set(name, { why, stderr })
    const spentMs = performance.now() - startedMs
    const slow = all.filter(({ name, state }) => state === 'starting' && !failures.has(name))
    if (spentMs < QUIET_MS || slow.length === 0) return
    const names = slow.map(({ name }) => name).join(', ')
    line.show(`starting ${names} … ${Math.round(spentMs / 1000)} s`)
  }
  const timer = setInterval(update, POLL_MS)
  return {
    stop(): void {
      update()
      clearInterval(timer)
      line.clear()
    },
    status: (): readonly ServerStatus[] =>
      current().map(one =>
        one.state === 'ready' || one.why !== undefined ? one : { ...one, ...failures.get(one.name) },
      ),
  }
}
