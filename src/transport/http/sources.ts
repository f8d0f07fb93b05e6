import { isIPv6, type Socket } from 'node:net'
import type { Clock } from '../../kernel/async/clock.js'
import { isDueOn } from '../node-internals.js'

/** The part of all connections in which a source with idle connections gets no further ones. */
const KEPT_FREE = 1 / 8
/** With fewer connections than this, none are kept free or make room. */
export const FEW = 4
/** A younger connection may be about to send its first request. */
const FRESH_MS = 1000

/**
 * Keeps one source from filling a port with idle connections: once few places are left, its oldest idle
 * connection makes room for its next one.
 */
export class ConnectionSources {
  readonly #maxOpen: number
  readonly #clock: Clock
  /** The HTTP connections of each source and the times at which they were opened, oldest first. */
  readonly #bySource = new Map<string, Map<Socket, number>>()
  #open = 0

  constructor(maxConnections: number, clock: Clock) {
    this.#clock = clock
    this.#maxOpen = maxConnections - (maxConnections < FEW ? 0 : Math.ceil(maxConnections * KEPT_FREE))
  }

  opened(socket: Socket): void {
    const source = sourceOf(socket.remoteAddress)
    const own = this.#bySource.get(source) ?? new Map<Socket, number>()
    const nowMs = this.#clock.nowMs()
    this.#open += 1
    if (this.#open > this.#maxOpen) oldestIdle(own, nowMs - FRESH_MS)?.destroy()
    this.#bySource.set(source, own.set(socket, nowMs))
    socket.once('close', () => {
      this.#open -= 1
      own.delete(socket)
      if (own.size === 0 && this.#bySource.get(source) === own) this.#bySource.delete(source)
    })
  }

  /** A connection was refused because the port is full: the source with most connections makes room. */
  dropped(): void {
    let most: ReadonlyMap<Socket, number> = new Map()
    for (const own of this.#bySource.values()) if (own.size > most.size) most = own
    oldestIdle(most, Number.POSITIVE_INFINITY)?.destroy()
  }

  /** A connection carries another protocol from now on, and is never idle. */
  upgraded(socket: Socket): void {
    this.#bySource.get(sourceOf(socket.remoteAddress))?.delete(socket)
  }
}

const oldestIdle = (sockets: ReadonlyMap<Socket, number>, beforeMs: number): Socket | undefined => {
  for (const [socket, openedMs] of sockets) {
    if (openedMs > beforeMs) return undefined
    if (!socket.destroyed && !isDueOn(socket)) return socket
  }
  return undefined
}

/** An IPv6 network of 64 bits is one source. */
const sourceOf = (address = ''): string => {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address
  const [head = ''] = address.split('::', 1)
  return head.split(':').slice(0, 4).join(':')
}
