import type { Duplex } from 'node:stream'
import { WebSocket } from 'ws'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import { Deferred } from '../../kernel/async/deferred.js'
import type { Holding } from '../../kernel/byte-account.js'
import { Fault } from '../../kernel/faults.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import { DEFAULT_LIMITS, type Limits } from '../../kernel/limits.js'
import type { Logger } from '../../kernel/logger.js'
import type { Channel, ChannelListener } from '../../wire/channel.js'
import { type OutgoingMessage, whole } from '../../wire/message-parts.js'
import { BACKLOG_LIMITS, Backlog, type BacklogLimits, backlogLimits } from '../backlog.js'
import { ChannelEvents } from '../channel-events.js'
import { FrameMeter } from './frames.js'

/** Bounds on one WebSocket. */
export interface WsLimits extends BacklogLimits {
  /** A longer message closes the connection with 1009. */
  readonly messageBytes: number
  /** Between two pings. */
  readonly pingMs: number
  /** For the closing handshake; then the connection is cut. */
  readonly closeMs: number
}

/** What holds when nothing else was said. */
export const WS_LIMITS: WsLimits = {
  ...BACKLOG_LIMITS,
  messageBytes: DEFAULT_LIMITS.message,
  pingMs: 30_000,
  closeMs: 2000,
}

/** The same as somebody set them. */
export const wsLimits = (limits: Limits, peer: 'client' | 'server'): WsLimits => ({
  ...WS_LIMITS,
  ...backlogLimits(limits),
  messageBytes: peer === 'client' ? limits.body : limits.message,
})

/** The subprotocol of MCP over WebSocket; no revision defines it, the official TypeScript SDK v1 asks for it. */
export const WS_SUBPROTOCOL = 'mcp'

/** What a WebSocket needs to know to be a channel. */
export interface WsChannelOptions {
  /** A client leaves when it wants to; a server that leaves is a fault. */
  readonly peer: 'client' | 'server'
  /** The connection below: bytes on it are a sign of life, also in the middle of a message. */
  readonly socket: Duplex
  readonly limits: WsLimits
  readonly log: Logger
  readonly clock: Clock
  /** Where it is counted that one was reached. */
  readonly bounds?: LimitCounters | undefined
}

// Close codes of RFC 6455 §7.4.1; 1013 is of IANA's registry.
const NORMAL = 1000
const GOING_AWAY = 1001
const UNSUPPORTED_DATA = 1003
const NO_STATUS = 1005
const LOST = 1006
const TRY_AGAIN_LATER = 1013

const UNANSWERED_PINGS = 2

/** Codes with which a client says goodbye. */
const GOODBYES = [NORMAL, GOING_AWAY, NO_STATUS]

const TOO_LARGE = new Set(['WS_ERR_UNSUPPORTED_MESSAGE_LENGTH', 'WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH'])

const isTooLarge = (error: Error): boolean =>
  'code' in error && typeof error.code === 'string' && TOO_LARGE.has(error.code)

function protocolFault(error: Error, { messageBytes }: WsLimits): Fault {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  const words = isTooLarge(error)
    ? `sent a message of more than ${messageBytes} bytes`
    : `broke the WebSocket protocol (${code})`
  return new Fault('disconnected', words, { cause: error })
}

/** An open WebSocket as a channel: one message per text frame. The words of its fault follow the name of the peer. */
export class WsChannel implements Channel {
  readonly #ws: WebSocket
  readonly #options: WsChannelOptions
  readonly #backlog: Backlog
  readonly #heartbeat: Timer
  readonly #gone = new Deferred<void>()
  /** What came of a message that is not complete. */
  readonly #incoming: Holding | undefined
  readonly #frames = new FrameMeter()
  readonly #events = new ChannelEvents()
  #isPaused = false
  #isCorked = false
  #wasHeard = false
  #unansweredPings = 0
  #terminator: Timer | undefined
  #closing: Promise<void> | undefined

  constructor(ws: WebSocket, options: WsChannelOptions) {
    const { bounds, clock, limits, peer, socket } = options
    this.#ws = ws
    this.#options = options
    this.#backlog = new Backlog({
      bounds,
      // What waits for servers are requests, which are bounded where they come from.
      account: peer === 'client' ? bounds?.unread : undefined,
      limits,
      clock,
      queuedBytes: () => ws.bufferedAmount,
      onDrained: () => this.#events.listener?.drained(),
      onStalled: this.#onBehind,
    })
    // A Buffer, because `binaryType` is left as it is.
    ws.on('message', (data: Buffer, isBinary) => this.#onMessage(data, isBinary))
    ws.on('error', error => this.#onError(error))
    ws.on('close', code => this.#onClose(code))
    this.#incoming = bounds?.inbound.open(() => {
      const fault = new Fault('disconnected', 'sent a message for which there is no room at the moment')
      this.#cutOff(TRY_AGAIN_LATER, 'too much is being sent at the same time', fault)
      // What has come is given back with the connection only.
      this.#ws.terminate()
    })
    socket.on('data', (chunk: Buffer) => this.#onChunk(chunk))
    ws.pause()
    this.#heartbeat = clock.every(limits.pingMs, () => this.#beat())
  }

  get queuedBytes(): number {
    return this.#ws.bufferedAmount
  }

  listen(listener: ChannelListener): void {
    if (this.#events.attach(listener) && !this.#isPaused) this.#ws.resume()
  }

  send(message: OutgoingMessage): boolean {
    if (this.#isEnding || this.#ws.readyState !== WebSocket.OPEN) return false
    if (!this.#backlog.hasRoom) {
      this.#options.bounds?.hit('clientQueue')
      // Not now: whoever sends does not expect the end of the channel in the middle of it.
      setImmediate(this.#onBehind)
      return false
    }
    if (!this.#isCorked) {
      this.#isCorked = true
      this.#options.socket.cork()
      setImmediate(this.#uncork)
    }
    this.#ws.send(whole(message), { binary: false }, this.#onWritten)
    return this.#backlog.grew()
  }

  /** What is sent in one turn of the event loop reaches the operating system in one call. */
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

  close(): Promise<void> {
    if (this.#closing === undefined) {
      // What a peer has not read by now it would not read in the time of a closing handshake.
      if (!this.#backlog.hasRoom) this.#onBehind()
      this.#closing = this.#gone.promise
      this.#end(this.#options.peer === 'client' ? GOING_AWAY : NORMAL)
    }
    return this.#closing
  }

  get #isEnding(): boolean {
    return this.#events.isClosed || this.#closing !== undefined
  }

  readonly #onWritten = (): void => {
    if (!this.#isEnding) this.#backlog.shrank()
  }

  readonly #onBehind = (): void => {
    const fault = new Fault('disconnected', 'does not read what it is sent')
    this.#cutOff(TRY_AGAIN_LATER, 'too far behind in reading', fault)
  }

  #onChunk(chunk: Buffer): void {
    this.#wasHeard = true
    const bytes = this.#frames.push(chunk)
    if (!this.#isEnding) this.#incoming?.set(bytes)
  }

  #onMessage(data: Buffer, isBinary: boolean): void {
    if (this.#isEnding) return
    if (isBinary) {
      const fault = new Fault('disconnected', 'sent a binary frame')
      this.#cutOff(UNSUPPORTED_DATA, 'send JSON-RPC as text frames', fault)
    } else if (data.length > 0) this.#events.listener?.message(data)
  }

  /** What the peer sent is no WebSocket protocol, or too large; the close frame is on its way already. */
  #onError(error: Error): void {
    const { bounds, limits, peer } = this.#options
    const fault = protocolFault(error, limits)
    if (isTooLarge(error)) bounds?.hit(peer === 'client' ? 'body' : 'message')
    if (!this.#isEnding) this.#options.log.warn({ reason: fault.message }, 'a WebSocket peer was cut off')
    this.#settle(fault)
    this.#terminateLater()
  }

  #onClose(code: number): void {
    this.#terminator?.cancel()
    const isExpected = this.#options.peer === 'client' && GOODBYES.includes(code)
    const words = code === LOST ? 'lost the connection' : 'closed the connection'
    this.#settle(isExpected ? undefined : new Fault('disconnected', `${words} (code ${code})`))
    this.#gone.resolve()
  }

  #beat(): void {
    // While we do not read, or the ping waits behind other bytes, silence says nothing about the peer.
    if (this.#wasHeard || this.#ws.isPaused || this.#backlog.isBehind) this.#unansweredPings = 0
    this.#wasHeard = false
    if (this.#unansweredPings >= UNANSWERED_PINGS) {
      const fault = new Fault('disconnected', `did not answer ${UNANSWERED_PINGS} pings`)
      this.#options.log.warn({ reason: fault.message }, 'a WebSocket peer was cut off')
      this.#settle(fault)
      this.#ws.terminate()
      return
    }
    this.#unansweredPings += 1
    this.#ws.ping()
  }

  #cutOff(code: number, reason: string, fault: Fault): void {
    if (this.#isEnding) return
    this.#options.log.warn({ code, reason: fault.message }, 'a WebSocket peer was cut off')
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
    const { clock, limits } = this.#options
    this.#terminator ??= clock.after(limits.closeMs, () => this.#ws.terminate())
  }

  #settle(fault: Fault | undefined): void {
    if (this.#events.isClosed) return
    this.#incoming?.set(0)
    this.#backlog.end()
    this.#heartbeat.cancel()
    this.#events.close(this.#closing === undefined ? fault : undefined)
  }
}
