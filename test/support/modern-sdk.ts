import { Client, type JSONRPCMessage, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type JsonText, readJson } from '../../src/kernel/json/text.js'

/** A request as the official client sent it, with its headers if it did so over HTTP. */
export interface Sent {
  readonly method: string
  readonly params: JsonText | undefined
  readonly headers: Record<string, string>
}

/** The result that a stub answers a request with, as JSON. */
export type StubAnswer = (sent: Sent) => string

const STUB_CAPABILITIES = { sampling: {}, roots: {}, elicitation: { form: {}, url: {} } }

const sentOf = (body: string, headers: Record<string, string>): Sent & { id: unknown } => {
  const { id, method, params } = JSON.parse(body)
  return { id, method, params: params && readJson(Buffer.from(JSON.stringify(params))), headers }
}

const newClient = (): Client =>
  new Client(
    { name: 'sdk', version: '2' },
    { capabilities: STUB_CAPABILITIES, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )

/** An official client that speaks 2026-07-28 alone, connected through a pipe to a stub. */
export const sdkOnPipe = async (answer: StubAnswer): Promise<{ client: Client; sent: Sent[] }> => {
  const sent: Sent[] = []
  const client = newClient()
  const transport = {
    onmessage: undefined as ((message: JSONRPCMessage) => void) | undefined,
    onclose: undefined as (() => void) | undefined,
    start: async () => {},
    close: async () => transport.onclose?.(),
    send: async (message: JSONRPCMessage) => {
      const request = sentOf(JSON.stringify(message), {})
      sent.push(request)
      if (request.id === undefined) return
      const result = JSON.parse(answer(request))
      setImmediate(() => transport.onmessage?.({ jsonrpc: '2.0', id: request.id, result } as JSONRPCMessage))
    },
  }
  await client.connect(transport as never)
  return { client, sent }
}

/** The same over HTTP, without a network. */
export const sdkOnHttp = async (answer: StubAnswer): Promise<{ client: Client; sent: Sent[] }> => {
  const sent: Sent[] = []
  const client = newClient()
  const fetch = async (_url: unknown, init?: { body?: unknown; headers?: unknown; method?: string }) => {
    if (init?.method !== 'POST') return new Response(null, { status: 405 })
    const request = sentOf(String(init.body), Object.fromEntries(new Headers(init.headers as never)))
    sent.push(request)
    if (request.id === undefined) return new Response(null, { status: 202 })
    const body = `{"jsonrpc":"2.0","id":${JSON.stringify(request.id)},"result":${answer(request)}}`
    return new Response(body, { status: 200, headers: { 'content-type': 'application/json' } })
  }
  await client.connect(
    new StreamableHTTPClientTransport(new URL('http://stub/mcp'), { fetch: fetch as never }),
  )
  return { client, sent }
}
