import {
  type IncomingHttpHeaders,
  IncomingMessage,
  type OutgoingHttpHeaders,
  ServerResponse,
} from 'node:http'
import { Socket } from 'node:net'
import type { NodeHandler } from '../../transport/http/gate.js'

/** A request of a browser, or of an authorization server's client, forwarded to another replica. */
export interface PageRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** Base64. */
  readonly body: string
  /** The address of the client. */
  readonly address: string
}

export interface PageAnswer {
  readonly status: number
  readonly headers: OutgoingHttpHeaders
  /** Base64. */
  readonly body: string
}

/** Runs a Node request handler without a socket. */
export const inject = (handler: NodeHandler, asked: PageRequest): Promise<PageAnswer> =>
  new Promise(resolve => {
    const { method, url, headers, body, address } = asked
    const socket = new Socket()
    Object.defineProperty(socket, 'remoteAddress', { value: address })
    // Without `complete`, Node treats the end as a broken connection.
    const request = Object.assign(new IncomingMessage(socket), { method, url, headers, complete: true })
    request.push(Buffer.from(body, 'base64'))
    request.push(null)
    handler(request, new CapturedResponse(request, resolve))
  })

/** Buffers a response and reports it at the end. */
class CapturedResponse extends ServerResponse {
  readonly #chunks: Buffer[] = []
  readonly #whenEnded: (answer: PageAnswer) => void

  constructor(request: IncomingMessage, whenEnded: (answer: PageAnswer) => void) {
    super(request)
    this.#whenEnded = whenEnded
  }

  override writeHead(status: number, ...rest: unknown[]): this {
    this.statusCode = status
    const headers = rest.find(each => typeof each === 'object' && each !== null) ?? {}
    for (const [name, value] of Object.entries(headers as OutgoingHttpHeaders))
      if (value !== undefined) this.setHeader(name, value)
    return this
  }

  override write(chunk: unknown): boolean {
    this.#chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : (chunk as Buffer))
    return true
  }

  override end(chunk?: unknown): this {
    if (typeof chunk === 'string' || Buffer.isBuffer(chunk)) this.write(chunk)
    const body = Buffer.concat(this.#chunks).toString('base64')
    this.#whenEnded({ status: this.statusCode, headers: this.getHeaders(), body })
    Object.assign(this, { finished: true })
    this.emit('finish')
    this.emit('close')
    return this
  }

  override destroy(): this {
    this.#whenEnded({ status: 502, headers: {}, body: '' })
    return this
  }
}
