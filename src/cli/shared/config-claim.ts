import { statSync } from 'node:fs'
import type { Proxy } from '../../app/proxy.js'
import type { ProxyConfig } from '../../config/types.js'
import type { Control, ControlledVariables } from '../../control/daemon/control.js'
import { systemClock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import type { StartLock } from '../../shim/lock.js'
import { placeId, placeOf, preparePlace, type RuntimePaths, thisPlace } from '../../shim/place.js'
import { LOCK_VARIABLE } from '../../shim/start.js'
import type { KeptLines } from '../../telemetry/logs/kept-lines.js'
import type { LineSink } from '../../telemetry/logs/logger.js'
import { printToStderr } from './output/output.js'

/** The exclusive claim of one proxy on a configuration. */
export interface ConfigClaim {
  readonly place: RuntimePaths
  /** Held until the private socket is open. */
  readonly lock: StartLock
  /** True if a client started it, rather than a person who reads its output. */
  readonly isDaemon: boolean
  /** Service manager; see `Welcome.kept`. */
  readonly kept: string | undefined
  readonly isService: boolean
  /** Log destination; stderr if undefined. */
  readonly sink: LineSink | undefined
}

/** Options of `serve`. */
export interface ServeMode {
  readonly daemon?: boolean | undefined
  readonly service?: boolean | undefined
  readonly keep?: boolean | undefined
}

/** Returns the service manager of a platform, as in `Welcome.kept`. */
export const managerOf = (platform: NodeJS.Platform): string =>
  ({ darwin: 'launchd', win32: 'task' })[platform as string] ?? 'systemd'

/**
 * Claims a configuration file. Resolves with `taken` if a daemon of the same or a newer version has it or,
 * for a replica, if any proxy has it. Resolves with undefined if the source is not a file or the user has no
 * writable folder. Rejects with a Fault.
 */
export const claimConfig = async (
  file: string,
  mode: ServeMode,
  isReplica = false,
): Promise<ConfigClaim | 'taken' | undefined> => {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return undefined
  const isDaemon = mode.daemon === true
  const isService = mode.service === true
  const key = process.env[LOCK_VARIABLE]
  Reflect.deleteProperty(process.env, LOCK_VARIABLE)
  const { takeDaemonLock } = await import('../../control/daemon/daemon-lock.js')
  const place = placeOf(placeId(file, thisPlace()), process.env)
  try {
    const lock = await takeDaemonLock({ place, key, isModest: isDaemon, isReplica })
    if (lock === undefined) return 'taken'
    const sink = isDaemon || isService ? await logFileAt(place.log) : undefined
    return { place, lock, isDaemon, isService, sink, kept: keeperOf(mode) }
  } catch (thrown) {
    if (thrown instanceof Fault || isDaemon) throw thrown
    printToStderr(
      `mcp-proxy: no private socket, so that mcp-proxy connect cannot find this proxy: ${String(thrown)}`,
    )
    return undefined
  }
}

const keeperOf = ({ daemon, service, keep }: ServeMode): string | undefined => {
  if (service === true) return managerOf(process.platform)
  if (daemon === true) return keep === true ? 'keep' : undefined
  return 'serve'
}

const logFileAt = async (path: string): Promise<LineSink> => {
  const { LogFile } = await import('../../control/daemon/log-file.js')
  return new LogFile(path)
}

interface Opening {
  /** Undefined for a proxy that shares its configuration or has none. */
  readonly claim: ConfigClaim | undefined
  readonly proxy: Proxy
  readonly config: ProxyConfig
  readonly file: string | undefined
  readonly lines: KeptLines
  readonly log: Logger
  readonly end: (code: number) => void
  readonly reload?: () => Promise<void>
  readonly variables?: ControlledVariables
}

/** Opens a proxy's private socket. Rejects only if the socket is the only way to reach the proxy. */
export const openPlace = async (opening: Opening): Promise<Control | undefined> => {
  const { claim, proxy, config, log, end } = opening
  try {
    const control = await openSocket(opening)
    if (claim !== undefined && claim.kept === undefined) await endWhenIdle(proxy, config.daemon.idleMs, end)
    return control
  } catch (thrown) {
    if (claim?.isDaemon === true) throw thrown
    log.warn({ err: thrown }, 'no private socket: this proxy cannot be queried or controlled')
    return undefined
  }
}

/** Releases the lock before the first client can connect. */
const openSocket = async (opening: Opening): Promise<Control> => {
  const { claim, proxy, file } = opening
  try {
    const { openControl } = await import('../../control/daemon/control.js')
    const { isService, kept } = claim ?? { isService: false, kept: 'serve' }
    return await openControl(claim?.place ?? ownPlace(proxy), {
      ...opening,
      file: claim && file,
      sessions: proxy.sessions,
      refusal: proxy.refusal,
      status: () => proxy.status(),
      isDraining: () => proxy.isDraining,
      bounds: proxy.bounds,
      api: proxy.api,
      metrics: proxy.metrics,
      newPageCode: () => proxy.pageSessions().newCode(),
      pageOrigin: () => proxy.pageOrigin(),
      views: proxy.views,
      clock: systemClock,
      kept,
      isService,
    })
  } finally {
    claim?.lock.release()
  }
}

/** Returns a place named after the proxy itself. */
const ownPlace = ({ children }: Proxy): RuntimePaths => {
  const place = placeOf(children.mark, process.env)
  preparePlace(place)
  return place
}

const endWhenIdle = async (proxy: Proxy, idleMs: number, end: (code: number) => void): Promise<void> => {
  const { watchIdle } = await import('../../control/daemon/idle-end.js')
  const isIdle = (): boolean => proxy.sessions.size === 0 && proxy.status().sessions === 0
  watchIdle({ idleMs, isIdle, onIdle: () => end(0), clock: systemClock })
}
