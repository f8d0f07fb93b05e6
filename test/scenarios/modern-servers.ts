import t, { type Test } from 'tap'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { startProxy } from '../support/proxy/start.js'
import { type MatrixServer, MODERN_SERVERS, startServer } from '../support/server/started-server.js'

const MODERN = '2026-07-28'
const URI = 'file:///1'

/** A client of the older era, in front of an official server that speaks 2026-07-28 alone. */
const clientOf = async (t: Test, server: MatrixServer): Promise<RawClient> => {
  const proxy = startProxy(t, { m: server.entry }, { startupWait: '60s' })
  const face = await proxy.listen({ port: 0 })
  const client = new RawClient(face.url)
  await client.initialize()
  await client.listen()
  t.teardown(() => client.vanish())
  return client
}

const textIn = ({ last }: { last: { message: Loose } }): string =>
  last.message.result?.content?.[0].text ?? JSON.stringify(last.message)

const call = async (client: RawClient, tool: string, args: object = {}): Promise<string> =>
  textIn(await client.call(crypto.randomUUID(), `m__${tool}`, JSON.stringify(args)))

const methodsTo = (server: MatrixServer): (string | undefined)[] =>
  server
    .hops()
    .filter(({ from }) => from === 'proxy')
    .map(({ message }) => message.method)

for (const kind of MODERN_SERVERS) {
  t.test(`an official server of 2026-07-28 over ${kind} has everything that an older one has`, async t => {
    const server = await startServer(t, kind, MODERN)
    const client = await clientOf(t, server)
    t.equal(methodsTo(server)[0], 'server/discover')
    const { last } = await client.request('tools/list')
    t.ok(last.message.result.tools.some(({ name }: Loose) => name === 'm__echo'))
    t.notOk('resultType' in last.message.result)
    t.equal(await call(client, 'echo', { n: 1 }), '{"n":1}')
    const progress = await client.call(1, 'm__progress', '{"count":3}', { progressToken: 'p' })
    t.match(
      progress.heard.slice(0, -1).map(({ message }) => message.params),
      [1, 2, 3].map(value => ({ progressToken: 'p', progress: value })),
    )
    const read = await client.request('resources/read', { uri: `m+${URI}` })
    t.match(read.last.message.result, { contents: [{ uri: `m+${URI}` }] })

    const subscribed = await client.request('resources/subscribe', { uri: `m+${URI}` })
    t.same(subscribed.last.message.result, {})
    t.equal(await call(client, 'touch', { uri: URI }), 'touched')
    const update = await client.ambientIs(
      ({ message }) => message.method === 'notifications/resources/updated',
    )
    t.same(update.message.params, { uri: `m+${URI}` })
    await client.request('resources/unsubscribe', { uri: `m+${URI}` })
    t.same(JSON.parse(await call(client, 'subscribed', { uri: URI, wanted: false })), [])

    t.equal(await call(client, 'add', { name: 'later' }), 'added')
    await client.ambientIs(({ message }) => message.method === 'notifications/tools/list_changed')
    const again = await client.request('tools/list')
    t.ok(again.last.message.result.tools.some(({ name }: Loose) => name === 'm__later'))

    void client.call('gone', 'm__wait', '{"key":"k"}')
    const cancel = { method: 'notifications/cancelled', params: { requestId: 'gone', reason: 'enough' } }
    const hasBegun = (): boolean => server.hops().some(({ message }) => message.params?.name === 'wait')
    while (!hasBegun()) await call(client, 'echo')
    await client.post(cancel)
    const { stopped, notices } = JSON.parse(await call(client, 'cancels', { key: 'k' }))
    t.equal(stopped, 1)
    t.equal(notices.length, kind === 'http' ? 0 : 1, 'over HTTP the closed stream says it')
  })
}
