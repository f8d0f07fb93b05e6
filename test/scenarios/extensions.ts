import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { until } from '../support/processes.js'
import { startProxy } from '../support/proxy/start.js'
import { startPlainServer } from '../support/server/plain-http-server.js'

const SERVER = fileURLToPath(new URL('../fixtures/extension-server.mjs', import.meta.url))
const META = 'io.modelcontextprotocol/'
const UI = `${META}ui`
const ERAS = ['legacy', 'modern'] as const
type Era = (typeof ERAS)[number]

/** Settings that do not survive parsing. */
const ODD = String.raw`{"n":12345678901234567890,"f":1.0,"\u00e9":"\u00e9"}`
const APPS = `{"extensions":{"${UI}":${ODD}}}`

const extended = (era: Era, capabilities = '{"tools":{}}', more: object = {}) => ({
  command: process.execPath,
  args: [SERVER, era, capabilities],
  ...more,
})

/** A client of either era that declares capabilities given as text. */
interface Peer {
  readonly raw: RawClient
  notify(method: string, params: string): Promise<void>
  send(method: string, params?: string, meta?: string, header?: string): Promise<Loose>
  /** All messages about the last request, as text. */
  readonly heard: readonly string[]
  /** The result of `initialize` or `server/discover`, as text. */
  readonly welcome: string
}

const connect = async (t: Test, url: string, era: Era, capabilities = '{}'): Promise<Peer> => {
  const client = new RawClient(url)
  t.teardown(() => client.vanish())
  let id = 0
  let heard: readonly string[] = []
  const envelope = `"${META}protocolVersion":"2026-07-28","${META}clientCapabilities":${capabilities}`
  const send = async (method: string, params = '', meta = '', header?: string): Promise<Loose> => {
    id += 1
    if (era === 'modern') {
      const name = header ?? /"name":"(\w+)"/.exec(params)?.[1]
      client.headers = {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...(name !== undefined && { 'mcp-name': name }),
      }
    }
    const metas = [...(era === 'modern' ? [envelope] : []), ...(meta === '' ? [] : [meta])].join(',')
    const members = [...(params === '' ? [] : [params]), ...(metas === '' ? [] : [`"_meta":{${metas}}`])]
    const answer = await client.postText(
      `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{${members.join(',')}}}`,
    )
    heard = answer.heard.map(({ text }) => text)
    return answer.last.message
  }
  if (era === 'modern') await send('server/discover')
  else {
    const params = `"protocolVersion":"2025-11-25","capabilities":${capabilities},"clientInfo":{"name":"c","version":"1"}`
    await send('initialize', params)
    await client.post({ method: 'notifications/initialized' })
  }
  const welcome = heard.at(-1) ?? ''
  const notify = async (method: string, params: string): Promise<void> => {
    client.headers = era === 'modern' ? { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method } : {}
    const meta = era === 'modern' ? `,"_meta":{${envelope}}` : ''
    await client.postText(`{"jsonrpc":"2.0","method":"${method}","params":{${params}${meta}}}`)
  }
  return {
    raw: client,
    send,
    notify,
    welcome,
    get heard() {
      return heard
    },
  }
}

const toolsOf = async (peer: Peer): Promise<readonly string[]> => {
  const { result } = await peer.send('tools/list')
  return result.tools.map(({ name }: Loose) => name)
}

/** The lines that a server received, from its own tool. */
const seenBy = async (peer: Peer, tool: string): Promise<readonly string[]> => {
  const { result } = await peer.send('tools/call', `"name":"${tool}"`)
  return JSON.parse(result.content[0].text)
}

for (const client of ERAS)
  for (const server of ERAS) {
    const pair = `a ${client} client and a ${server} server`

    t.test(`${pair}: settings of apps reach the server byte for byte, others do not`, async t => {
      const proxy = startProxy(t, { a: extended(server) })
      const { url } = await proxy.listen({ port: 0 })
      const declared = `{"extensions":{"${UI}":${ODD},"com.example/x":{},"${META}oauth-client-credentials":{}},"experimental":{"y":{}}}`
      const seen = await seenBy(await connect(t, url, client, declared), 'a__seen')
      const told = seen.filter(line => /"method":"(initialize|tools\/(list|call))"/.test(line))
      t.ok(told.length > 1)
      for (const line of server === 'modern' ? told.slice(1) : told.slice(0, 1))
        t.match(line, APPS.slice(1, -1), line)
      t.notMatch(seen.join(), /com\.example|oauth-client|experimental/)
    })

    t.test(`${pair}: clients with and without apps see their own lists at the same time`, async t => {
      const proxy = startProxy(t, { a: extended(server) })
      const { url } = await proxy.listen({ port: 0 })
      const plain = await connect(t, url, client)
      const apps = await connect(t, url, client, APPS)
      for (let round = 0; round < 2; round += 1) {
        t.same(await toolsOf(plain), ['a__plain', 'a__seen', 'a__needy'])
        t.same(await toolsOf(apps), ['a__plain', 'a__seen', 'a__needy', 'a__dash'])
      }
      const scopes = [plain, apps].map(({ heard }) => /"cacheScope":"(\w+)"/.exec(heard.at(-1) ?? '')?.[1])
      t.same(scopes, client === 'modern' ? ['private', 'private'] : [undefined, undefined])
      const third = await connect(t, url, client, APPS)
      t.same(await toolsOf(third), ['a__plain', 'a__seen', 'a__needy', 'a__dash'])
      t.equal(proxy.status().servers[0]?.pids?.length, server === 'modern' ? 1 : 2)
    })

    if (server === 'modern')
      t.test(`${pair}: an error names the extension that a merging proxy cannot pass on`, async t => {
        const proxy = startProxy(t, { a: extended(server) })
        const { url } = await proxy.listen({ port: 0 })
        const needy = async (capabilities: string): Promise<Loose> => {
          const peer = await connect(t, url, client, capabilities)
          return (await peer.send('tools/call', '"name":"a__needy"')).error
        }
        t.match(await needy('{"extensions":{"com.example/x":{}}}'), {
          code: -32603,
          message: 'Server a requires extension com.example/x, which cannot be merged; use bridge',
        })
        t.equal((await needy('{}')).code, client === 'modern' ? -32021 : -32603)
      })

    t.test(
      `${pair}: a single server and its client know each other's extensions and experiments`,
      async t => {
        const extensions = `"${UI}":${ODD},"com.example/x":{"a":1.0},"${META}oauth-client-credentials":{}`
        const announced = `{"tools":{},"extensions":{${extensions}},"experimental":{"e":{"b":2.0}}}`
        const proxy = startProxy(t, { a: extended(server, announced) }, { isAlone: true })
        const { url } = await proxy.listen({ port: 0 })
        const peer = await connect(
          t,
          url,
          client,
          `{"extensions":{${extensions}},"experimental":{"e":{"b":2.0}}}`,
        )
        const told = (await seenBy(peer, 'seen')).filter(line =>
          /"method":"(initialize|tools\/call)"/.test(line),
        )
        for (const text of [peer.welcome, told.at(server === 'modern' ? -1 : 0) ?? '']) {
          for (const part of [
            `"${UI}":${ODD}`,
            '"com.example/x":{"a":1.0}',
            '"experimental":{"e":{"b":2.0}}',
          ])
            t.ok(text.includes(part), `${part} in ${text}`)
          t.notMatch(text, /oauth-client/)
        }
      },
    )

    t.test(`${pair}: skills are announced by all proxies, and served by several servers' one`, async t => {
      const announced = `{"tools":{},"extensions":{"${META}skills":{"directoryRead":true},"${UI}":{}}}`
      const serve = startProxy(t, { a: extended(server, announced) })
      const merging = await connect(t, (await serve.listen({ port: 0 })).url, client)
      t.match(merging.welcome, `"extensions":{"${META}skills":{"directoryRead":true},"${UI}":{}}`)
      t.same((await merging.send('skills/list')).result.skills, [], 'a server may refuse what it announces')
      const bridge = startProxy(t, { a: extended(server, announced) }, { isAlone: true })
      const single = await connect(t, (await bridge.listen({ port: 0 })).url, client)
      t.match(single.welcome, `"${META}skills":{"directoryRead":true}`)
    })

    t.test(`${pair}: a proxy of several servers has neither interceptors nor events`, async t => {
      const announced = `{"tools":{},"interceptors":{},"extensions":{"${META}events":{},"com.example/x":{}}}`
      const proxy = startProxy(t, { a: extended(server, announced) })
      const peer = await connect(t, (await proxy.listen({ port: 0 })).url, client)
      t.notMatch(peer.welcome, /interceptors|events|extensions/)
      for (const method of ['interceptors/list', 'interceptor/invoke', 'events/list', 'events/poll'])
        t.match((await peer.send(method)).error, { code: -32601, message: `Method not found: ${method}` })
    })

    t.test(`${pair}: requests of unknown methods pass to a single server, byte for byte`, async t => {
      const proxy = startProxy(t, { a: extended(server) }, { isAlone: true })
      const { url } = await proxy.listen({ port: 0 })
      const peer = await connect(t, url, client, '{"extensions":{"com.example/x":{}}}')
      await peer.send('vendor/do', '"n":12345678901234567890,"f":1.0', '"v.x/k":1')
      const envelope = client === 'modern' ? '"resultType":"complete",' : ''
      t.match(peer.heard.at(-1), '"ok":1.0,"z":null')
      t.equal(/"resultType":"complete"/.test(peer.heard.at(-1) ?? ''), envelope !== '')
      const fault = await peer.send('vendor/fail')
      t.same(fault.error, { code: 4711, message: 'no', data: { d: 1 } })
      t.match((await peer.send('interceptors/list')).result, { interceptors: [] })
      t.match((await peer.send('events/list')).result, { events: [{ name: 'x' }] })
      t.match((await peer.send('prompts/get', '"name":"x"')).error, {
        code: -32601,
        message: 'Method not found: prompts/get',
      })
      const later = await peer.send('vendor/later')
      if (server === 'legacy' || client === 'modern')
        t.match(peer.heard.at(-1), '"resultType":"com.example/later","n":12345678901234567890')
      else t.equal(later.error.code, -32603)
      const seen = await seenBy(peer, 'seen')
      const line = seen.find(one => one.includes('vendor/do')) ?? ''
      t.match(line, '"params":{"n":12345678901234567890,"f":1.0,"_meta":{"v.x/k":1')
      t.equal(line.includes('protocolVersion'), server === 'modern')
    })

    t.test(`${pair}: unknown notifications pass in both directions, under the names of each hop`, async t => {
      const proxy = startProxy(t, { a: extended(server) }, { isAlone: true })
      const { url } = await proxy.listen({ port: 0 })
      const peer = await connect(t, url, client)
      await peer.notify('notifications/vendor/early', '"x":1.0')
      await peer.send('vendor/notes', '', '"progressToken":"tok"')
      t.same(
        peer.heard.map(text => JSON.parse(text)).map(({ params, result }) => params ?? result.done),
        [...[1, 2, 3].map(n => ({ n, _meta: { progressToken: 'tok', 'v.x/k': 1 } })), true],
      )
      await peer.send('vendor/unnamed')
      t.match(
        peer.heard[0],
        '"method":"notifications/vendor/note","params":{"n":1}',
        'the only call in flight',
      )
      await peer.send('vendor/stream')
      const [first, second, last] = peer.heard.map(text => JSON.parse(text))
      t.equal(first.params._meta[`${META}subscriptionId`], last.id)
      t.equal(second.params.n, 2)
      await peer.notify('notifications/vendor/seen', '"x":1.0')
      const seen = await seenBy(peer, 'seen')
      for (const name of ['early', 'seen']) {
        const line = seen.find(one => one.includes(`notifications/vendor/${name}`)) ?? ''
        t.match(line, '"params":{"x":1.0')
        t.equal(line.includes('protocolVersion'), server === 'modern')
      }
    })

    if (server === 'legacy')
      t.test(`${pair}: an unknown request of a single server reaches a session`, async t => {
        const proxy = startProxy(t, { a: extended(server) }, { isAlone: true })
        const { url } = await proxy.listen({ port: 0 })
        const peer = await connect(t, url, client)
        peer.raw.onAsk = (method, params) =>
          method === 'vendor/askClient' && params.q === 1 ? { code: 4711, message: 'no', data: { d: 1 } } : {}
        const { result } = await peer.send('vendor/ask')
        t.match(
          result.outcome,
          client === 'legacy'
            ? { code: 4711, message: 'no', data: { d: 1 } }
            : { code: -32601, message: 'Method not found: vendor/askClient' },
        )
        if (client !== 'legacy') return
        await peer.raw.listen()
        await peer.send('vendor/ambient')
        const { text } = await peer.raw.ambientIs(
          ({ message }) => message.method === 'notifications/vendor/ambient',
        )
        t.match(text, '"params":{"x":1}')
      })
  }

for (const sharing of ['principal', 'session', 'all'] as const)
  t.test(`${sharing}: requests of the proxy itself declare the extensions of all clients`, async t => {
    const announced = '{"tools":{"listChanged":true}}'
    const proxy = startProxy(t, {
      a: extended('modern', announced, { sharing }),
      b: extended('modern', announced, { sharing }),
    })
    const { url } = await proxy.listen({ port: 0 })
    const own = async (peer: Peer, server: string): Promise<readonly string[]> =>
      (await seenBy(peer, `${server}__seen`)).filter(line => /"method":"(server|subscriptions)\//.test(line))
    const apps = await connect(t, url, 'modern', APPS)
    t.ok((await toolsOf(apps)).includes('a__dash'))
    const [discover, listen] = await own(apps, 'a')
    t.match(listen, APPS.slice(1, -1))
    // The era of the server is not known yet, and one with sessions must not learn of its clients.
    if (sharing === 'all') t.notMatch(discover, 'extensions')
    else t.match(discover, APPS.slice(1, -1))
    t.match(listen, '"method":"subscriptions/listen"')
    // A client with another declaration joins.
    const skills = await connect(t, url, 'modern', `{"extensions":{"${META}skills":{}}}`)
    await toolsOf(skills)
    await until(async () => {
      const last = (await own(skills, 'a')).at(-1) ?? ''
      return last.includes(APPS.slice(1, -2)) && last.includes(`"${META}skills":{}`)
    }, 'a stream that declares both')
  })

t.test('a notification that no client can receive is counted', async t => {
  const proxy = startProxy(t, { a: extended('legacy') }, { isAlone: true })
  const { url } = await proxy.listen({ port: 0 })
  const peer = await connect(t, url, 'modern')
  await peer.send('vendor/ambient')
  const counted = 'mcp_proxy_notifications_dropped_total{server="a"} 1'
  await until(
    async () => (await (await fetch(new URL('/metrics', url))).text()).includes(counted),
    'the counter of the server',
  )
})

t.test('a client of a single server of 2026-07-28 listens for what only the two understand', async t => {
  const proxy = startProxy(t, { a: extended('modern') }, { isAlone: true })
  const { url } = await proxy.listen({ port: 0 })
  const peer = await connect(t, url, 'modern')
  await peer.send('subscriptions/listen', '"notifications":{"toolsListChanged":true,"vendorTopics":["x"]}')
  const heard = peer.heard.map(text => JSON.parse(text))
  t.same(
    heard.map(({ method }) => method),
    [
      'notifications/subscriptions/acknowledged',
      'notifications/tools/list_changed',
      'notifications/vendor/topic',
      undefined,
    ],
  )
  const id = heard.at(-1).id
  for (const { params, result } of heard) t.equal((params ?? result)._meta[`${META}subscriptionId`], id)
  t.same(heard[0].params.notifications, { toolsListChanged: true, vendorTopics: ['x'] })
})

t.test('over HTTP an unknown request keeps the name that its client gave it', async t => {
  const { entry, seen } = await startPlainServer(t, '2026-07-28')
  const proxy = startProxy(t, { a: entry }, { isAlone: true })
  const { url } = await proxy.listen({ port: 0 })
  const peer = await connect(t, url, 'modern')
  await peer.send('vendor/echo', '"x":1', '', '=?base64?w7xua25vd24=?=')
  await peer.notify('notifications/vendor/seen', '"x":1')
  const echoed = seen.find(({ message }) => message.method === 'vendor/echo')?.headers ?? {}
  t.equal(echoed['mcp-method'], 'vendor/echo')
  t.equal(echoed['mcp-name'], '=?base64?w7xua25vd24=?=')
  const noticed = (): Loose => seen.find(({ message }) => message.method === 'notifications/vendor/seen')
  while (noticed() === undefined) await new Promise(resolve => setImmediate(resolve))
  t.equal(noticed().headers['mcp-method'], 'notifications/vendor/seen')
  t.equal(noticed().message.params._meta[`${META}protocolVersion`], '2026-07-28')
})
