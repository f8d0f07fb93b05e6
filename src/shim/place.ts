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
import { Fault, systemCode } from '../kernel/faults.js'
import { PIPE_FOLDER } from '../machine/socket-path.js'
import { whoAmI } from '../machine/who-am-i.js'
import { machineId } from './machine-id.js'

/** Variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Where a proxy and the programs that control it meet. */
export interface Place {
  /** What its files are named after. */
  readonly id: string
  /** A unix domain socket, or a named pipe on Windows. */
  readonly socket: string
  /** Held by whoever is about to start the proxy. */
  readonly lock: string
  /** What the proxy says about itself, for people; never trusted. */
  readonly facts: string
  /** The log of a daemon; older ones end in `.1` and `.2`. */
  readonly log: string
  /** The secret by which both sides prove whose they are; undefined where rights of folders prove it. */
  readonly token: string | undefined
}

/** The machine and the user; those of this process except in tests. */
export interface Machine {
  readonly platform: NodeJS.Platform
  /** From the database of users: variables differ between a shell and the launcher of a desktop. */
  readonly home: string
  readonly user: string
  readonly uid: number
  readonly isElevated: boolean
  /** As `thisPlace`. */
  readonly at: string
}

/**
 * Identifies the machine and the PID namespace: process ids are valid there only, and containers that share a
 * home folder must not share a daemon.
 */
export const thisPlace = (): string => `${machineId()} ${pidNamespace()}`

const pidNamespace = (): string => {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return process.platform
  }
}

export const thisMachine = (): Machine => {
  const { home, name: user, uid } = whoAmI()
  const { platform, env } = process
  const isElevated =
    platform === 'win32' && isReadable(join(env['SystemRoot'] ?? 'C:\\Windows', 'System32', 'config'))
  return { platform, home, user, uid, isElevated, at: thisPlace() }
}

/** Only an elevated process of Windows reads the folder of the registry. */
const isReadable = (folder: string): boolean => {
  try {
    return readdirSync(folder).length > 0
  } catch {
    return false
  }
}

/** The id of the proxy of a configuration file, which need not exist. */
export const placeId = (file: string, at: string): string =>
  createHash('sha256')
    .update(`${configPath(file)}\0${at}`)
    .digest('hex')
    .slice(0, 10)

/**
 * The one path of a configuration file: its own name in its real folder. A file that is a link keeps its
 * name, because the link may point to another file tomorrow (home-manager, stow, ConfigMaps).
 */
export const configPath = (file: string): string => {
  const path = resolve(file)
  return join(realFolder(dirname(path)), basename(path))
}

/** The real path of a folder as far as it exists. */
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

/** Where the proxy `id` is met. Makes no folder. */
export const placeOf = (id: string, env: Environment, machine = thisMachine()): Place => {
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

const runFolder = (env: Environment, { platform, home }: Machine): string => {
  const moved = env['MCP_PROXY_RUN_DIR']
  if (moved !== undefined && moved !== '') return resolve(moved)
  return platform === 'win32'
    ? join(env['LOCALAPPDATA'] ?? join(home, 'AppData', 'Local'), 'mcp-proxy', 'run')
    : join(home, '.local', 'state', 'mcp-proxy', 'run')
}

/**
 * Makes the folders of a place, open to this user only. Throws a Fault `unavailable` for one that is a link
 * or belongs to somebody else, and what the file system throws.
 */
export const preparePlace = ({ socket, lock, log }: Place): void => {
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

/** With all above it. Node's own way goes on for ever where none can be made, as in `/proc`. */
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
 * Throws a Fault `unavailable` for a socket that somebody else may have made. On Windows the token of a place
 * proves whose it is.
 */
export const checkSocket = (socket: string): void => {
  if (process.platform === 'win32') return
  checkOwn(dirname(socket))
  checkOwn(socket)
}

/** What is at a path, which must be no link and belong to this user; undefined if nothing is. */
const checkOwn = (path: string): Stats | undefined => {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found?.isSymbolicLink()) throw new Fault('unavailable', `${path} is a link`)
  if (found !== undefined && found.uid !== process.getuid?.())
    throw new Fault('unavailable', `${path} does not belong to this user`)
  return found
}

/** Nobody is there: what is left of a socket belongs to a proxy that is gone. */
export const isNobody = (thrown: unknown): boolean => {
  const code = systemCode(thrown)
  return code === 'ECONNREFUSED' || code === 'ENOENT'
}

const HANG_UPS: ReadonlySet<string | undefined> = new Set(['ECONNRESET', 'EPIPE', 'disconnected'])

/** Whoever was there has closed the connection before it answered, as a proxy does that ends. */
export const isHangUp = (thrown: unknown): boolean => HANG_UPS.has(systemCode(thrown))

/** Whether this user may not do it: nothing may be concluded, removed or started then. */
export const isDenied = (thrown: unknown): boolean => {
  const code = systemCode(thrown)
  return code === 'EACCES' || code === 'EPERM' || code === 'EROFS' || thrown instanceof Fault
}
