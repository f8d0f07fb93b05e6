import {
  Client,
  type JSONRPCMessage,
  type McpSubscription,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { Test } from 'tap'
import { Deferred } from '../../../src/kernel/async/deferred.js'
import { type JsonText, readJson } from '../../../src/kernel/json/text.js'
import type { Rig } from '../../matrix/flows/rig.js'
import { MODERN, type Revision } from '../era/codec.js'
import type { Loose } from './raw-client.js'
import { type Address, type AnyTransport, type ClientKind, transportTo, Wire } from './sdk-transports.js'

/** Options of a call. */
export interface CallOptions {
  readonly signal?: AbortSignal
  readonly onprogress?: () => void
  /** Maximum time in milliseconds that the SDK waits; 60 s by default. */
  readonly timeout?: number
}

/** A server's lists, by the member that holds the items. */
export type List = 'tools' | 'prompts' | 'resources' | 'resourceTemplates'

const LIST_METHODS = {
  tools: 'tools/list',
  prompts: 'prompts/list',
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
} as const

/** A user's answers at the client, by method. */
type Answers = Readonly<
  Record<'sampling/createMessage' | 'elicitation/create' | 'roots/list', (params: unknown) => object>
>

/** An official client of either era, as the flows use it. */
export interface AnyClient {
  connect(transport: AnyTransport): Promise<void>
  close(): Promise<void>
  onclose: (() => void) | undefined
  readonly capabilities: unknown
  readonly serverName: string | undefined
  readonly instructions: string | undefined
  /** Returns one page of a list. */
  list(list: List, cursor?: string): Promise<{ items: Loose[]; next: string | undefined }>
  callTool(name: string, args?: object, options?: CallOptions): Promise<Loose>
  readResource(uri: string): Promise<Loose>
  getPrompt(name: string, args: Readonly<Record<string, string>>): Promise<Loose>
  complete(ref: object, argument: { name: string; value: string }): Promise<Loose>
  /** Subscribes to tool list changes; clients before 2026-07-28 receive them anyway. */
  hearChanges(): Promise<void>
  subscribe(...uris: readonly string[]): Promise<void>
  /** Ends a subscription for this URI. */
  unsubscribe(uri: string): Promise<void>
  /** Requests log messages from this level up. */
  setLevel(level: 'error' | 'warning'): Promise<void>
  ping(): Promise<void>
}

const INFO = { name: 'test', version: '1' }
const CAPABILITIES = { sampling: {}, elicitation: {}, roots: { listChanged: true } }
const MODERN_CAPABILITIES = { sampling: {}, elicitation: { form: {} }, roots: {} }

/** The common part of both clients. */
abstract class SdkClient<C extends ClientV1 | Client> {
  onclose: (() => void) | undefined
  protected readonly client: C

  constructor(client: C) {
    this.client = client
    client.onclose = () => this.onclose?.()
  }

  connect(transport: AnyTransport): Promise<void> {
    return this.client.connect(transport)
  }

  close(): Promise<void> {
    return this.client.close()
  }

  get capabilities(): unknown {
    return this.client.getServerCapabilities()
  }

  get serverName(): string | undefined {
    return this.client.getServerVersion()?.name
  }

  get instructions(): string | undefined {
    return this.client.getInstructions()
  }

  readResource(uri: string): Promise<Loose> {
    return this.client.readResource({ uri })
  }

  getPrompt(name: string, args: Readonly<Record<string, string>>): Promise<Loose> {
    return this.client.getPrompt({ name, arguments: args })
  }

  complete(ref: object, argument: { name: string; value: string }): Promise<Loose> {
    return this.client.complete({ ref: ref as never, argument })
  }
}

/** The client of SDK v1, which performs a handshake. */
class LegacyClient extends SdkClient<ClientV1> implements AnyClient {
  constructor(answers: Answers) {
    const client = new ClientV1(INFO, { capabilities: CAPABILITIES })
    const answer =
      (method: keyof Answers) =>
      ({ params }: { params?: unknown }): Loose =>
        answers[method](params)
    client.setRequestHandler(CreateMessageRequestSchema, answer('sampling/createMessage'))
    client.setRequestHandler(ElicitRequestSchema, answer('elicitation/create'))
    client.setRequestHandler(ListRootsRequestSchema, answer('roots/list'))
    super(client)
  }

  async list(list: List, cursor?: string): Promise<{ items: Loose[]; next: string | undefined }> {
    const pages = {
      tools: params => this.client.listTools(params),
      prompts: params => this.client.listPrompts(params),
      resources: params => this.client.listResources(params),
      resourceTemplates: params => this.client.listResourceTemplates(params),
    } satisfies Record<List, (params: { cursor?: string }) => Promise<Loose>>
    const page: Loose = await pages[list](cursor === undefined ? {} : { cursor })
    return { items: page[list], next: page.nextCursor }
  }

  callTool(name: string, args: object = {}, options: CallOptions = {}): Promise<Loose> {
    return this.client.callTool({ name, arguments: { ...args } }, undefined, options)
  }

  async hearChanges(): Promise<void> {}

  async subscribe(...uris: readonly string[]): Promise<void> {
    for (const uri of uris) await this.client.subscribeResource({ uri })
  }

  async unsubscribe(uri: string): Promise<void> {
    await this.client.unsubscribeResource({ uri })
  }

  async setLevel(level: 'error' | 'warning'): Promise<void> {
    await this.client.setLoggingLevel(level)
  }

  async ping(): Promise<void> {
    await this.client.ping()
  }
}

/** The client of SDK v2, which speaks only 2026-07-28. */
class ModernClient extends SdkClient<Client> implements AnyClient {
  readonly #subscriptions = new Map<string, McpSubscription>()
  #meta: { readonly _meta?: Record<string, unknown> } = {}

  constructor(answers: Answers) {
    const client = new Client(INFO, {
      capabilities: MODERN_CAPABILITIES,
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    })
    for (const method of Object.keys(answers) as (keyof Answers)[]) {
      const answer = ({ params }: { params?: unknown }) => answers[method](params)
      client.setRequestHandler(method, answer as never)
    }
    super(client)
  }

  async list(list: List, cursor?: string): Promise<{ items: Loose[]; next: string | undefined }> {
    // The SDK's own methods join all pages.
    const params = cursor === undefined ? {} : { cursor }
    const page: Loose = await this.client.request({ method: LIST_METHODS[list], params })
    return { items: page[list], next: page.nextCursor }
  }

  callTool(name: string, args: object = {}, options: CallOptions = {}): Promise<Loose> {
    return this.client.callTool({ name, arguments: { ...args }, ...this.#meta }, options)
  }

  async hearChanges(): Promise<void> {
    this.#subscriptions.set('', await this.client.listen({ toolsListChanged: true }))
  }

  async subscribe(...uris: readonly string[]): Promise<void> {
    const subscription = await this.client.listen({ resourceSubscriptions: [...uris] })
    this.#subscriptions.set(uris[0] ?? '', subscription)
  }

  async unsubscribe(uri: string): Promise<void> {
    await this.#subscriptions.get(uri)?.close()
  }

  async setLevel(level: 'error' | 'warning'): Promise<void> {
    this.#meta = { _meta: { 'io.modelcontextprotocol/logLevel': level } }
  }

  async ping(): Promise<void> {
    await this.client.discover()
  }
}

export const ROOTS = [{ uri: 'file:///here', name: 'here' }]
export const SAMPLED = {
  role: 'assistant',
  content: { type: 'text', text: 'a haiku' },
  model: 'test',
} as const
export const ELICITED = { action: 'accept', content: { city: 'Ulm' } } as const

/** A client connected to a proxy. */
export interface Connected extends Pick<Rig, 'client' | 'wire' | 'asked' | 'isClosed'> {
  /** Delays answers to questions until the returned function is called. */
  think(): () => void
}

export const connectTo = async (
  t: Test,
  address: Address,
  kind: ClientKind,
  revision: Revision,
): Promise<Connected> => {
  const transport = transportTo(address, kind, revision === MODERN)
  const wire = new Wire(transport, revision)
  const asked: { method: string; params?: unknown }[] = []
  let thought: Promise<void> | undefined
  /** Records a question and answers it. */
  const answer =
    (method: string, result: object) =>
    async (params: unknown): Promise<object> => {
      asked.push(params === undefined ? { method } : { method, params })
      await thought
      return result
    }
  const think = () => {
    const thinking = new Deferred<void>()
    thought = thinking.promise
    return () => thinking.resolve()
  }
  const answers: Answers = {
    'sampling/createMessage': answer('sampling/createMessage', SAMPLED),
    'elicitation/create': answer('elicitation/create', ELICITED),
    'roots/list': answer('roots/list', { roots: ROOTS }),
  }
  const client = revision === MODERN ? new ModernClient(answers) : new LegacyClient(answers)
  let isClosed = false
  client.onclose = () => {
    isClosed = true
  }
  t.teardown(async () => {
    await transport.terminateSession?.()
    await client.close()
  })
  await client.connect(transport)
  return { client, wire, asked, isClosed: () => isClosed, think }
}

/** A request that the official client sent, with its headers over HTTP. */
export interface Sent {
  readonly method: string
  readonly params: JsonText | undefined
  readonly headers: Record<string, string>
}

/** Returns a stub's result for a request, as JSON. */
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

/** Connects an official client that speaks only 2026-07-28 to a stub through a pipe. */
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
  await client.connect(transport)
  return { client, sent }
}

/** Connects such a client over HTTP, without a network. */
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
  await client.connect(new StreamableHTTPClientTransport(new URL('http://stub/mcp'), { fetch: fetch }))
  return { client, sent }
}
