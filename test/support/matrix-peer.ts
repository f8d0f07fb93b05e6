import { Client as ClientV2, type McpSubscription } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { AnyTransport } from './matrix-transports.js'
import type { Loose } from './raw-client.js'

/** How a call is made. */
export interface CallOptions {
  readonly signal?: AbortSignal
  readonly onprogress?: () => void
}

/** The lists of a server, by the member that holds their items. */
export type List = 'tools' | 'prompts' | 'resources' | 'resourceTemplates'

const LIST_METHODS = {
  tools: 'tools/list',
  prompts: 'prompts/list',
  resources: 'resources/list',
  resourceTemplates: 'resources/templates/list',
} as const

/** What a person at a client answers, by method. */
export type Answers = Readonly<
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
  /** One page of a list. */
  list(list: List, cursor?: string): Promise<{ items: Loose[]; next: string | undefined }>
  callTool(name: string, args?: object, options?: CallOptions): Promise<Loose>
  readResource(uri: string): Promise<Loose>
  getPrompt(name: string, args: Readonly<Record<string, string>>): Promise<Loose>
  complete(ref: object, argument: { name: string; value: string }): Promise<Loose>
  /** Wants to hear when the tools change; before 2026-07-28 a client hears it anyway. */
  hearChanges(): Promise<void>
  subscribe(...uris: readonly string[]): Promise<void>
  /** Ends what was begun with `subscribe` for this URI. */
  unsubscribe(uri: string): Promise<void>
  /** Wants log messages from this level on. */
  setLevel(level: 'error' | 'warning'): Promise<void>
  /** Asks for a sign of life. */
  ping(): Promise<void>
}

const INFO = { name: 'test', version: '1' }
const CAPABILITIES = { sampling: {}, elicitation: {}, roots: { listChanged: true } }
const MODERN_CAPABILITIES = { sampling: {}, elicitation: { form: {} }, roots: {} }

/** The client of SDK v1, which shakes hands. */
export const legacyClient = (answers: Answers): AnyClient => {
  const client = new ClientV1(INFO, { capabilities: CAPABILITIES })
  const answer =
    (method: keyof Answers) =>
    ({ params }: { params?: unknown }): Loose =>
      answers[method](params)
  client.setRequestHandler(CreateMessageRequestSchema, answer('sampling/createMessage'))
  client.setRequestHandler(ElicitRequestSchema, answer('elicitation/create'))
  client.setRequestHandler(ListRootsRequestSchema, answer('roots/list'))
  const PAGES = {
    tools: cursor => client.listTools(cursor),
    prompts: cursor => client.listPrompts(cursor),
    resources: cursor => client.listResources(cursor),
    resourceTemplates: cursor => client.listResourceTemplates(cursor),
  } satisfies Record<List, (params: { cursor?: string }) => Promise<Loose>>
  const one: AnyClient = {
    onclose: undefined,
    connect(transport) {
      client.onclose = () => one.onclose?.()
      return client.connect(transport as never)
    },
    close: () => client.close(),
    get capabilities() {
      return client.getServerCapabilities()
    },
    get serverName() {
      return client.getServerVersion()?.name
    },
    get instructions() {
      return client.getInstructions()
    },
    async list(list, cursor) {
      const page: Loose = await PAGES[list](cursor === undefined ? {} : { cursor })
      return { items: page[list], next: page.nextCursor }
    },
    callTool: (name, args = {}, options = {}) =>
      client.callTool({ name, arguments: { ...args } }, undefined, options),
    readResource: uri => client.readResource({ uri }),
    getPrompt: (name, args) => client.getPrompt({ name, arguments: args }),
    complete: (ref, argument) => client.complete({ ref: ref as never, argument }),
    hearChanges: () => Promise.resolve(),
    async subscribe(...uris) {
      for (const uri of uris) await client.subscribeResource({ uri })
    },
    async unsubscribe(uri) {
      await client.unsubscribeResource({ uri })
    },
    async setLevel(level) {
      await client.setLoggingLevel(level)
    },
    async ping() {
      await client.ping()
    },
  }
  return one
}

/** The client of SDK v2, which speaks 2026-07-28 and nothing else. */
export const modernClient = (answers: Answers): AnyClient => {
  const client = new ClientV2(INFO, {
    capabilities: MODERN_CAPABILITIES,
    versionNegotiation: { mode: { pin: '2026-07-28' } },
  })
  for (const method of Object.keys(answers) as (keyof Answers)[]) {
    client.setRequestHandler(method, (({ params }: { params?: unknown }) => answers[method](params)) as never)
  }
  const subscriptions = new Map<string, McpSubscription>()
  let level: string | undefined
  const meta = () => (level === undefined ? {} : { _meta: { 'io.modelcontextprotocol/logLevel': level } })
  const one: AnyClient = {
    onclose: undefined,
    connect(transport) {
      client.onclose = () => one.onclose?.()
      return client.connect(transport as never)
    },
    close: () => client.close(),
    get capabilities() {
      return client.getServerCapabilities()
    },
    get serverName() {
      return client.getServerVersion()?.name
    },
    get instructions() {
      return client.getInstructions()
    },
    async list(list, cursor) {
      // The SDK's own methods put all pages together.
      const params = cursor === undefined ? {} : { cursor }
      const page: Loose = await client.request({ method: LIST_METHODS[list], params })
      return { items: page[list], next: page.nextCursor }
    },
    callTool: (name, args = {}, options = {}) =>
      client.callTool({ name, arguments: { ...args }, ...meta() } as never, options),
    readResource: uri => client.readResource({ uri }),
    getPrompt: (name, args) => client.getPrompt({ name, arguments: args }),
    complete: (ref, argument) => client.complete({ ref: ref as never, argument }),
    async hearChanges() {
      subscriptions.set('', await client.listen({ toolsListChanged: true }))
    },
    async subscribe(...uris) {
      subscriptions.set(uris[0] ?? '', await client.listen({ resourceSubscriptions: [...uris] }))
    },
    async unsubscribe(uri) {
      await subscriptions.get(uri)?.close()
    },
    async setLevel(wanted) {
      level = wanted
    },
    async ping() {
      await client.discover()
    },
  }
  return one
}
