import { statSync } from 'node:fs'
import type { Proxy } from '../app/proxy.js'
import type { ProxyConfig } from '../config/types.js'
import type { Control, ControlledVariables } from '../control/daemon/control.js'
import type { KeptLines } from '../control/daemon/kept-lines.js'
import { systemClock } from '../kernel/async/clock.js'
import { Fault } from '../kernel/faults.js'
import type { Logger } from '../kernel/logger.js'
import type { StartLock } from '../shim/lock.js'
import { placeId, placeOf, preparePlace, type RuntimePaths, thisPlace } from '../shim/place.js'
import { LOCK_VARIABLE } from '../shim/start.js'
import type { LineSink } from '../telemetry/logs/logger.js'
import { say } from './output/output.js'

/** The place of a configuration, which one proxy has at a time. */
export interface Seat {
  readonly place: RuntimePaths
  /** Held until the private socket is open. */
  readonly lock: StartLock
  /** Whether clients have started it, and no person who reads its output. */
  readonly isDaemon: boolean
  /** As `Welcome.kept`. */
  readonly kept: string | undefined
  readonly isService: boolean
  /** Where its log goes, if not to stderr. */
  readonly sink: LineSink | undefined
}

/** How `serve` was asked to run. */
export interface ServeMode {
  readonly daemon?: boolean | undefined
  readonly service?: boolean | undefined
  readonly keep?: boolean | undefined
}

/** Who keeps a service on a system, as `Welcome.kept` says. */
export const managerOf = (platform: NodeJS.Platform): string =>
  ({ darwin: 'launchd', win32: 'task' })[platform as string] ?? 'systemd'

/**
 * Takes the place of a configuration file; `taken` where a daemon has it that is no older than we are, or for
 * a replica where any proxy has it.
 * Undefined where there are no places: the file is none, or this user has nowhere to write. Rejects with a
 * Fault.
 */
export const takeSeatOf = async (
  file: string,
  mode: ServeMode,
  isReplica = false,
): Promise<Seat | 'taken' | undefined> => {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return undefined
  const isDaemon = mode.daemon === true
  const isService = mode.service === true
  const key = process.env[LOCK_VARIABLE]
  Reflect.deleteProperty(process.env, LOCK_VARIABLE)
  const { takeDaemonLock } = await import('../control/daemon/daemon-lock.js')
  const place = placeOf(placeId(file, thisPlace()), process.env)
  try {
    const lock = await takeDaemonLock({ place, key, isModest: isDaemon, isReplica })
    if (lock === undefined) return 'taken'
    const sink = isDaemon || isService ? await logFileAt(place.log) : undefined
    return { place, lock, isDaemon, isService, sink, kept: keeperOf(mode) }
  } catch (thrown) {
    if (thrown instanceof Fault || isDaemon) throw thrown
    say(`mcp-proxy: no private socket, so that mcp-proxy connect cannot find this proxy: ${String(thrown)}`)
    return undefined
  }
}

const keeperOf = ({ daemon, service, keep }: ServeMode): string | undefined => {
  if (service === true) return managerOf(process.platform)
  if (daemon === true) return keep === true ? 'keep' : undefined
  return 'serve'
}

const logFileAt = async (path: string): Promise<LineSink> => {
  const { LogFile } = await import('../control/daemon/log-file.js')
  return new LogFile(path)
}

interface Opening {
  /** Undefined for a proxy that shares its configuration with others, or has none. */
  readonly seat: Seat | undefined
  readonly proxy: Proxy
  readonly config: ProxyConfig
  readonly file: string | undefined
  readonly lines: KeptLines
  readonly log: Logger
  readonly end: (code: number) => void
  readonly reload?: () => Promise<void>
  readonly variables?: ControlledVariables
}

/** Opens the private socket of a proxy. Rejects only where that is the only way in. */
export const openPlace = async (opening: Opening): Promise<Control | undefined> => {
  const { seat, proxy, config, log, end } = opening
  try {
    const control = await openSocket(opening)
    if (seat !== undefined && seat.kept === undefined) await endWhenIdle(proxy, config.daemon.idleMs, end)
    return control
  } catch (thrown) {
    if (seat?.isDaemon === true) throw thrown
    log.warn({ err: thrown }, 'no private socket: this proxy cannot be asked or controlled')
    return undefined
  }
}

/** Who is served sees that the start is over: the lock is gone before the first client can connect. */
const openSocket = async (opening: Opening): Promise<Control> => {
  const { seat, proxy, file } = opening
  try {
    const { openControl } = await import('../control/daemon/control.js')
    const { isService, kept } = seat ?? { isService: false, kept: 'serve' }
    return await openControl(seat?.place ?? ownPlace(proxy), {
      ...opening,
      file: seat && file,
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
    seat?.lock.release()
  }
}

/** A place that is named after the proxy itself. */
const ownPlace = ({ children }: Proxy): RuntimePaths => {
  const place = placeOf(children.mark, process.env)
  preparePlace(place)
  return place
}

const endWhenIdle = async (proxy: Proxy, idleMs: number, end: (code: number) => void): Promise<void> => {
  const { watchIdle } = await import('../control/daemon/idle-end.js')
  const isIdle = (): boolean => proxy.sessions.size === 0 && proxy.status().sessions === 0
  watchIdle({ idleMs, isIdle, onIdle: () => end(0), clock: systemClock })
}
