import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import t, { type Test } from 'tap'
import { stdioParameters } from '../support/client/sdk-transports.js'
import { BIN, startProxy } from '../support/proxy/start.js'

const INFO = { name: 'test', version: '1' }
const program = (name: string): string =>
  fileURLToPath(new URL(`../../node_modules/@modelcontextprotocol/${name}/dist/index.js`, import.meta.url))
const local = (name: string, ...args: string[]) => ({
  command: process.execPath,
  args: [program(name), ...args],
})

/** Lists, reads and calls what the reference server has, behind a prefix. */
const flows = async (t: Test, client: Client, alias: string): Promise<void> => {
  const { tools } = await client.listTools()
  t.ok(tools.some(({ name }) => name === `${alias}__echo`))
  const params = { name: `${alias}__echo`, arguments: { message: 'hi' } }
  t.match(await client.callTool(params), { content: [{ text: 'Echo: hi' }] })
  const { resources } = await client.listResources()
  const uri = resources.find(resource => resource.uri.startsWith(`${alias}+`))?.uri ?? ''
  t.equal((await client.readResource({ uri })).contents[0]?.uri, uri)
  const { prompts } = await client.listPrompts()
  t.ok(prompts.some(({ name }) => name === `${alias}__simple-prompt`))
}

t.test('a proxy in front of a proxy passes everything on, over each of its addresses', async t => {
  const inner = startProxy(t, {
    everything: local('server-everything', 'stdio'),
    memory: local('server-memory'),
    files: local('server-filesystem', t.testdir({ 'a.txt': 'here' })),
  })
  const { url, sseUrl, wsUrl } = await inner.listen({ port: 0 })
  const outer = startProxy(t, { http: { url }, sse: { url: sseUrl, type: 'sse' }, ws: { url: wsUrl } })
  const client = new Client(INFO)
  await client.connect(new StreamableHTTPClientTransport(new URL((await outer.listen({ port: 0 })).url)))
  for (const by of ['http', 'sse', 'ws']) {
    const echo = { name: `${by}__everything__echo`, arguments: { message: by } }
    t.match(await client.callTool(echo), { content: [{ text: `Echo: ${by}` }] })
    t.match(await client.callTool({ name: `${by}__memory__read_graph` }), {
      content: [{ text: /entities/ }],
    })
  }
  await client.close()
})

t.test('a client that knows stdio only reaches a running proxy through a bridge', async t => {
  const proxy = startProxy(t, { everything: local('server-everything', 'stdio') })
  const { url } = await proxy.listen({ port: 0 })
  const client = new Client(INFO)
  const command = [process.execPath, BIN, 'bridge', '--to', 'stdio', url]
  await client.connect(new StdioClientTransport(stdioParameters(command)))
  await flows(t, client, 'everything')
  await client.close()
})
