import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  type Stats,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { Fault, isBrokenPipe, systemCode } from '../kernel/faults.js'
import { PIPE_FOLDER } from '../kernel/machine/socket-path.js'
import { whoAmI } from '../kernel/machine/who-am-i.js'
import { machineId } from './machine-id.js'

/** Environment variables of a process. */
export type PlaceEnvironment = Readonly<Record<string, string | undefined>>

/** Paths shared by a proxy and the programs that control it. */
export interface RuntimePaths {
  /** Prefix of its file names. */
  readonly id: string
  /** A unix domain socket, or a named pipe on Windows. */
  readonly socket: string
  /** Start lock. */
  readonly lock: string
  /** Status file of the proxy, for people; never trusted. */
  readonly facts: string
  /** Log of the daemon; older ones end in `.1` and `.2`. */
  readonly log: string
  /** Secret that authenticates both sides; undefined where folder permissions do. */
  readonly token: string | undefined
}

/** Facts about the machine and the user; tests override them. */
export interface HostMachine {
  readonly platform: NodeJS.Platform
  /** From the user database: the variable may differ between a shell and a desktop launcher. */
  readonly home: string
  readonly user: string
  readonly uid: number
  readonly isElevated: boolean
  /** Result of `thisPlace`. */
  readonly at: string
}

/**
 * Identifies the machine and the PID namespace, the scope of process ids: containers that share a home folder
 * must not share a daemon.
 */
export const thisPlace = (): string => `${machineId()} ${pidNamespace()}`

const pidNamespace = (): string => {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return process.platform
  }
}

export const thisMachine = (): HostMachine => {
  const { home, name: user, uid } = whoAmI()
  const { platform, env } = process
  const isElevated =
    platform === 'win32' && isReadable(join(env['SystemRoot'] ?? 'C:\\Windows', 'System32', 'config'))
  return { platform, home, user, uid, isElevated, at: thisPlace() }
}

/** Only an elevated process on Windows can read the registry's folder. */
const isReadable = (folder: string): boolean => {
  try {
    return readdirSync(folder).length > 0
  } catch {
    return false
  }
}

/** Returns the id of a configuration file's proxy; the file need not exist. */
export const placeId = (file: string, at: string): string =>
  createHash('sha256')
    .update(`${configPath(file)}\0${at}`)
    .digest('hex')
    .slice(0, 10)

/**
 * Returns the canonical path of a configuration file: its own name in its real folder. A symbolic link keeps
 * its name, since its target may change (home-manager, stow, ConfigMaps).
 */
export const configPath = (file: string): string => {
  const path = resolve(file)
  return join(realFolder(dirname(path)), basename(path))
}

/** Resolves the existing part of a folder. */
const realFolder = (folder: string): string => {
  try {
    return realpathSync.native(folder)
  } catch {
    const above = dirname(folder)
    return above === folder ? folder : join(realFolder(above), basename(folder))
  }
}

/** `sun_path` holds 103 bytes on macOS, 107 on Linux. */
const SOCKET_BYTES = 100

/** Returns the paths of the proxy `id`. Creates no folder. */
export const placeOf = (id: string, env: PlaceEnvironment, machine = thisMachine()): RuntimePaths => {
  const run = runFolder(env, machine)
  const file = (end: string): string => join(run, `${id}${end}`)
  const files = { id, lock: file('.lock'), facts: file('.json'), log: join(dirname(run), 'log', `${id}.log`) }
  if (machine.platform === 'win32') {
    const user = machine.user.replace(/[^\w.-]/g, '_')
    const name = `mcp-proxy-${user}${machine.isElevated ? '-admin' : ''}-${id}`
    return { ...files, socket: `${PIPE_FOLDER}${name}`, token: file('.token') }
  }
  const socket = file('.sock')
  const isShort = Buffer.byteLength(socket) <= SOCKET_BYTES
  return {
    ...files,
    socket: isShort ? socket : join(`/tmp/mcp-proxy-${machine.uid}`, `${id}.sock`),
    token: undefined,
  }
}

const runFolder = (env: PlaceEnvironment, { platform, home }: HostMachine): string => {
  const moved = env['MCP_PROXY_RUN_DIR']
  if (moved !== undefined && moved !== '') return resolve(moved)
  return platform === 'win32'
    ? join(env['LOCALAPPDATA'] ?? join(home, 'AppData', 'Local'), 'mcp-proxy', 'run')
    : join(home, '.local', 'state', 'mcp-proxy', 'run')
}

/**
 * Creates the folders, accessible to this user only. Throws file system errors, and a Fault `unavailable` for
 * a folder that is a link or belongs to another user.
 */
export const preparePlace = ({ socket, lock, log }: RuntimePaths): void => {
  const folders = process.platform === 'win32' ? [lock, log] : [lock, socket, log]
  for (const folder of new Set(folders.map(file => dirname(file)))) prepareFolder(folder)
}

const OTHERS = 0o077

const prepareFolder = (folder: string): void => {
  makeFolder(folder)
  if (process.platform === 'win32') return
  const mode = checkOwn(folder)?.mode ?? 0
  if (mode & OTHERS) chmodSync(folder, 0o700)
}

/** Creates all parents. Node's recursive mkdir never ends where it cannot create any, as in `/proc`. */
const makeFolder = (folder: string): void => {
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (thrown) {
    const code = systemCode(thrown)
    if (code === 'EEXIST') return
    if (code !== 'ENOENT' || existsSync(dirname(folder))) throw thrown
    makeFolder(dirname(folder))
    makeFolder(folder)
  }
}

/**
 * Throws a Fault `unavailable` for a socket that another user may have created. On Windows, the token
 * authenticates instead.
 */
export const checkSocket = (socket: string): void => {
  if (process.platform === 'win32') return
  checkOwn(dirname(socket))
  checkOwn(socket)
}

/** Returns the status of a path, which must belong to this user and not be a link; undefined if absent. */
const checkOwn = (path: string): Stats | undefined => {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found?.isSymbolicLink()) throw new Fault('unavailable', `${path} is a link`)
  if (found !== undefined && found.uid !== process.getuid?.())
    throw new Fault('unavailable', `${path} does not belong to this user`)
  return found
}

/** Reports whether no proxy listens: the socket is missing, or left by a dead proxy. */
export const isAbsent = (thrown: unknown): boolean => {
  const code = systemCode(thrown)
  return code === 'ECONNREFUSED' || code === 'ENOENT'
}

/** Reports whether the proxy closed the connection without an answer, as when it ends. */
export const isHangUp = (thrown: unknown): boolean =>
  isBrokenPipe(thrown) || systemCode(thrown) === 'disconnected'

/** Reports whether permissions are missing: the state is unknown, so nothing may be removed or started. */
export const isDenied = (thrown: unknown): boolean => {
  const code = systemCode(thrown)
  return code === 'EACCES' || code === 'EPERM' || code === 'EROFS' || thrown instanceof Fault
}
