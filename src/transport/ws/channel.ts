import type { Duplex } from 'node:stream'
import { WebSocket } from 'ws'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import { Deferred } from '../../kernel/async/deferred.js'
import type { Holding } from '../../kernel/byte-account.js'
import { Fault, systemCode } from '../../kernel/faults.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Limits } from '../../kernel/limits.js'
import type { Logger } from '../../kernel/logger.js'
import type { Channel, ChannelListener } from '../../wire/channel.js'
import { type OutgoingMessage, whole } from '../../wire/message-parts.js'
import { Backlog } from '../backlog.js'
import { ChannelEvents } from '../channel-events.js'
import { FrameMeter } from './frame-meter.js'

const PING_MS = 30_000
/** Maximum time of the closing handshake. */
const CLOSE_MS = 2000

/** The peer. A client may leave at any time; a server that leaves causes a fault. */
export type WsPeer = 'client' | 'server'

/** Returns the size limit of a message; a larger one closes the connection with 1009. */
export const maxMessageBytes = ({ body, message }: Limits, peer: WsPeer): number =>
  peer === 'client' ? body : message

/** Subprotocol of MCP over WebSocket: not in the spec, but requested by the official TypeScript SDK 1. */
export const WS_SUBPROTOCOL = 'mcp'

export interface WsChannelOptions {
  readonly peer: WsPeer
  /** The underlying connection: any byte counts as a sign of life, even within a message. */
  readonly socket: Duplex
  readonly log: Logger
  readonly clock: Clock
  readonly bounds: LimitCounters
}

// Close codes of RFC 6455 §7.4.1; 1013 is from IANA's registry.
const NORMAL = 1000
const GOING_AWAY = 1001
const UNSUPPORTED_DATA = 1003
const NO_STATUS = 1005
const ABNORMAL = 1006
const POLICY_VIOLATION = 1008
const TRY_AGAIN_LATER = 1013

const UNANSWERED_PINGS = 2

/** Close codes of an orderly shutdown by the client. */
const ORDERLY = [NORMAL, GOING_AWAY, NO_STATUS]

const TOO_LARGE = new Set<string | undefined>([
  'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH',
  'WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH',
])

function protocolFault(error: Error, maxBytes: number | undefined): Fault {
  const reason =
    maxBytes === undefined
      ? `broke the WebSocket protocol (${systemCode(error) ?? error.name})`
      : `sent a message of more than ${maxBytes} bytes`
  return new Fault('disconnected', reason, { cause: error })
}

/**
 * A channel over an open WebSocket: one message per text frame.
 * The message of its fault continues a sentence that begins with the name of the peer.
 */
export class WsChannel implements Channel {
  readonly #ws: WebSocket
  readonly #options: WsChannelOptions
  readonly #backlog: Backlog
  readonly #heartbeat: Timer
  readonly #gone = new Deferred<void>()
  /** Memory of incomplete messages. */
  readonly #incoming: Holding
  readonly #frames = new FrameMeter()
  readonly #events = new ChannelEvents()
  #isPaused = false
  #isCorked = false
  #wasHeard = false
  #unansweredPings = 0
  #terminator: Timer | undefined
  #closing: Promise<void> | undefined

  constructor(ws: WebSocket, options: WsChannelOptions) {
    const { bounds, clock, peer, socket } = options
    this.#ws = ws
    this.#options = options
    this.#backlog = new Backlog({
      bounds,
      peer,
      clock,
      queue: this,
      onDrained: () => this.#events.listener?.drained(),
      onStalled: this.#onStalled,
    })
    // Data is a Buffer because `binaryType` has its default.
    ws.on('message', (data: Buffer, isBinary) => this.#onMessage(data, isBinary))
    ws.on('error', error => this.#onError(error))
    ws.on('close', code => this.#onClose(code))
    this.#incoming = bounds.inbound.open(() => {
      const fault = new Fault('disconnected', 'sent a message while the proxy was low on memory')
      this.#cutOff(TRY_AGAIN_LATER, 'too much is being sent at the same time', fault)
      // The memory is freed only when the connection ends.
      this.#ws.terminate()
    })
    socket.on('data', (chunk: Buffer) => this.#onChunk(chunk))
    ws.pause()
    this.#heartbeat = clock.every(PING_MS, () => this.#beat())
  }

  get queuedBytes(): number {
    return this.#ws.bufferedAmount
  }

  listen(listener: ChannelListener): void {
    if (this.#events.attach(listener) && !this.#isPaused) this.#ws.resume()
  }

  send(message: OutgoingMessage): boolean {
    if (this.#isEnding || this.#ws.readyState !== WebSocket.OPEN || !this.#backlog.admit()) return false
    if (!this.#isCorked) {
      this.#isCorked = true
      this.#options.socket.cork()
      setImmediate(this.#uncork)
    }
    this.#ws.send(whole(message), { binary: false }, this.#onWritten)
    return this.#backlog.grew()
  }

  /** Sends all messages of one turn of the event loop with one system call. */
  readonly #uncork = (): void => {
    this.#isCorked = false
    this.#options.socket.uncork()
  }

  pause(): void {
    this.#isPaused = true
    // The closing handshake must be read.
    if (!this.#isEnding) this.#ws.pause()
  }

  resume(): void {
    this.#isPaused = false
    if (this.#events.listener !== undefined) this.#ws.resume()
  }

  close(why?: 'unauthorized'): Promise<void> {
    if (this.#closing === undefined) {
      // A peer that is this far behind would not catch up during a closing handshake.
      if (!this.#backlog.hasRoom) this.#onStalled()
      this.#closing = this.#gone.promise
      if (why === 'unauthorized') this.#end(POLICY_VIOLATION, 'reconnect with a valid credential')
      else this.#end(this.#options.peer === 'client' ? GOING_AWAY : NORMAL)
    }
    return this.#closing
  }

  get #isEnding(): boolean {
    return this.#events.isClosed || this.#closing !== undefined
  }

  readonly #onWritten = (): void => {
    if (!this.#isEnding) this.#backlog.shrank()
  }

  readonly #onStalled = (): void => {
    const fault = new Fault('disconnected', 'does not read its messages')
    this.#cutOff(TRY_AGAIN_LATER, 'too far behind in reading', fault)
  }

  #onChunk(chunk: Buffer): void {
    this.#wasHeard = true
    const bytes = this.#frames.push(chunk)
    if (!this.#isEnding) this.#incoming.set(bytes)
  }

  #onMessage(data: Buffer, isBinary: boolean): void {
    if (this.#isEnding) return
    if (isBinary) {
      const fault = new Fault('disconnected', 'sent a binary frame')
      this.#cutOff(UNSUPPORTED_DATA, 'send JSON-RPC as text frames', fault)
    } else if (data.length > 0) this.#events.listener?.message(data)
  }

  /** The peer sent invalid or too large data; `ws` has already sent the close frame. */
  #onError(error: Error): void {
    const { bounds, peer } = this.#options
    const isTooLarge = TOO_LARGE.has(systemCode(error))
    const fault = protocolFault(error, isTooLarge ? maxMessageBytes(bounds.max, peer) : undefined)
    if (isTooLarge) bounds.hit(peer === 'client' ? 'body' : 'message')
    if (!this.#isEnding) this.#options.log.warn({ reason: fault.message }, 'disconnected a WebSocket peer')
    this.#settle(fault)
    this.#terminateLater()
  }

  #onClose(code: number): void {
    this.#terminator?.cancel()
    const isExpected = this.#options.peer === 'client' && ORDERLY.includes(code)
    const reason = code === ABNORMAL ? 'lost the connection' : 'closed the connection'
    this.#settle(isExpected ? undefined : new Fault('disconnected', `${reason} (code ${code})`))
    this.#gone.resolve()
  }

  #beat(): void {
    // Silence means nothing while the channel is paused, the ping is queued, or a server works.
    const isWorking = this.#options.peer === 'server' && this.#events.listener?.isBusy === true
    if (this.#wasHeard || this.#ws.isPaused || this.#backlog.isBehind || isWorking) this.#unansweredPings = 0
    this.#wasHeard = false
    if (this.#unansweredPings >= UNANSWERED_PINGS) {
      const fault = new Fault('disconnected', `did not answer ${UNANSWERED_PINGS} pings`)
      this.#options.log.warn({ reason: fault.message }, 'disconnected a WebSocket peer')
      this.#settle(fault)
      this.#ws.terminate()
      return
    }
    this.#unansweredPings += 1
    this.#ws.ping()
  }

  #cutOff(code: number, reason: string, fault: Fault): void {
    if (this.#isEnding) return
    this.#options.log.warn({ code, reason: fault.message }, 'disconnected a WebSocket peer')
    this.#settle(fault)
    this.#end(code, reason)
  }

  #end(code: number, reason?: string): void {
    this.#ws.resume()
    this.#ws.close(code, reason)
    this.#terminateLater()
  }

  #terminateLater(): void {
    if (this.#ws.readyState === WebSocket.CLOSED) return
    this.#terminator ??= this.#options.clock.after(CLOSE_MS, () => this.#ws.terminate())
  }

  #settle(fault: Fault | undefined): void {
    if (this.#events.isClosed) return
    this.#incoming.set(0)
    this.#backlog.end()
    this.#heartbeat.cancel()
    this.#events.close(this.#closing === undefined ? fault : undefined)
  }
}
