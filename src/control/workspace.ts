import { realpath, stat } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { basename, isAbsolute, parse, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { WORKSPACE_PLACE } from '../config/read/variables.js'
import type { ServerTransport } from '../config/types.js'
import { systemClock } from '../kernel/async/clock.js'
import { within } from '../kernel/async/deadline.js'
import { Fault } from '../kernel/faults.js'
import { isLoopbackHost } from '../kernel/loopback.js'
import { homeFolder } from '../kernel/machine/who-am-i.js'

/** Returns true if a server starts in its clients' folder. */
export const namesWorkspace = (transport: ServerTransport): boolean =>
  transport.kind === 'stdio' &&
  [transport.command, ...transport.args, ...Object.values(transport.env), transport.cwd ?? ''].some(text =>
    [...text.matchAll(WORKSPACE_PLACE)].some(([place]) => !place.startsWith('$$')),
  )

/**
 * Returns the transport of a server in a client's folder. Throws a Fault if the folder is required and
 * unknown.
 */
export const inWorkspace = (transport: ServerTransport, folder: string | undefined): ServerTransport => {
  if (transport.kind !== 'stdio') return transport
  const { command, args, env, cwd } = transport
  const put = (text: string): string =>
    text.replace(WORKSPACE_PLACE, (place, name: string) => {
      if (place.startsWith('$$')) return place.slice(1)
      if (folder === undefined)
        throw new Fault('unavailable', 'the server waits for a client with a workspace (D033)')
      return name === 'workspaceFolderBasename' ? basename(folder) : folder
    })
  const placed = Object.entries(env).map(([name, value]): [string, string] => [name, put(value)])
  return {
    ...transport,
    command: put(command),
    args: args.map(put),
    env: Object.assign(Object.create(null) as Record<string, string>, Object.fromEntries(placed)),
    cwd: cwd === undefined ? undefined : put(cwd),
  }
}

/** Folders of the system and of programs, where some clients run but users do not work. */
const SYSTEM = [
  '/bin',
  '/boot',
  '/dev',
  '/etc',
  '/lib',
  '/opt',
  '/proc',
  '/run',
  '/sbin',
  '/sys',
  '/usr',
  '/var/lib',
]
const PROGRAMS = ['/Applications', '/Library', '/System', 'C:\\Windows', 'C:\\Program Files']

/**
 * Resolves with the first working folder: not the home folder, a root, or a system folder. Never rejects; a
 * folder whose disk does not answer counts as none.
 */
export const firstWorkspace = async (
  ...candidates: readonly (string | undefined)[]
): Promise<string | undefined> => {
  for (const candidate of candidates) {
    // Clients without support for variables send them unexpanded.
    if (candidate === undefined || candidate === '' || candidate.includes('${')) continue
    const folder = await realFolder(candidate)
    if (folder !== undefined && (await isWorkspace(folder))) return folder
  }
  return undefined
}

/** Resolves with the first working folder among the roots of a client (URIs). Never rejects. */
export const workspaceOfRoots = (uris: readonly string[]): Promise<string | undefined> =>
  firstWorkspace(...uris.map(folderOfUri))

const folderOfUri = (uri: string): string | undefined => {
  try {
    return uri.startsWith('file:') ? fileURLToPath(uri) : undefined
  } catch {
    return undefined
  }
}

const LOCAL_HOPS = ['forwarded', 'x-forwarded-for', 'via']

/** The header in which a local program names the folder of its client. */
export const WORKSPACE_HEADER = 'mcp-proxy-workspace'

/** Lookups of HTTP callers' folders, which later requests share. */
const named = new Map<string, Promise<string | undefined>>()
const NAMED_MAX = 256

/**
 * Resolves with the folder in the `Mcp-Proxy-Workspace` header of a local program, as a path or `file:` URI.
 * Returns undefined without the header, and for remote or forwarded requests.
 */
export const workspaceOfRequest = ({
  headers,
  socket,
}: IncomingMessage): Promise<string | undefined> | undefined => {
  const header = headers[WORKSPACE_HEADER]
  if (typeof header !== 'string' || LOCAL_HOPS.some(name => headers[name] !== undefined)) return undefined
  if (!isLoopbackHost(socket.remoteAddress ?? '')) return undefined
  const known = named.get(header)
  if (known !== undefined) return known
  if (named.size >= NAMED_MAX) named.clear()
  // Node decodes headers as Latin-1.
  const path = Buffer.from(header, 'latin1').toString()
  const found = path.startsWith('file:') ? workspaceOfRoots([path]) : firstWorkspace(absolute(path))
  named.set(header, found)
  // A missing folder may be created later, and a disk may answer again.
  void found.then(folder => folder ?? named.delete(header))
  return found
}

const absolute = (path: string): string | undefined => (isAbsolute(path) ? path : undefined)

/** Maximum time that callers wait for a folder, as on a network drive that hangs. */
const LOOKUP_MS = 2000
/** Maximum lookups at once: each may block one of Node's four threads for files until its disk answers. */
const LOOKUPS = 2

/** Lookups in progress, by path; requests for the same path share one. */
const lookups = new Map<string, Promise<string | undefined>>()
/** Lookups that wait for a place. */
const waiting = new Set<() => void>()

const realFolder = async (path: string): Promise<string | undefined> => {
  const over = new AbortController()
  try {
    return await within(placed(path, over.signal), { clock: systemClock, ms: LOOKUP_MS })
  } finally {
    over.abort()
  }
}

const placed = async (path: string, signal: AbortSignal): Promise<string | undefined> => {
  while (!lookups.has(path) && lookups.size >= LOOKUPS) {
    await new Promise<void>(resolve => {
      waiting.add(resolve)
      signal.addEventListener('abort', () => waiting.delete(resolve))
    })
    if (signal.aborted) return undefined
  }
  const lookup = lookups.get(path) ?? lookUp(path)
  lookups.set(path, lookup)
  return await lookup
}

const lookUp = async (path: string): Promise<string | undefined> => {
  try {
    const folder = await realpath(path)
    return (await stat(folder)).isDirectory() ? folder : undefined
  } catch {
    return undefined
  } finally {
    lookups.delete(path)
    for (const enter of [...waiting]) enter()
    waiting.clear()
  }
}

const isWorkspace = async (folder: string): Promise<boolean> => {
  const isSystem = [...SYSTEM, ...PROGRAMS].some(
    each => folder === each || folder.startsWith(`${each}${sep}`),
  )
  if (isSystem || folder === parse(folder).root) return false
  return folder !== (await ownFolder(homeFolder())) && folder !== (await ownFolder(tmpdir()))
}

/** The real paths of the home folder and the folder of temporary files. */
const ownFolders = new Map<string, string>()

const ownFolder = async (path: string): Promise<string> => {
  const folder = ownFolders.get(path) ?? (await realFolder(path))
  if (folder === undefined) return path
  ownFolders.set(path, folder)
  return folder
}
