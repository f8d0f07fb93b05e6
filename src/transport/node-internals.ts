import { type IncomingHttpHeaders, IncomingMessage, type ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex, Writable } from 'node:stream'

// The only file that uses undocumented parts of Node. Each use is detected at run time and has a test that
// fails when Node changes (test/transport/node-internals.ts).

/** Environment variable that switches all uses off with the value `off`, to rule them out as a cause. */
const SWITCH = 'MCP_PROXY_NODE_INTERNALS'
const isOn = process.env[SWITCH] !== 'off'

/**
 * Makes Node queue writes to stdout or stderr that would block. Returns false for streams where that is not
 * possible, such as files.
 */
export const unblock = (stream: Writable): boolean => {
  if (!isOn || !(stream instanceof Socket)) return false
  if ((stream as Handled)._handle?.setBlocking?.(false) !== 0) return false
  // Terminals (`lib/tty.js`), and pipes on Windows (`lib/net.js`), have their own blocking `_write`.
  for (const own of ['_write', '_writev']) Reflect.deleteProperty(stream, own)
  return true
}

interface Handled {
  readonly _handle?: { readonly setBlocking?: (isBlocking: boolean) => number } | null
}

/**
 * Returns the response that is due on a connection, or incomplete. Responses to further requests wait until
 * it is written (lib/_http_server.js, `assignSocket`).
 */
export const currentOn = (socket: Duplex): ServerResponse | undefined =>
  isOn ? ((socket as { readonly _httpMessage?: ServerResponse | null })._httpMessage ?? undefined) : undefined

export const isDueOn = (socket: Duplex): boolean => currentOn(socket) !== undefined

/** Gets a body piece by piece, and null at its end. Returns whether it wants more. */
type BodyTaker = (piece: Buffer | null) => boolean

const wantsWebSocket = ({ connection, upgrade }: IncomingHttpHeaders): boolean =>
  upgrade?.toLowerCase() === 'websocket' && /\bupgrade\b/i.test(connection ?? '')

/**
 * A request to our HTTP server. It differs from Node's in three things.
 *
 * It is upgraded only if we can: to a WebSocket, on a connection without pending responses. All others are
 * served as if they had not asked for it (RFC 9110 §7.8), such as those of `curl --http2` and Java, which
 * offer h2c. Node itself, once there is a listener for upgrades, would upgrade every request that asks.
 *
 * Its body may be taken as the parser finds it, which saves a twentieth of what a small call costs: Node's
 * stream tells of one piece and the end of it in four events, each of them a tick later.
 *
 * A client that sent `Expect: 100-continue` gets `100 Continue` when its body is first read, so that a
 * refused request is answered without its body (RFC 9110 §10.1.1).
 */
export class IncomingRequest extends IncomingMessage {
  /** Set where an upgrade is asked for: hardly ever, and a member of all would be made for each request. */
  declare upgrades?: { is?: boolean }
  declare taker?: BodyTaker
  /** Set if a trusted proxy passed the request on: the address of its client. */
  declare clientAddress?: string
  /** The response, while the client may wait for `100 Continue`. */
  declare expecting?: ServerResponse

  /** Read by Node as soon as it has the head (lib/_http_server.js, parserOnIncoming). */
  get upgrade(): boolean {
    const { upgrades } = this
    if (upgrades === undefined) return false
    upgrades.is ??= this.method === 'CONNECT' || (wantsWebSocket(this.headers) && !isDueOn(this.socket))
    return upgrades.is
  }

  /** Told by Node what the parser found, and then, of an upgrade, whether anybody listens for those. */
  set upgrade(isAsked: unknown) {
    if (isAsked === true) this.upgrades ??= {}
    else if (this.upgrades !== undefined) this.upgrades.is = false
  }

  /**
   * Has the body taken, all of it, also where parts of it have come before. Where the sender leaves halfway
   * the taker hears no more, and the request emits 'close', which one that was taken to its end may not.
   */
  takeBody(taker: BodyTaker): void {
    if (isOn && !this.complete && this.readableLength === 0) {
      this.taker = taker
      this.#invite()
      return
    }
    this.on('data', (piece: Buffer) => {
      if (!taker(piece)) this.pause()
    })
    this.on('end', () => taker(null))
  }

  /** Called by Node with what its parser finds; false stops reading (lib/_http_common.js). */
  override push(piece: Buffer | null, encoding?: BufferEncoding): boolean {
    if (this.expecting !== undefined) this.#came(piece === null)
    return this.taker === undefined ? super.push(piece, encoding) : this.taker(piece)
  }

  /** Called by Node's streams when the body is read. */
  override _read(size: number): void {
    this.#invite()
    super._read(size)
  }

  /** Writes `100 Continue` once the response is due, so that it never lands in another one. */
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

  /** A body that came whole without `100 Continue` leaves the connection usable. */
  #came(isWhole: boolean): void {
    const { expecting: response } = this
    // Node would close the connection after a response that no `100 Continue` preceded.
    if (isWhole && response?.headersSent === false) Object.assign(response, { _expect_continue: false })
    if (isWhole || response?.headersSent === true) delete this.expecting
  }

  /** Called by Node once a request is answered that nobody read as a stream. */
  override resume(): this {
    return this.taker === undefined ? super.resume() : this
  }
}

/** Asked by Node before it forgets a request or calls it aborted; as an accessor TypeScript refuses it. */
Object.defineProperty(IncomingRequest.prototype, 'readableEnded', {
  get(this: IncomingRequest): boolean {
    if (this.taker !== undefined) return this.complete
    return Reflect.get(IncomingMessage.prototype, 'readableEnded', this)
  },
})
