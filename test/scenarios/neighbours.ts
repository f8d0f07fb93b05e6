import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import t, { type Test } from 'tap'
import { endWith, OWN_GROUP } from '../support/processes.js'
import { BIN, startProxy } from '../support/proxy/start.js'

const INFO = { name: 'test', version: '1' }
const PRINT_PORT = new URL('../fixtures/print-port.mjs', import.meta.url).href
const program = (name: string): string =>
  fileURLToPath(new URL(`../../node_modules/@modelcontextprotocol/${name}/dist/index.js`, import.meta.url))
const local = (name: string, ...args: string[]) => ({
  command: process.execPath,
  args: [program(name), ...args],
})

/** The reference server over a transport of its own; resolves with its address. */
const everythingAt = (t: Test, mode: 'streamableHttp' | 'sse'): Promise<string> => {
  const args = ['--import', PRINT_PORT, program('server-everything'), mode]
  const child = spawn(process.execPath, args, { ...OWN_GROUP, env: { ...process.env, PORT: '0' } })
  endWith(t, child)
  let said = ''
  return new Promise((resolve, reject) => {
    child.stderr.on('data', chunk => {
      said += String(chunk)
      const port = /^listening (\d+)$/m.exec(said)?.[1]
      if (port !== undefined) resolve(`http://127.0.0.1:${port}/${mode === 'sse' ? 'sse' : 'mcp'}`)
    })
    child.once('exit', () => reject(new Error(`the server ended: ${said}`)))
  })
}

/** Lists, reads and calls what the reference server has, behind a prefix. */
const flows = async (t: Test, client: ClientV1 | ClientV2, alias: string): Promise<void> => {
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

t.test('a client of 2024-11-05 uses servers over Streamable HTTP, HTTP+SSE and stdio alike', async t => {
  const [newer, older] = await Promise.all([everythingAt(t, 'streamableHttp'), everythingAt(t, 'sse')])
  const proxy = startProxy(t, {
    newer: { url: newer },
    older: { url: older },
    stdio: local('server-everything', 'stdio'),
  })
  const { sseUrl = '' } = await proxy.listen({ port: 0 })
  const client = new ClientV1(INFO, { capabilities: {} })
  await client.connect(new SSEClientTransport(new URL(sseUrl)))
  for (const alias of ['newer', 'older', 'stdio']) await flows(t, client, alias)
  await client.close()
})

t.test('clients of SDK v1 and v2 over Streamable HTTP use a server over HTTP+SSE', async t => {
  const proxy = startProxy(t, { older: { url: await everythingAt(t, 'sse') } })
  const face = await proxy.listen({ port: 0 })
  const v1 = new ClientV1(INFO)
  await v1.connect(new HttpV1(new URL(face.url)))
  const v2 = new ClientV2(INFO)
  await v2.connect(new HttpV2(new URL(face.url)))
  await flows(t, v1, 'older')
  await flows(t, v2, 'older')
  await Promise.all([v1.close(), v2.close()])
})

t.test('a proxy in front of a proxy passes everything on, over each of its addresses', async t => {
  const inner = startProxy(t, {
    everything: local('server-everything', 'stdio'),
    memory: local('server-memory'),
    files: local('server-filesystem', t.testdir({ 'a.txt': 'here' })),
  })
  const { url, sseUrl, wsUrl } = await inner.listen({ port: 0 })
  const outer = startProxy(t, { http: { url }, sse: { url: sseUrl, type: 'sse' }, ws: { url: wsUrl } })
  const client = new ClientV1(INFO)
  await client.connect(new HttpV1(new URL((await outer.listen({ port: 0 })).url)))
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
  const client = new ClientV1(INFO)
  const args = [BIN, 'bridge', '--to', 'stdio', url]
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' }))
  await flows(t, client, 'everything')
  await client.close()
})
