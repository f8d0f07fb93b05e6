import { realpathSync, statSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { basename, isAbsolute, parse, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { WORKSPACE_PLACE } from '../config/read/variables.js'
import type { ServerTransport } from '../config/types.js'
import { Fault } from '../kernel/faults.js'
import { isLoopbackHost } from '../machine/loopback.js'
import { homeFolder } from '../machine/who-am-i.js'

/** Whether a server is started with the folder of its clients. */
export const namesWorkspace = (transport: ServerTransport): boolean =>
  transport.kind === 'stdio' &&
  [transport.command, ...transport.args, ...Object.values(transport.env), transport.cwd ?? ''].some(text =>
    [...text.matchAll(WORKSPACE_PLACE)].some(([place]) => !place.startsWith('$$')),
  )

/** How a server is started in the folder of its clients. Throws a Fault if that is needed and not known. */
export const inWorkspace = (transport: ServerTransport, folder: string | undefined): ServerTransport => {
  if (transport.kind !== 'stdio') return transport
  const { command, args, env, cwd } = transport
  const put = (text: string): string =>
    text.replace(WORKSPACE_PLACE, (place, name: string) => {
      if (place.startsWith('$$')) return place.slice(1)
      if (folder === undefined)
        throw new Fault('unavailable', 'it waits for a client with a workspace (D033)')
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

/** Folders of the system and of programs: nobody works there, though some clients run there. */
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

/** The first that is a folder in which somebody may work: not home, a root, or one of the system. */
export const firstWorkspace = (...candidates: readonly (string | undefined)[]): string | undefined => {
  for (const candidate of candidates) {
    // A client that knows no variables leaves them as they are.
    if (candidate === undefined || candidate === '' || candidate.includes('${')) continue
    const folder = realFolder(candidate)
    if (folder !== undefined && isWorkspace(folder)) return folder
  }
  return undefined
}

/** The same for the roots of a client, as URIs. */
export const workspaceOfRoots = (uris: readonly string[]): string | undefined =>
  firstWorkspace(...uris.map(folderOfUri))

const folderOfUri = (uri: string): string | undefined => {
  try {
    return uri.startsWith('file:') ? fileURLToPath(uri) : undefined
  } catch {
    return undefined
  }
}

const LOCAL_HOPS = ['forwarded', 'x-forwarded-for', 'via']

/** Folders that callers over HTTP have named, so that each is looked at once. */
const named = new Map<string, string | undefined>()
const NAMED_MAX = 256

/**
 * The folder that a program of this machine names in `Mcp-Proxy-Workspace`, by its path or as `file:` URI;
 * undefined for requests from elsewhere, or that came through another proxy.
 */
export const workspaceOfRequest = ({ headers, socket }: IncomingMessage): string | undefined => {
  const header = headers[WORKSPACE_HEADER]
  if (typeof header !== 'string' || LOCAL_HOPS.some(name => headers[name] !== undefined)) return undefined
  if (!isLoopbackHost(socket.remoteAddress ?? '')) return undefined
  if (!named.has(header)) {
    if (named.size >= NAMED_MAX) named.clear()
    // Node reads headers byte by byte.
    const path = Buffer.from(header, 'latin1').toString()
    named.set(header, path.startsWith('file:') ? workspaceOfRoots([path]) : firstWorkspace(absolute(path)))
  }
  return named.get(header)
}

const WORKSPACE_HEADER = 'mcp-proxy-workspace'

const absolute = (path: string): string | undefined => (isAbsolute(path) ? path : undefined)

const realFolder = (path: string): string | undefined => {
  try {
    const folder = realpathSync(path)
    return statSync(folder).isDirectory() ? folder : undefined
  } catch {
    return undefined
  }
}

const isWorkspace = (folder: string): boolean => {
  const none = [parse(folder).root, realFolder(homeFolder()), realFolder(tmpdir())]
  const isSystem = [...SYSTEM, ...PROGRAMS].some(
    each => folder === each || folder.startsWith(`${each}${sep}`),
  )
  return !none.includes(folder) && !isSystem
}
