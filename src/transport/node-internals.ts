import { type IncomingHttpHeaders, IncomingMessage, type ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex, Writable } from 'node:stream'
import type { ByteAccount } from '../kernel/byte-account.js'

// The only file that uses undocumented parts of Node. Each use is detected at run time and has a test that
// fails when Node changes (test/transport/node-internals.ts).

/** Environment variable; the value `off` disables all uses, for troubleshooting. */
const SWITCH = 'MCP_PROXY_NODE_INTERNALS'
const isOn = process.env[SWITCH] !== 'off'

/** Makes writes to stdout or stderr non-blocking. Returns false if that is impossible, as for files. */
export const unblock = (stream: Writable): boolean => {
  if (!isOn || !(stream instanceof Socket)) return false
  if ((stream as Handled)._handle?.setBlocking?.(false) !== 0) return false
  // Terminals (`lib/tty.js`), and pipes on Windows (`lib/net.js`), have a blocking `_write` of their own.
  for (const own of ['_write', '_writev']) Reflect.deleteProperty(stream, own)
  return true
}

interface Handled {
  readonly _handle?: { readonly setBlocking?: (isBlocking: boolean) => number } | null
}

/**
 * Returns the current or incomplete response of a connection. Responses to later requests wait until it is
 * written (lib/_http_server.js, `assignSocket`).
 */
export const currentOn = (socket: Duplex): ServerResponse | undefined =>
  isOn ? ((socket as { readonly _httpMessage?: ServerResponse | null })._httpMessage ?? undefined) : undefined

export const isDueOn = (socket: Duplex): boolean => currentOn(socket) !== undefined

/** Receives a body piece by piece, then null. Returns whether to continue reading. */
type BodyTaker = (piece: Buffer | null) => boolean

const wantsWebSocket = ({ connection, upgrade }: IncomingHttpHeaders): boolean =>
  upgrade?.toLowerCase() === 'websocket' && /\bupgrade\b/i.test(connection ?? '')

/**
 * A request to our HTTP server. It differs from Node's in three ways.
 *
 * It is upgraded only if possible: to a WebSocket, on a connection without pending responses. All others are
 * served as ordinary requests (RFC 9110 §7.8), such as those of `curl --http2` and Java, which offer h2c.
 * Node would upgrade every request that asks, once there is a listener.
 *
 * Its body can be taken directly from the parser, which saves a twentieth of the cost of a small call: Node's
 * stream reports one piece and its end in four events, each a tick later.
 *
 * A client that sent `Expect: 100-continue` gets `100 Continue` when its body is first read, so that a
 * request can be refused without its body (RFC 9110 §10.1.1).
 */
export class IncomingRequest extends IncomingMessage {
  /** Set for upgrades only: as a field it would cost memory in each request. */
  declare upgrades?: { is?: boolean }
  declare taker?: BodyTaker
  /** Address of the client, set if a trusted proxy forwarded the request. */
  declare clientAddress?: string
  /** Counts short bodies while they arrive; set for requests to pages. */
  declare inbound?: ByteAccount
  /** The response while the client may be waiting for `100 Continue`. */
  declare expecting?: ServerResponse

  /** Read by Node after the head is complete (lib/_http_server.js, parserOnIncoming). */
  get upgrade(): boolean {
    const { upgrades } = this
    if (upgrades === undefined) return false
    upgrades.is ??= this.method === 'CONNECT' || (wantsWebSocket(this.headers) && !isDueOn(this.socket))
    return upgrades.is
  }

  /** Set by Node from the parser, and then, for an upgrade, to whether there is a listener. */
  set upgrade(isAsked: unknown) {
    if (isAsked === true) this.upgrades ??= {}
    else if (this.upgrades !== undefined) this.upgrades.is = false
  }

  /**
   * Passes the whole body to `taker`, including pieces already received. If the sender disconnects early, the
   * taker is not called again, and the request emits 'close'. A fully taken request may not emit it.
   */
  takeBody(taker: BodyTaker): void {
    if (isOn && !this.complete && this.readableLength === 0) {
      this.taker = taker
      if (this.expecting !== undefined) this.#invite()
      return
    }
    this.on('data', (piece: Buffer) => {
      if (!taker(piece)) this.pause()
    })
    this.on('end', () => taker(null))
  }

  /** Called by Node's parser with each piece; returning false stops reading (lib/_http_common.js). */
  override push(piece: Buffer | null, encoding?: BufferEncoding): boolean {
    if (this.expecting !== undefined) this.#came(piece === null)
    return this.taker === undefined ? super.push(piece, encoding) : this.taker(piece)
  }

  /** Called by Node's streams when the body is read. */
  override _read(size: number): void {
    this.#invite()
    super._read(size)
  }

  /** Writes `100 Continue` once the response is current, never into another response. */
  #invite(): void {
    const { expecting: response } = this
    if (response === undefined) return
    const write = (): void => {
      if (this.expecting === undefined || response.headersSent || this.readableLength > 0) return
      delete this.expecting
      response.writeContinue()
    }
    if (!isOn || currentOn(this.socket) === response) write()
    else response.once('socket', write)
  }

  /** Keeps the connection usable after a body that arrived without `100 Continue`. */
  #came(isWhole: boolean): void {
    const { expecting: response } = this
    // Node would close the connection after a response without a preceding `100 Continue`.
    if (isWhole && response?.headersSent === false) Object.assign(response, { _expect_continue: false })
    if (isWhole || response?.headersSent === true) delete this.expecting
  }

  /** Called by Node after the response if the request was not read as a stream. */
  override resume(): this {
    return this.taker === undefined ? super.resume() : this
  }
}

/** Read by Node before it drops a request or reports it aborted; TypeScript rejects it as an accessor. */
Object.defineProperty(IncomingRequest.prototype, 'readableEnded', {
  get(this: IncomingRequest): boolean {
    if (this.taker !== undefined) return this.complete
    return Reflect.get(IncomingMessage.prototype, 'readableEnded', this)
  },
})
