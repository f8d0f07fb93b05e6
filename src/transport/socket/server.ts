import { createServer, type Socket } from 'node:net'
import { type Clock, systemClock } from '../../kernel/async/clock.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { Channel } from '../../wire/channel.js'
import { LineChannel } from '../line-channel.js'
import { bindPath } from './bind.js'
import { checkSocketPath } from './path.js'

export interface SocketServerOptions {
  /** Path of a unix domain socket in an existing directory, or of a named pipe on Windows. */
  readonly path: string
  /** Called for each client; its channel delivers nothing until `listen`. */
  readonly onChannel: (channel: Channel) => void
  /** Defaults apply if absent. */
  readonly bounds?: LimitCounters | undefined
  readonly log: Logger
  readonly clock?: Clock
}

export interface SocketListener {
  readonly path: string
  /** Stops listening, removes the file and closes all channels; never rejects. */
  close(): Promise<void>
}

type Served = SocketServerOptions & { readonly bounds: LimitCounters }

/** Passes a connection to the handler; an exception affects only that connection. */
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

/**
 * Listens on a unix domain socket that only this user can connect to, or on a named pipe; messages are lines,
 * as on stdio. Rejects with the Fault `unavailable`, whose message is for the operator.
 */
export async function listenSocket(options: SocketServerOptions): Promise<SocketListener> {
  const { bounds = new LimitCounters(), log, path } = options
  checkSocketPath(path)
  const channels = new Set<LineChannel>()
  // A client that has closed its side may still wait for responses.
  const server = createServer({ allowHalfOpen: true }, socket =>
    accept(socket, channels, { ...options, bounds }),
  )
  const stop = await bindPath(server, path)
  server.on('error', error => log.error({ cause: error }, 'the socket server reported an error'))
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    const stopped = stop().catch((error: unknown) => {
      log.error({ cause: error }, 'could not remove the socket file')
    })
    await Promise.all([...channels].map(channel => channel.close()))
    await stopped
  }
  return { path, close: () => (closing ??= close()) }
}
