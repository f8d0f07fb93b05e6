import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type Clock, systemClock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Fault, systemCode } from '../../kernel/faults.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import { type Logger, silentLogger } from '../../kernel/logger.js'
import type { Channel } from '../../wire/channel.js'
import { LineChannel } from '../line-channel.js'
import { socketFailure, socketFault } from '../socket-faults.js'
import { checkSocketPath } from './path.js'

export interface SocketClientOptions {
  /** Path of a unix domain socket, or of a named pipe on Windows. */
  readonly path: string
  readonly connectTimeoutMs: number
  /** Aborts the connection attempt; the open channel ignores it. */
  readonly signal: AbortSignal
  /** Defaults apply if absent. */
  readonly bounds?: LimitCounters | undefined
  readonly log?: Logger
  readonly clock?: Clock
}

async function connected(options: SocketClientOptions, clock: Clock): Promise<Socket> {
  const { path, connectTimeoutMs: ms, signal } = options
  const socket = connect({ path })
  // An error may come after the attempt was given up, or before the channel listens.
  socket.on('error', () => undefined)
  const timedOut = () => socketFault('no answer in time')
  try {
    await within(once(socket, 'connect'), { clock, ms, signal, timedOut })
    return socket
  } catch (error) {
    socket.destroy()
    if (error instanceof Fault) throw error
    const code = systemCode(error) ?? 'unknown reason'
    throw socketFault(socketFailure(code) ?? code, error)
  }
}

/**
 * Connects to a server on a unix domain socket or named pipe; messages are lines, as on stdio.
 * Rejects with the Fault `unavailable` or `cancelled`.
 */
export async function connectSocket(options: SocketClientOptions): Promise<Channel> {
  const { bounds = new LimitCounters(), clock = systemClock, log = silentLogger, path } = options
  checkSocketPath(path)
  const socket = await connected(options, clock)
  return new LineChannel(socket, { peer: 'server', log, clock, bounds })
}
