import { realpathSync, statSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { basename, isAbsolute, parse, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { WORKSPACE_PLACE } from '../config/read/variables.js'
import type { ServerTransport } from '../config/types.js'
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

/** Returns the first working folder: not the home folder, a root, or a system folder. */
export const firstWorkspace = (...candidates: readonly (string | undefined)[]): string | undefined => {
  for (const candidate of candidates) {
    // Clients without support for variables send them unexpanded.
    if (candidate === undefined || candidate === '' || candidate.includes('${')) continue
    const folder = realFolder(candidate)
    if (folder !== undefined && isWorkspace(folder)) return folder
  }
  return undefined
}

/** Returns the first working folder among the roots of a client (URIs). */
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

/** Folders of HTTP callers that were already checked. */
const named = new Map<string, string | undefined>()
const NAMED_MAX = 256

/**
 * Returns the folder in the `Mcp-Proxy-Workspace` header of a local program, as a path or `file:` URI.
 * Returns undefined for remote or forwarded requests.
 */
export const workspaceOfRequest = ({ headers, socket }: IncomingMessage): string | undefined => {
  const header = headers[WORKSPACE_HEADER]
  if (typeof header !== 'string' || LOCAL_HOPS.some(name => headers[name] !== undefined)) return undefined
  if (!isLoopbackHost(socket.remoteAddress ?? '')) return undefined
  if (!named.has(header)) {
    if (named.size >= NAMED_MAX) named.clear()
    // Node decodes headers as Latin-1.
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
