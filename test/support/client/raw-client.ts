import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import type { Test } from 'tap'
import { hello } from '../era/codec.js'

// biome-ignore lint/suspicious/noExplicitAny: what a test looks for in a message is its own business.
export type Loose = any // eslint-disable-line @typescript-eslint/no-explicit-any

/** A message as received in a response body or event. */
export interface RawMessage {
  readonly text: string
  readonly message: { id?: unknown; method?: string; params?: Loose; result?: Loose; error?: Loose }
}

/** The response to one POST. */
export interface Answer {
  readonly status: number
  readonly type: string
  readonly heard: readonly RawMessage[]
  /** The last message, which is the answer. */
  readonly last: RawMessage
}

/** A Streamable HTTP client without an SDK; it sends and receives raw text. */
export class RawClient {
  readonly url: string
  session: string | undefined
  /** Sent with each request. */
  headers: Readonly<Record<string, string>> = {}
  /** Answers servers' questions; the return value is the result, or an error if it has a `code`. */
  onAsk: (method: string, params: Loose) => object | Promise<object> = () => ({
    code: -32601,
    message: 'not here',
  })
  /** Messages received on the standalone stream. */
  readonly ambient: RawMessage[] = []
  readonly #abort = new AbortController()
  #heardAmbient: () => void = () => undefined

  constructor(url: string) {
    this.url = url
    // Node removes its listeners only on garbage collection; until then, thousands of requests would cause
    // warnings.
    setMaxListeners(0, this.#abort.signal)
  }

  async initialize(capabilities: object = {}, version = '2025-11-25'): Promise<Answer> {
    const params = hello(version, capabilities, { name: 'raw', version: '1' })
    const answer = await this.post({ id: randomUUID(), method: 'initialize', params })
    await this.post({ method: 'notifications/initialized' })
    return answer
  }

  /** Calls a tool with arguments as JSON text. */
  call(id: number | string, name: string, args = '{}', meta?: object): Promise<Answer> {
    const _meta = meta === undefined ? '' : `,"_meta":${JSON.stringify(meta)}`
    return this.postText(
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"tools/call","params":{"name":${JSON.stringify(name)},"arguments":${args}${_meta}}}`,
    )
  }

  request(method: string, params?: object): Promise<Answer> {
    return this.post({ id: randomUUID(), method, ...(params && { params }) })
  }

  post(message: object): Promise<Answer> {
    return this.postText(JSON.stringify({ jsonrpc: '2.0', ...message }))
  }

  /** Posts a request and yields each message on its stream. */
  async *stream(message: object): AsyncGenerator<RawMessage> {
    yield* this.#events(await this.#fetch(JSON.stringify({ jsonrpc: '2.0', ...message })))
  }

  async postText(body: string): Promise<Answer> {
    const response = await this.#fetch(body)
    this.session ??= response.headers.get('mcp-session-id') ?? undefined
    const type = response.headers.get('content-type') ?? ''
    const heard: RawMessage[] = []
    if (type.startsWith('text/event-stream')) {
      for await (const one of this.#events(response)) heard.push(one)
    } else {
      const text = await response.text()
      if (text !== '') heard.push({ text, message: JSON.parse(text) })
    }
    return { status: response.status, type, heard, last: heard.at(-1) ?? { text: '', message: {} } }
  }

  #fetch(body: string): Promise<Response> {
    return fetch(this.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...this.headers,
        ...(this.session !== undefined && { 'mcp-session-id': this.session }),
      },
      body,
      signal: this.#abort.signal,
    })
  }

  /** Opens the standalone stream and collects its messages. */
  async listen(): Promise<void> {
    const response = await fetch(this.url, {
      headers: { accept: 'text/event-stream', 'mcp-session-id': this.session ?? '' },
      signal: this.#abort.signal,
    })
    void this.#collect(response)
  }

  /** Resolves with the first matching message on the standalone stream. */
  async ambientIs(test: (heard: RawMessage) => boolean): Promise<RawMessage> {
    for (;;) {
      const found = this.ambient.find(test)
      if (found !== undefined) return found
      await new Promise<void>(resolve => {
        this.#heardAmbient = resolve
      })
    }
  }

  async end(): Promise<number> {
    const response = await fetch(this.url, {
      method: 'DELETE',
      headers: { 'mcp-session-id': this.session ?? '' },
    })
    this.#abort.abort()
    return response.status
  }

  /** Drops all connections without closing the session. */
  vanish(): void {
    this.#abort.abort()
  }

  async #collect(response: Response): Promise<void> {
    try {
      for await (const one of this.#events(response)) {
        this.ambient.push(one)
        this.#heardAmbient()
      }
    } catch {
      // The client or the proxy dropped the stream.
    }
  }

  async *#events(response: Response): AsyncGenerator<RawMessage> {
    let rest = ''
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const parts = (rest + chunk).split('\n\n')
      rest = parts.pop() ?? ''
      for (const part of parts) {
        const data = part
          .split('\n')
          .filter(line => line.startsWith('data:'))
          .map(line => line.slice(5).trimStart())
          .join('\n')
        if (data === '') continue
        const message = JSON.parse(data)
        if (message.method !== undefined && message.id !== undefined) void this.#answer(message)
        yield { text: data, message }
      }
    }
  }

  async #answer(message: { id: unknown; method: string; params: Loose }): Promise<void> {
    const answer = await this.onAsk(message.method, message.params)
    await this.post({ id: message.id, ...('code' in answer ? { error: answer } : { result: answer }) })
  }
}

/**
 * Calls the tool `good__echo` of a healthy server repeatedly until the returned function is called, which
 * checks all answers.
 */
export const probe = (t: Test, client: RawClient): (() => Promise<void>) => {
  let isOver = false
  let calls = 0
  let slowestMs = 0
  const wrong: string[] = []
  const run = async (): Promise<void> => {
    while (!isOver) {
      calls += 1
      const sinceMs = performance.now()
      const { last } = await client.call(`probe-${calls}`, 'good__echo', `{"n":${calls}}`)
      slowestMs = Math.max(slowestMs, performance.now() - sinceMs)
      if (last.message.result?.content?.[0]?.text !== `{"n":${calls}}`) wrong.push(last.text)
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  }
  const running = run()
  return async () => {
    isOver = true
    await running
    t.same(wrong, [], 'each call of the healthy server was answered rightly')
    t.comment(`${calls} calls, the slowest took ${Math.round(slowestMs)} ms`)
  }
}
