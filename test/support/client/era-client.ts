import type { Test } from 'tap'
import { type Answer, type Loose, RawClient } from './raw-client.js'

/** The two ways in which clients speak: with a session, or with all data in each request. */
export const ERAS = ['legacy', 'modern'] as const
export type Era = (typeof ERAS)[number]

const META = 'io.modelcontextprotocol/'

interface EraClientOptions {
  readonly declared?: object
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A client of either era over HTTP, without an SDK. */
export class EraClient {
  readonly raw: RawClient
  /** The capabilities that the proxy announced. */
  capabilities: Loose
  #status = 0
  #text = ''
  readonly #era: Era
  readonly #declared: object
  readonly #headers: Readonly<Record<string, string>>

  private constructor(url: string, era: Era, { declared = {}, headers = {} }: EraClientOptions) {
    this.raw = new RawClient(url)
    this.raw.headers = headers
    this.#era = era
    this.#declared = declared
    this.#headers = headers
  }

  static async connect(t: Test, url: string, era: Era, options: EraClientOptions = {}): Promise<EraClient> {
    const client = new EraClient(url, era, options)
    const { declared } = options
    t.teardown(() => client.raw.vanish())
    if (era === 'modern') client.capabilities = (await client.send('server/discover')).result.capabilities
    else client.capabilities = (await client.raw.initialize(declared)).last.message.result.capabilities
    return client
  }

  /** Sends a request and returns the message that answers it. */
  async send(method: string, params: object = {}): Promise<Loose> {
    const answer = await this.#post(method, params)
    this.#status = answer.status
    this.#text = answer.last.text
    return answer.last.message
  }

  /** Returns the result of a request, which must not fail. */
  async get(method: string, params: object = {}): Promise<Loose> {
    const { result, error } = await this.send(method, params)
    if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
    return result
  }

  /** The HTTP status of the last answer, and its text. */
  get last(): { readonly status: number; readonly text: string } {
    return { status: this.#status, text: this.#text }
  }

  #post(method: string, params: object): Promise<Answer> {
    if (this.#era === 'legacy') return this.raw.request(method, params)
    const { name, uri } = params as { name?: string; uri?: string }
    const named = method === 'resources/read' ? uri : name
    this.raw.headers = {
      ...this.#headers,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(named !== undefined && { 'mcp-name': named }),
    }
    const envelope = {
      [`${META}protocolVersion`]: '2026-07-28',
      [`${META}clientCapabilities`]: this.#declared,
    }
    return this.raw.request(method, { ...params, _meta: envelope })
  }
}
