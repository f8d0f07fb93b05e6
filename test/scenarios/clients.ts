import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import t, { type Test } from 'tap'
import { until } from '../support/processes.js'
import { BIN, configFile, rawServer, startProxy } from '../support/proxy/start.js'

// What the SDKs do beside what test/matrix/ has them do over every transport.

const INFO = { name: 'test', version: '1' }
const ECHO = { name: 'raw__echo', arguments: { a: 1 } }
const ECHOED = { content: [{ text: '{"a":1}' }] }

t.test('the client of SDK v1 ends its session', async t => {
  const proxy = startProxy(t, { raw: rawServer() })
  const endpoint = await proxy.listen({ port: 0 })
  const client = new ClientV1(INFO)
  const transport = new HttpV1(new URL(endpoint.url))
  await client.connect(transport)
  await t.rejects(client.callTool({ name: 'raw__nope' }), { code: -32602 })
  t.equal(endpoint.sessions, 1)
  await transport.terminateSession()
  t.equal(endpoint.sessions, 0)
  await client.close()
})

/** A client that has found out that it can do without a session. */
const withoutSession = async (t: Test, client: ClientV2): Promise<void> => {
  t.equal(client.getProtocolEra(), 'modern')
  const updated: string[] = []
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
    updated.push(params.uri)
  })
  t.match(await client.callTool(ECHO), ECHOED)
  await t.rejects(client.callTool({ name: 'raw__nope' }), { code: -32602 })
  const subscription = await client.listen({ resourceSubscriptions: ['raw+file:///a'] })
  t.same(subscription.honoredFilter, { resourceSubscriptions: ['raw+file:///a'] })
  await client.callTool({ name: 'raw__touch', arguments: { uri: 'file:///a' } })
  await until(() => updated.length > 0, 'the update')
  t.same(updated, ['raw+file:///a'])
  await subscription.close()
}

t.test('the client of SDK v2 works over HTTP, whether it insists on a handshake or finds out', async t => {
  const proxy = startProxy(t, { raw: rawServer() })
  const endpoint = await proxy.listen({ port: 0 })
  const url = new URL(endpoint.url)
  const legacy = new ClientV2(INFO, { versionNegotiation: { mode: 'legacy' } })
  await legacy.connect(new HttpV2(url))
  t.equal(legacy.getProtocolEra(), 'legacy')
  t.equal(endpoint.sessions, 1)
  for (const mode of ['auto', { pin: '2026-07-28' }] as const) {
    const client = new ClientV2(INFO, { versionNegotiation: { mode } })
    await client.connect(new HttpV2(url))
    await withoutSession(t, client)
    await client.close()
  }
  t.match(await legacy.callTool(ECHO), ECHOED, 'the session goes on beside them')
  t.equal(endpoint.sessions, 1)
  await legacy.close()
})

t.test('the client of SDK v2 works on stdio, and finds out what it can speak', async t => {
  const file = configFile(t, { raw: rawServer() }, { startupWait: '60s', knownServers: false })
  const client = new ClientV2(INFO, { versionNegotiation: { mode: 'auto' } })
  await client.connect(
    new StdioV2({ command: process.execPath, args: [BIN, 'stdio', '--config', file], stderr: 'ignore' }),
  )
  await withoutSession(t, client)
  await client.close()
})
