import { chmodSync, lstatSync, renameSync, type Stats, statSync, unlinkSync } from 'node:fs'
import { connect, type Server } from 'node:net'
import { dirname } from 'node:path'
import { Fault } from '../../kernel/faults.js'
import { isNamedPipe } from '../../kernel/machine/socket-path.js'

const OWNER_ONLY = 0o600
const NOT_OWNER = 0o177

/** Returns the file at a socket path for `isSame`; undefined if there is none, or for a named pipe. */
export const fileAt = (path: string): Stats | undefined =>
  isNamedPipe(path) ? undefined : lstatSync(path, { throwIfNoEntry: false })

/** Also compares the time, because the inode of a removed file is soon reused. */
export const isSameFile = (a: Stats | undefined, b: Stats | undefined): boolean =>
  a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev && a.mtimeMs === b.mtimeMs

const takenFault = (path: string): Fault =>
  new Fault('unavailable', `another process already listens on ${path}`)

function listenFault(error: NodeJS.ErrnoException, path: string): Fault {
  const code = error.code ?? error.name
  if (code === 'EADDRINUSE') return takenFault(path)
  const isDenied = code === 'EACCES' || code === 'EPERM'
  const why = isDenied ? `: this user may not write there (${code})` : ` (${code})`
  return new Fault('unavailable', `cannot listen on ${path}${why}`, { cause: error })
}

/** Reports whether a server answers on the socket; rejects if that cannot be determined. */
function isAlive(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false)
      // The server's backlog is full.
      else if (error.code === 'EAGAIN') resolve(true)
      else reject(listenFault(error, path))
    })
  })
}

/** Removes a socket file of a dead process; rejects for any other file. */
export async function removeStale(path: string): Promise<void> {
  const directory = statSync(dirname(path), { throwIfNoEntry: false })
  if (directory?.isDirectory() !== true) {
    throw new Fault('unavailable', `cannot listen on ${path}: its directory does not exist`)
  }
  const found = fileAt(path)
  if (found === undefined) return
  if (!found.isSocket()) {
    throw new Fault('unavailable', `cannot listen on ${path}: the file there is not a socket`)
  }
  if (await isAlive(path)) throw takenFault(path)
  // Another proxy may have replaced it meanwhile.
  if (isSameFile(found, fileAt(path))) unlinkSync(path)
}

function opened(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', error => reject(listenFault(error, path)))
    // Node creates the file before `listen` returns, so no client can connect before the mode is set.
    const before = process.umask(NOT_OWNER)
    try {
      server.listen({ path }, resolve)
    } finally {
      process.umask(before)
    }
  })
}

/** Node removes the file at the path when the server closes; a file of another process is kept. */
function stopListening(server: Server, path: string, ours: Stats | undefined): Promise<void> {
  return new Promise(resolve => {
    const stop = (): void => void server.close(() => resolve())
    const found = ours === undefined ? undefined : fileAt(path)
    if (found === undefined || isSameFile(found, ours)) {
      stop()
      return
    }
    const aside = `${path}~`
    renameSync(path, aside)
    stop()
    renameSync(aside, path)
  })
}

/**
 * Listens on a socket that only this user can connect to, replacing one of a dead process, or on a named
 * pipe. Resolves with a function that stops listening and removes the file if it is still ours. Rejects with
 * the Fault `unavailable`.
 */
export async function bindPath(server: Server, path: string): Promise<() => Promise<void>> {
  try {
    if (!isNamedPipe(path)) await removeStale(path)
    await opened(server, path)
    if (!isNamedPipe(path)) chmodSync(path, OWNER_ONLY)
    const ours = fileAt(path)
    return () => stopListening(server, path, ours)
  } catch (error) {
    server.close()
    throw error instanceof Error && !(error instanceof Fault) ? listenFault(error, path) : error
  }
}
