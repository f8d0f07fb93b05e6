import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import type { Loose } from '../support/client/raw-client.js'
import { stdioParameters } from '../support/client/sdk-transports.js'
import { BIN, startProxy } from '../support/proxy/start.js'
import { startServer } from '../support/server/started-server.js'

// The official clients of every age, each with the transport of its days.

/** A client of some SDK, as far as all of them have it. */
interface OldClient {
  connect(transport: unknown): Promise<void>
  setRequestHandler(what: unknown, answer: (request: Loose) => Promise<object>): void
  listTools(params?: object): Promise<Loose>
  listPrompts(params?: object): Promise<Loose>
  listResources(params?: object): Promise<Loose>
  callTool(params: object, schema?: unknown, options?: object): Promise<Loose>
  readResource(params: object): Promise<Loose>
  getPrompt(params: object): Promise<Loose>
  close(): Promise<void>
}

/** Where the proxy is. */
interface Place {
  readonly command: readonly string[]
  readonly url: string
  readonly sseUrl: string
  readonly wsUrl: string
}

interface Opened {
  readonly client: OldClient
  readonly transport: unknown
  readonly sampling: unknown
  /** Undefined before there was any. */
  readonly elicitation: unknown
}

interface Sdk {
  readonly open: (place: Place) => Promise<Opened>
  /** A tool is called by its parameters and options, without the schema of its result. */
  readonly isNew?: boolean
}

const INFO = { name: 'test', version: '1' }
const CAPABILITIES = { capabilities: { sampling: {}, elicitation: {} } }
const SAMPLED = { role: 'assistant', content: { type: 'text', text: 'a haiku' }, model: 'test' }
const SERVERS = ['legacy', 'legacyhttp', 'modern', 'modernhttp']
const REVISIONS: Readonly<Record<string, string>> = { modern: '2026-07-28', modernhttp: '2026-07-28' }

/** A package of SDK v1 with one of its transports. */
const v1 = (
  client: () => Promise<{ Client: unknown }>,
  types: () => Promise<{ CreateMessageRequestSchema: unknown; ElicitRequestSchema?: unknown }>,
  transport: (place: Place) => Promise<unknown>,
): Sdk => ({
  open: async place => {
    const { Client } = (await client()) as { Client: new (info: object, options: object) => OldClient }
    const { CreateMessageRequestSchema: sampling, ElicitRequestSchema: elicitation } = await types()
    const options = elicitation === undefined ? { capabilities: { sampling: {} } } : CAPABILITIES
    return { client: new Client(INFO, options), transport: await transport(place), sampling, elicitation }
  },
})

const v2 = (mode: 'legacy' | 'auto' | { pin: string }): Sdk => ({
  isNew: true,
  open: async ({ url }) => {
    const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
    const client = new Client(INFO, { ...CAPABILITIES, versionNegotiation: { mode } }) as unknown as OldClient
    return {
      client,
      transport: new StreamableHTTPClientTransport(new URL(url)),
      sampling: 'sampling/createMessage',
      elicitation: 'elicitation/create',
    }
  },
})

const SDKS: Readonly<Record<string, Sdk>> = {
  '1.0.4 on stdio': v1(
    () => import('sdk-1.0.4/client/index.js'),
    () => import('sdk-1.0.4/types.js'),
    async ({ command }) => {
      const { StdioClientTransport } = await import('sdk-1.0.4/client/stdio.js')
      return new StdioClientTransport(stdioParameters(command))
    },
  ),
  '1.7.0 over HTTP+SSE': v1(
    () => import('sdk-1.7.0/client/index.js'),
    () => import('sdk-1.7.0/types.js'),
    async ({ sseUrl }) => new (await import('sdk-1.7.0/client/sse.js')).SSEClientTransport(new URL(sseUrl)),
  ),
  '1.11.4 over Streamable HTTP': v1(
    () => import('sdk-1.11.4/client/index.js'),
    () => import('sdk-1.11.4/types.js'),
    async ({ url }) => {
      const { StreamableHTTPClientTransport } = await import('sdk-1.11.4/client/streamableHttp.js')
      return new StreamableHTTPClientTransport(new URL(url))
    },
  ),
  '1.13.3 over Streamable HTTP': v1(
    () => import('sdk-1.13.3/client/index.js'),
    () => import('sdk-1.13.3/types.js'),
    async ({ url }) => {
      const { StreamableHTTPClientTransport } = await import('sdk-1.13.3/client/streamableHttp.js')
      return new StreamableHTTPClientTransport(new URL(url))
    },
  ),
  '1.20.2 over WebSocket': v1(
    () => import('sdk-1.20.2/client/index.js'),
    () => import('sdk-1.20.2/types.js'),
    async ({ wsUrl }) => {
      // The SDK takes the one of the platform, which Node has from 22 on.
      ;(globalThis as { WebSocket: unknown }).WebSocket ??= WebSocket
      const { WebSocketClientTransport } = await import('sdk-1.20.2/client/websocket.js')
      return new WebSocketClientTransport(new URL(wsUrl))
    },
  ),
  '1.25.3 over Streamable HTTP': v1(
    () => import('sdk-1.25.3/client/index.js'),
    () => import('sdk-1.25.3/types.js'),
    async ({ url }) => {
      const { StreamableHTTPClientTransport } = await import('sdk-1.25.3/client/streamableHttp.js')
      return new StreamableHTTPClientTransport(new URL(url))
    },
  ),
  '1.32.2 over Streamable HTTP': v1(
    () => import('@modelcontextprotocol/sdk/client/index.js'),
    () => import('@modelcontextprotocol/sdk/types.js'),
    async ({ url }) => {
      const { StreamableHTTPClientTransport } = await import(
        '@modelcontextprotocol/sdk/client/streamableHttp.js'
      )
      return new StreamableHTTPClientTransport(new URL(url))
    },
  ),
  '2.4.0 in its mode legacy': v2('legacy'),
  '2.4.0 in its mode auto': v2('auto'),
  '2.4.0 in its mode modern': v2({ pin: '2026-07-28' }),
}

const SAMPLING = {
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: 'Write' } }], maxTokens: 5 },
}

/** Lists, reads, fills in and calls what a server has, and lets it ask. */
const session = async (t: Test, client: OldClient, alias: string, isNew: boolean): Promise<void> => {
  const call = async (tool: string, args: object, options: object = {}): Promise<Loose> => {
    const params = { name: `${alias}__${tool}`, arguments: args }
    const answer = isNew
      ? await client.callTool(params, options)
      : await client.callTool(params, undefined, options)
    return JSON.parse(answer.content[0].text)
  }
  t.same(await call('echo', { a: 'é' }), { a: 'é' }, `${alias}: a tool`)
  const key = `${t.name} ${alias}`
  t.match(await call('ask', { ...SAMPLING, key }), SAMPLED, `${alias}: a sample`)
  t.same(await call('ran', { key }), { begun: 1, done: 1 }, `${alias}: which was taken once`)
  const uri = `${alias}+file:///2`
  t.match(
    await client.readResource({ uri }),
    { contents: [{ uri, text: 'text of file:///2' }] },
    `${alias}: a resource`,
  )
  const prompt = await client.getPrompt({ name: `${alias}__prompt-1`, arguments: { word: 'Ulm' } })
  t.equal(prompt.messages[0].content.text, 'prompt-1 Ulm', `${alias}: a prompt`)
  await t.rejects(
    client.callTool({ name: `${alias}__fail`, arguments: {} }),
    /it broke/,
    `${alias}: an error`,
  )
}

const OWN = ['find_tools', 'describe_tools', 'call_read_tool', 'call_write_tool', 'read_result']
const ELICITATION = {
  method: 'elicitation/create',
  params: { message: 'Which?', requestedSchema: { type: 'object', properties: { day: { type: 'string' } } } },
}
const ELICITED = { action: 'accept', content: { day: 'monday' } }

/** The place of the view in which tools are searched. */
const searching = ({ command, url, sseUrl, wsUrl }: Place): Place => ({
  command: [...command, '--view', 'searching'],
  url: `${url}/searching`,
  sseUrl: `${sseUrl}/searching`,
  wsUrl: `${wsUrl}/searching`,
})

/** Finds tools and calls them, has one ask its user, and cancels one. */
const search = async (
  t: Test,
  { client, sampling, elicitation }: Opened,
  alias: string,
  isNew: boolean,
): Promise<void> => {
  const own = async (name: string, args: object, options: object = {}): Promise<string> => {
    const params = { name, arguments: args }
    const answer = isNew
      ? await client.callTool(params, options)
      : await client.callTool(params, undefined, options)
    return answer.content[0].text
  }
  const at = async (server: string, tool: string, args: object, options?: object): Promise<Loose> =>
    JSON.parse(await own('call_write_tool', { name: `${server}__${tool}`, arguments: args }, options))
  const through = (tool: string, args: object): Promise<Loose> => at(alias, tool, args)
  t.match(await own('find_tools', { query: 'echo', server: alias }), `\n${alias}__echo [write]`)
  t.match(await own('describe_tools', { names: [`${alias}__echo`] }), 'schema: {"type":"object"}')
  t.match(await own('call_read_tool', { name: `${alias}__echo` }), 'use call_write_tool')
  t.same(await through('echo', { a: 'é' }), { a: 'é' }, `${alias}: a call`)
  const key = `${t.name} ${alias}`
  if (elicitation === undefined) {
    client.setRequestHandler(sampling, async () => SAMPLED)
    t.match(await through('ask', { ...SAMPLING, key }), SAMPLED, `${alias}: a sample`)
  } else {
    client.setRequestHandler(elicitation, async () => ELICITED)
    t.match(await through('ask', { ...ELICITATION, key }), ELICITED, `${alias}: an answer of its user`)
  }
  t.same(await through('ran', { key }), { begun: 1, done: 1 }, `${alias}: which was taken once`)
  const abort = new AbortController()
  const begun = { signal: abort.signal, onprogress: () => abort.abort(new Error('enough')) }
  // A cancelled call may still ask: no other client of its program is asked for a while.
  const waiting = alias === 'legacy' ? 'waiting' : alias
  await t.rejects(at(waiting, 'wait', { key }, begun), /enough|abort/i, `${alias}: a call is cancelled`)
  t.match(await at(waiting, 'cancels', { key }), { stopped: 1 }, `${alias}: and its server hears of it`)
}

t.setTimeout(600_000)
t.test('clients of every age list and call everything, at servers of both eras behind one proxy', async t => {
  const entries = await Promise.all(
    SERVERS.map(async alias => {
      const kind = alias.endsWith('http') ? 'http' : 'stdio'
      const { entry } = await startServer(t, kind, REVISIONS[alias] ?? '2025-11-25')
      return [alias, entry] as const
    }),
  )
  const { entry: waiting } = await startServer(t, 'stdio', '2025-11-25')
  const servers = { ...Object.fromEntries(entries), waiting }
  const views = { searching: { servers: ['legacy', 'modern', 'waiting'], expose: 'search' } }
  const face = await startProxy(t, servers, { startupWait: '20s', more: { views } }).listen({ port: 0 })
  const file = join(t.testdir(), 'mcp.json')
  writeFileSync(file, JSON.stringify({ mcpServers: servers, views, startupWait: '20s', knownServers: false }))
  const place = {
    command: [process.execPath, BIN, 'stdio', '--config', file],
    url: face.url,
    sseUrl: face.sseUrl ?? '',
    wsUrl: face.wsUrl ?? '',
  }
  for (const [title, { open, isNew = false }] of Object.entries(SDKS)) {
    await t.test(title, async t => {
      const { client, transport, sampling } = await open(place)
      client.setRequestHandler(sampling, async () => SAMPLED)
      await client.connect(transport)
      t.teardown(() => client.close())
      const names = async (page: Promise<Loose>, member: string, name: string): Promise<string[]> =>
        (await page)[member].map((item: Loose) => item[name])
      const tools = await names(client.listTools(), 'tools', 'name')
      const prompts = await names(client.listPrompts(), 'prompts', 'name')
      const resources = await names(client.listResources(), 'resources', 'uri')
      for (const alias of SERVERS) {
        t.ok(tools.includes(`${alias}__echo`), `${alias}: its tools are listed`)
        t.ok(prompts.includes(`${alias}__prompt-5`), `${alias}: its prompts are listed`)
        t.ok(resources.includes(`${alias}+file:///5`), `${alias}: its resources are listed`)
        await session(t, client, alias, isNew)
      }
    })
    await t.test(`${title}, searching tools`, async t => {
      const opened = await open(searching(place))
      const { client, transport } = opened
      await client.connect(transport)
      t.teardown(() => client.close())
      const { tools } = await client.listTools()
      t.same(
        tools.map(({ name }: Loose) => name),
        OWN,
      )
      for (const alias of ['legacy', 'modern']) await search(t, opened, alias, isNew)
    })
  }
})
