import { chmodSync, lstatSync, renameSync, type Stats, statSync, unlinkSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { type Clock, systemClock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import { isNamedPipe } from '../../kernel/socket-path.js'
import type { Channel } from '../../wire/channel.js'
import { LineChannel } from '../line-channel.js'
import { checkSocketPath } from './path.js'

export interface SocketServerOptions {
  /** Of a unix domain socket in a directory that exists, or a named pipe on Windows. */
  readonly path: string
  /** Called for every client; its channel reports nothing until `listen`. */
  readonly onChannel: (channel: Channel) => void
  /** The defaults if absent. */
  readonly bounds?: LimitCounters | undefined
  readonly log: Logger
  readonly clock?: Clock
}

export interface SocketListener {
  readonly path: string
  /** Stops listening, removes the file, closes all channels, and resolves when done; never rejects. */
  close(): Promise<void>
}

const OWNER_ONLY = 0o600
const NOT_OWNER = 0o177

const fileAt = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false })

// The inode of a removed file is soon reused, so the time tells them apart.
const isSame = (a: Stats | undefined, b: Stats | undefined): boolean =>
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

/** Whether a server answers on the socket; rejects when that cannot be determined. */
function isAlive(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false)
      // Its backlog of connections is full.
      else if (error.code === 'EAGAIN') resolve(true)
      else reject(listenFault(error, path))
    })
  })
}

/** Removes a socket file that a dead process left behind; throws for anything else in the way. */
async function removeStale(path: string): Promise<void> {
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
  // Another proxy may have replaced it by now.
  if (isSame(found, fileAt(path))) unlinkSync(path)
}

function opened(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', error => reject(listenFault(error, path)))
    // Node creates the file before `listen` returns, so nobody can connect before its mode is right.
    const before = process.umask(NOT_OWNER)
    try {
      server.listen({ path }, resolve)
    } finally {
      process.umask(before)
    }
  })
}

/** Node removes whatever file is at the path when the server closes; one that is not ours is moved aside. */
function stopListening(server: Server, path: string, ours: Stats | undefined): Promise<void> {
  return new Promise(resolve => {
    const stop = (): void => void server.close(() => resolve())
    const found = ours === undefined ? undefined : fileAt(path)
    if (found === undefined || isSame(found, ours)) {
      stop()
      return
    }
    const aside = `${path}~`
    renameSync(path, aside)
    stop()
    renameSync(aside, path)
  })
}

type Served = SocketServerOptions & { readonly bounds: LimitCounters }

/** Passes a connection on; a handler that fails costs only that connection. */
function accept(socket: Socket, channels: Set<LineChannel>, options: Served): void {
  const { bounds, clock = systemClock, log, onChannel } = options
  if (channels.size >= bounds.max.connections) {
    bounds.hit('connections')
    socket.destroy()
    return
  }
  const channel = new LineChannel(socket, { peer: 'client', log, clock, bounds })
  channels.add(channel)
  socket.once('close', () => channels.delete(channel))
  try {
    onChannel(channel)
  } catch (error) {
    log.error({ cause: error }, 'a connection could not be handled')
    socket.destroy()
  }
}

/** Opens the socket. Resolves with the file that it created, or undefined for a named pipe. */
async function bind(server: Server, path: string): Promise<Stats | undefined> {
  try {
    if (isNamedPipe(path)) {
      await opened(server, path)
      return undefined
    }
    await removeStale(path)
    await opened(server, path)
    chmodSync(path, OWNER_ONLY)
    return fileAt(path)
  } catch (error) {
    server.close()
    throw error instanceof Error && !(error instanceof Fault) ? listenFault(error, path) : error
  }
}

/**
 * Listens on a unix domain socket that only this user can connect to, or on a named pipe; messages are lines,
 * as on stdio. Rejects with the Fault `unavailable`, whose message is for the operator.
 */
export async function listenSocket(options: SocketServerOptions): Promise<SocketListener> {
  const { bounds = new LimitCounters(), log, path } = options
  checkSocketPath(path)
  const channels = new Set<LineChannel>()
  // A client that has ended its side may still wait for responses.
  const server = createServer({ allowHalfOpen: true }, socket =>
    accept(socket, channels, { ...options, bounds }),
  )
  const ours = await bind(server, path)
  server.on('error', error => log.error({ cause: error }, 'the socket server reported an error'))
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    const stopped = stopListening(server, path, ours).catch((error: unknown) => {
      log.error({ cause: error }, 'could not remove the socket file')
    })
    await Promise.all([...channels].map(channel => channel.close()))
    await stopped
  }
  return { path, close: () => (closing ??= close()) }
}
