import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  type ClientCapabilities,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import t, { type Test } from 'tap'
import { startProxy } from '../support/proxy/start.js'

const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const GROWING = fileOf('../fixtures/growing-server.mjs')
const EVERYTHING = fileOf('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js')

/** A client that counts how often it was told that the tools have changed. */
class Watching extends Client {
  changes = 0
  #changed: () => void = () => undefined

  constructor(capabilities: ClientCapabilities = {}) {
    super({ name: 'client', version: '1' }, { capabilities })
    this.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      this.changes += 1
      this.#changed()
    })
  }

  async tools(): Promise<string[]> {
    return (await this.listTools()).tools.map(({ name }) => name).sort()
  }

  /** The tools as soon as there are so many, looked for whenever they have changed. */
  async toolsOnceThere(count: number): Promise<string[]> {
    for (;;) {
      const changed = new Promise<void>(resolve => {
        this.#changed = resolve
      })
      const tools = await this.tools()
      if (tools.length >= count) return tools
      await changed
    }
  }
}

const connect = async (t: Test, url: string, capabilities?: ClientCapabilities): Promise<Watching> => {
  const client = new Watching(capabilities)
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  t.teardown(() => client.close())
  return client
}

/** A client of 2026-07-28. */
const connectModern = async (t: Test, url: string, capabilities = {}): Promise<ModernClient> => {
  const versionNegotiation = { mode: { pin: '2026-07-28' } } as const
  const client = new ModernClient({ name: 'client', version: '2' }, { capabilities, versionNegotiation })
  await client.connect(new ModernTransport(new URL(url)))
  t.teardown(() => client.close())
  return client
}

const startHttp = async (t: Test): Promise<string> => {
  const child = spawn(process.execPath, [GROWING, 'http'], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill())
  for await (const line of createInterface({ input: child.stdout })) return line
  throw new Error('it did not start')
}

for (const kind of ['stdio', 'http'] as const) {
  t.test(`the items that a session finds at a server over ${kind} are visible to it alone`, async t => {
    const entry =
      kind === 'http'
        ? { url: await startHttp(t) }
        : { command: process.execPath, args: [GROWING], sharing: 'session' }
    const proxy = startProxy(t, { g: entry })
    const { url } = await proxy.listen({ port: 0 })
    const [other, finder] = [await connect(t, url), await connect(t, url)]
    for (const client of [other, finder]) t.same(await client.tools(), ['g__discover'])
    await finder.callTool({ name: 'g__discover' })
    const found = await finder.toolsOnceThere(57)
    t.equal(found.length, 57)
    t.match(await finder.callTool({ name: 'g__found_56' }), { content: [{ text: 'this is 56' }] })
    t.same(await other.tools(), ['g__discover'])
    t.equal(other.changes, 0)
    await t.rejects(other.callTool({ name: 'g__found_56' }), /Unknown tool: g__found_56/)
    t.same(await (await connect(t, url)).tools(), ['g__discover'])
  })
}

t.test('clients of 2026-07-28 have what their own connection has found, too', async t => {
  const proxy = startProxy(t, { g: { command: process.execPath, args: [GROWING] } })
  const { url } = await proxy.listen({ port: 0 })
  const [other, finder] = [await connectModern(t, url), await connectModern(t, url, { sampling: {} })]
  const toolsOf = async (client: ModernClient) => (await client.listTools()).tools.map(({ name }) => name)
  for (const client of [other, finder]) t.same(await toolsOf(client), ['g__discover'])
  await finder.callTool({ name: 'g__discover' })
  t.match(await finder.callTool({ name: 'g__found_56' }), { content: [{ text: 'this is 56' }] })
  t.equal((await toolsOf(finder)).length, 57)
  t.same(await toolsOf(other), ['g__discover'])
  await t.rejects(other.callTool({ name: 'g__found_56' }), /Unknown tool: g__found_56/)
})

/** What the server has for a client that is connected to it directly. */
const directly = async (capabilities: ClientCapabilities): Promise<string[]> => {
  const client = new Watching(capabilities)
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [EVERYTHING], stderr: 'ignore' }),
  )
  // It adds what the client can be asked for once it has been introduced, without waiting.
  await client.ping()
  const tools = await client.tools()
  await client.close()
  return tools.map(name => `e__${name}`)
}

t.test('clients of server-everything see the same as without a proxy, in any order of arrival', async t => {
  const able: ClientCapabilities = { roots: { listChanged: true }, sampling: {}, elicitation: {} }
  const kinds = [{}, able, { sampling: {} }]
  const expected = await Promise.all(kinds.map(directly))
  t.ok(new Set(expected.map(({ length }) => length)).size > 1, 'they are not the same')
  for (const order of [
    [0, 1, 2],
    [1, 2, 0],
  ]) {
    const proxy = startProxy(t, { e: { command: process.execPath, args: [EVERYTHING] } })
    const { url } = await proxy.listen({ port: 0 })
    for (const index of order) {
      const client = await connect(t, url, kinds[index])
      t.same(await client.toolsOnceThere(expected[index]?.length ?? 0), expected[index])
    }
    await proxy.close()
  }
})
