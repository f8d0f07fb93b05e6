import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ProgressNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import t, { type Test } from 'tap'
import { until } from '../support/processes.js'
import { rawServer, startProxy } from '../support/proxy/start.js'

const BIN = fileURLToPath(new URL('../../bin/mcp-proxy.js', import.meta.url))
const EVERYTHING = {
  command: process.execPath,
  args: [
    fileURLToPath(
      new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
    ),
    'stdio',
  ],
}
const INFO = { name: 'test', version: '1' }

/** The flows of an ordinary session, with the client of SDK v1 over whatever transport. */
async function flows(t: Test, client: ClientV1): Promise<void> {
  const updated: string[] = []
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
    updated.push(params.uri)
  })
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///here', name: 'here' }] }))
  client.setRequestHandler(CreateMessageRequestSchema, () => ({
    role: 'assistant' as const,
    content: { type: 'text' as const, text: 'a haiku' },
    model: 'test',
  }))
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' as const }))
  const { tools } = await client.listTools()
  t.ok(tools.some(tool => tool.name === 'everything__echo') && tools.some(tool => tool.name === 'raw__echo'))
  const echo = await client.callTool({ name: 'everything__echo', arguments: { message: 'hi' } })
  t.match(echo.content, [{ text: 'Echo: hi' }])
  const steps: number[] = []
  // Not where the SDK tells of progress: it has forgotten the call when the last progress comes along with the answer.
  client.setNotificationHandler(ProgressNotificationSchema, ({ params }) => void steps.push(params.progress))
  await client.callTool(
    { name: 'everything__trigger-long-running-operation', arguments: { duration: 0.2, steps: 4 } },
    undefined,
    { onprogress: () => undefined },
  )
  t.same(steps, [1, 2, 3, 4])
  const sampled = await client.callTool({
    name: 'everything__trigger-sampling-request',
    arguments: { prompt: 'x', maxTokens: 5 },
  })
  t.match(JSON.stringify(sampled), /a haiku/)
  const elicited = await client.callTool({ name: 'everything__trigger-elicitation-request', arguments: {} })
  t.match(JSON.stringify(elicited), /declined/i)
  t.match(
    JSON.stringify(await client.callTool({ name: 'everything__get-roots-list', arguments: {} })),
    /file:\/\/\/here/,
  )
  const { resources } = await client.listResources()
  const uri = resources.find(resource => resource.uri.startsWith('everything+'))?.uri ?? ''
  t.equal((await client.readResource({ uri })).contents[0]?.uri, uri)
  await client.subscribeResource({ uri: 'raw+file:///a' })
  await client.callTool({ name: 'raw__touch', arguments: { uri: 'file:///a' } })
  // Over HTTP it comes on a stream of its own, before or after the answer.
  await until(() => updated.length > 0, 'the update')
  await client.unsubscribeResource({ uri: 'raw+file:///a' })
  t.same(updated, ['raw+file:///a'])
  const prompt = await client.getPrompt({ name: 'everything__args-prompt', arguments: { city: 'Ulm' } })
  t.match(JSON.stringify(prompt), /Ulm/)
  const completed = await client.complete({
    ref: { type: 'ref/prompt', name: 'everything__completable-prompt' },
    argument: { name: 'department', value: 'E' },
  })
  t.same(completed.completion.values, ['Engineering'])
  await client.setLoggingLevel('error')
  await client.ping()
  await t.rejects(client.callTool({ name: 'everything__nope' }), { code: -32602 })
}

const capabilities = { sampling: {}, elicitation: {}, roots: { listChanged: true } }

t.test('the client of SDK v1 works over HTTP, and ends its session', async t => {
  const proxy = startProxy(t, { everything: EVERYTHING, raw: rawServer() })
  const face = await proxy.listen({ port: 0 })
  const client = new ClientV1(INFO, { capabilities })
  const transport = new HttpV1(new URL(face.url))
  await client.connect(transport)
  await flows(t, client)
  t.equal(face.sessions, 1)
  await transport.terminateSession()
  t.equal(face.sessions, 0)
  await client.close()
})

t.test('the client of SDK v1 works on stdio, and leaves nothing behind', async t => {
  const file = join(mkdtempSync(join(tmpdir(), 'mcp-proxy-')), 'config.json')
  writeFileSync(
    file,
    JSON.stringify({
      mcpServers: { everything: EVERYTHING, raw: rawServer() },
      startupWait: '60s',
      knownServers: false,
    }),
  )
  const client = new ClientV1(INFO, { capabilities })
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [BIN, 'stdio', '--config', file],
    stderr: 'ignore',
  })
  await client.connect(transport)
  await flows(t, client)
  await client.close()
})

/** The flows of a client without a session, with the client of SDK v2 over whatever transport. */
async function modernFlows(t: Test, client: ClientV2): Promise<void> {
  t.equal(client.getProtocolEra(), 'modern')
  const updated: string[] = []
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
    updated.push(params.uri)
  })
  client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///here', name: 'here' }] }))
  client.setRequestHandler('sampling/createMessage', () => ({
    role: 'assistant' as const,
    content: { type: 'text' as const, text: 'a haiku' },
    model: 'test',
  }))
  client.setRequestHandler('elicitation/create', () => ({ action: 'decline' as const }))
  const { tools } = await client.listTools()
  t.ok(tools.some(tool => tool.name === 'everything__echo') && tools.some(tool => tool.name === 'raw__echo'))
  const steps: number[] = []
  await client.callTool(
    { name: 'everything__trigger-long-running-operation', arguments: { duration: 0.2, steps: 4 } },
    { onprogress: ({ progress }) => steps.push(progress) },
  )
  // This client reports a question, such as for the roots, as progress too, and forgets progress that comes with the answer.
  t.same([...new Set(steps)].slice(0, 3), [1, 2, 3])
  const sampled = await client.callTool({
    name: 'everything__trigger-sampling-request',
    arguments: { prompt: 'x', maxTokens: 5 },
  })
  t.match(JSON.stringify(sampled), /a haiku/)
  const elicited = await client.callTool({ name: 'everything__trigger-elicitation-request', arguments: {} })
  t.match(JSON.stringify(elicited), /declined/i)
  const { resources } = await client.listResources()
  const uri = resources.find(resource => resource.uri.startsWith('everything+'))?.uri ?? ''
  t.equal((await client.readResource({ uri })).contents[0]?.uri, uri)
  const subscription = await client.listen({ resourceSubscriptions: ['raw+file:///a'] })
  t.same(subscription.honoredFilter, { resourceSubscriptions: ['raw+file:///a'] })
  await client.callTool({ name: 'raw__touch', arguments: { uri: 'file:///a' } })
  await until(() => updated.length > 0, 'the update')
  t.same(updated, ['raw+file:///a'])
  await subscription.close()
  const prompt = await client.getPrompt({ name: 'everything__args-prompt', arguments: { city: 'Ulm' } })
  t.match(JSON.stringify(prompt), /Ulm/)
  const completed = await client.complete({
    ref: { type: 'ref/prompt', name: 'everything__completable-prompt' },
    argument: { name: 'department', value: 'E' },
  })
  t.same(completed.completion.values, ['Engineering'])
  await t.rejects(client.callTool({ name: 'everything__nope' }), { code: -32602 })
  const stop = new AbortController()
  const given = client.callTool({ name: 'raw__wait', arguments: {} }, { signal: stop.signal })
  await client.callTool({ name: 'raw__echo' })
  stop.abort()
  await t.rejects(given)
  let seen = ''
  while (!seen.includes('notifications/cancelled'))
    seen = JSON.stringify(await client.callTool({ name: 'raw__seen', arguments: {} }))
}

t.test('the client of SDK v2 works over HTTP, whether it insists on a handshake or finds out', async t => {
  const proxy = startProxy(t, { everything: EVERYTHING, raw: rawServer() })
  const face = await proxy.listen({ port: 0 })
  const url = new URL(face.url)
  const legacy = new ClientV2(INFO, { capabilities, versionNegotiation: { mode: 'legacy' } })
  await legacy.connect(new HttpV2(url))
  t.equal(legacy.getProtocolEra(), 'legacy')
  t.ok((await legacy.listTools()).tools.length > 20)
  t.equal(face.sessions, 1)
  for (const mode of ['auto', { pin: '2026-07-28' }] as const) {
    const client = new ClientV2(INFO, { capabilities, versionNegotiation: { mode } })
    await client.connect(new HttpV2(url))
    await modernFlows(t, client)
    await client.close()
  }
  const echo = await legacy.callTool({ name: 'raw__echo', arguments: { a: 1 } })
  t.match(echo, { content: [{ text: '{"a":1}' }] }, 'the session goes on beside them')
  t.equal(face.sessions, 1)
  await legacy.close()
})

t.test('the client of SDK v2 works on stdio, and finds out what it can speak', async t => {
  const file = join(mkdtempSync(join(tmpdir(), 'mcp-proxy-')), 'config.json')
  writeFileSync(
    file,
    JSON.stringify({
      mcpServers: { everything: EVERYTHING, raw: rawServer() },
      startupWait: '60s',
      knownServers: false,
    }),
  )
  const client = new ClientV2(INFO, { capabilities, versionNegotiation: { mode: 'auto' } })
  await client.connect(
    new StdioV2({ command: process.execPath, args: [BIN, 'stdio', '--config', file], stderr: 'ignore' }),
  )
  await modernFlows(t, client)
  await client.close()
})
