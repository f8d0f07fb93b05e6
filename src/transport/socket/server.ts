import { chmodSync, lstatSync, renameSync, type Stats, statSync, unlinkSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { type Clock, systemClock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { Channel } from '../../wire/channel.js'
import { LINE_LIMITS, LineChannel, type LineLimits, lineLimits } from '../line-channel.js'
import { checkSocketPath, isNamedPipe } from './path.js'

/** Where to listen, and for whom. */
export interface SocketServerOptions {
  /** Of a unix domain socket in a directory that exists, or a named pipe on Windows. */
  readonly path: string
  /** Called for every client; nothing is told of it until `listen`. */
  readonly onChannel: (channel: Channel) => void
  readonly limits?: Partial<LineLimits>
  /** The defaults if absent. */
  readonly bounds?: LimitCounters | undefined
  readonly log: Logger
  readonly clock?: Clock
}

/** A socket that listens. */
export interface SocketListener {
  readonly path: string
  /** Stops listening, removes the file, says goodbye to all clients and resolves when they are gone; never rejects. */
  close(): Promise<void>
}

const OWNER_ONLY = 0o600
const NOT_OWNER = 0o177

const fileAt = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false })

// A file system soon gives the number of a removed file to the next one; the time of its making tells them apart.
const isSame = (a: Stats | undefined, b: Stats | undefined): boolean =>
  a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev && a.mtimeMs === b.mtimeMs

const takenFault = (path: string): Fault =>
  new Fault('unavailable', `another process already listens on ${path}`)

function listenFault(error: NodeJS.ErrnoException, path: string): Fault {
  const code = error.code ?? error.name
  const more = { cause: error }
  if (code === 'EADDRINUSE') return takenFault(path)
  if (code === 'EACCES' || code === 'EPERM') {
    return new Fault('unavailable', `cannot listen on ${path}: this user may not write there (${code})`, more)
  }
  return new Fault('unavailable', `cannot listen on ${path} (${code})`, more)
}

/** Whether somebody answers; rejects when that cannot be found out. */
function isAlive(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' || error.code === 'ENOENT') resolve(false)
      // Its queue of connections is full.
      else if (error.code === 'EAGAIN') resolve(true)
      else reject(listenFault(error, path))
    })
  })
}

/** Removes what a process left that could not clean up; throws for everything else that is in the way. */
async function makeWay(path: string): Promise<void> {
  const directory = statSync(dirname(path), { throwIfNoEntry: false })
  if (directory?.isDirectory() !== true) {
    throw new Fault('unavailable', `cannot listen on ${path}: its directory does not exist`)
  }
  const found = fileAt(path)
  if (found === undefined) return
  if (!found.isSocket()) {
    throw new Fault('unavailable', `cannot listen on ${path}: there is a file that is no socket`)
  }
  if (await isAlive(path)) throw takenFault(path)
  // Another proxy may have had the same idea and be listening by now.
  if (isSame(found, fileAt(path))) unlinkSync(path)
}

function opened(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', error => reject(listenFault(error, path)))
    // Node makes the file before `listen` returns; nobody gets a chance to connect before the mode is right.
    const before = process.umask(NOT_OWNER)
    try {
      server.listen({ path }, resolve)
    } finally {
      process.umask(before)
    }
  })
}

/** Node removes the file at the path with the server, whoever made it: one that is not ours steps aside. */
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

type Resolved = SocketServerOptions & Required<Pick<SocketServerOptions, 'clock' | 'limits'>>

/** Hands a connection on; a handler that fails costs that connection only. */
function accept(socket: Socket, channels: Set<LineChannel>, options: Resolved): void {
  const { bounds, clock, limits, log, onChannel } = options
  if (bounds !== undefined && channels.size >= bounds.max.connections) {
    bounds.hit('connections')
    socket.destroy()
    return
  }
  const base = bounds === undefined ? LINE_LIMITS : lineLimits(bounds.max, 'client')
  const channel = new LineChannel(socket, {
    peer: 'client',
    limits: { ...base, ...limits },
    log,
    clock,
    bounds,
  })
  channels.add(channel)
  socket.once('close', () => channels.delete(channel))
  try {
    onChannel(channel)
  } catch (error) {
    log.error({ cause: error }, 'a connection could not be handled')
    socket.destroy()
  }
}

/** Opens the socket; the file that it made, or undefined for a named pipe. */
async function bind(server: Server, path: string): Promise<Stats | undefined> {
  try {
    if (isNamedPipe(path)) {
      await opened(server, path)
      return undefined
    }
    await makeWay(path)
    await opened(server, path)
    chmodSync(path, OWNER_ONLY)
    return fileAt(path)
  } catch (error) {
    server.close()
    throw error instanceof Error && !(error instanceof Fault) ? listenFault(error, path) : error
  }
}

/**
 * Listens on a unix domain socket that only this user can connect to, or on a named pipe; messages are lines, as on
 * stdio. Rejects with the Fault `unavailable`, in words for the operator.
 */
export async function listenSocket(options: SocketServerOptions): Promise<SocketListener> {
  const { clock = systemClock, limits = {}, log, path } = options
  checkSocketPath(path)
  const channels = new Set<LineChannel>()
  // A client that has said all may still wait for answers.
  const server = createServer({ allowHalfOpen: true }, socket =>
    accept(socket, channels, { ...options, clock, limits }),
  )
  const ours = await bind(server, path)
  server.on('error', error => log.error({ cause: error }, 'the socket server reported an error'))
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    const stopped = stopListening(server, path, ours).catch((error: unknown) => {
      log.error({ cause: error }, 'the file of the socket could not be removed')
    })
    await Promise.all([...channels].map(channel => channel.close()))
    await stopped
  }
  return { path, close: () => (closing ??= close()) }
}
