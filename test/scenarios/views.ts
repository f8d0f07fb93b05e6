import t, { type Test } from 'tap'
import WebSocket from 'ws'
import type { Proxy } from '../../src/app/proxy.js'
import { parseConfig } from '../../src/config/parse.js'
import { RawClient } from '../support/client/raw-client.js'
import { hello, mirrored, modern } from '../support/era/codec.js'
import { configFile, runHere, startBin, startProxy, tiny } from '../support/proxy/start.js'

const READING = { override: { echo: { annotations: { readOnlyHint: true } } } }

const SERVERS = {
  gh: { ...tiny(), tags: ['web'], tools: READING },
  fig: tiny(),
}

const VIEWS = {
  readonly: { annotations: { readOnlyHint: true }, prompts: false },
  web: { tags: ['web'], tools: { deny: ['*fail', '*refuse'] }, resources: false },
  pair: { servers: ['fi*'], tools: { allow: ['fig__echo', 'gh__echo'] } },
}

const start = async (t: Test, more: object = {}) => {
  const proxy = startProxy(t, SERVERS, { more: { views: VIEWS, listen: { port: 0 }, ...more } })
  const { localUrl, port } = await proxy.listen({ port: 0 })
  return { proxy, url: localUrl, port }
}

const join = async (url: string, name = 'raw'): Promise<RawClient> => {
  const client = new RawClient(url)
  await client.post({
    id: 'i',
    method: 'initialize',
    params: hello('2025-11-25', {}, { name, version: '1' }),
  })
  await client.post({ method: 'notifications/initialized' })
  return client
}

const namesOf = async (client: RawClient, list = 'tools', member = list): Promise<readonly string[]> => {
  const { last } = await client.request(`${list}/list`)
  const items = last.message.result?.[member] as readonly { name: string }[] | undefined
  return items?.map(({ name }) => name) ?? []
}

const NAMES = ['echo', 'strict', 'fail', 'refuse', 'picture', 'facts']
const all = (server: string): readonly string[] => NAMES.map(name => `${server}__${name}`)

const reload = (proxy: Proxy, more: object): void => {
  const { config } = parseConfig(JSON.stringify({ mcpServers: SERVERS, ...more }), 'test.json', {})
  if (config === undefined) throw new Error('bad test configuration')
  proxy.reload(config)
}

t.test('a client of a view sees its part of all there is, and nothing else exists for it', async t => {
  const { url } = await start(t)
  const everything = await join(url)
  t.strictSame(await namesOf(everything), [...all('gh'), ...all('fig')])
  const web = await join(`${url}/web`)
  t.strictSame(
    await namesOf(web),
    all('gh').filter(name => !/fail|refuse/.test(name)),
  )
  t.strictSame(await namesOf(web, 'resources'), [])
  t.strictSame(await namesOf(web, 'prompts'), ['gh__greet'])
  t.equal((await web.call(1, 'gh__echo')).last.message.error, undefined)
  for (const hidden of ['gh__fail', 'fig__echo', 'GH__echo', 'gh__Fail', ' gh__fail', 'fail']) {
    const { error } = (await web.call(2, hidden)).last.message
    t.equal(error?.code, -32602, hidden)
    t.equal(error?.message, `Unknown tool: ${hidden}`)
  }
  t.equal((await web.request('prompts/get', { name: 'fig__greet' })).last.message.error?.code, -32602)
  const uri = 'memo+gh://one'
  for (const method of ['resources/read', 'resources/subscribe', 'resources/unsubscribe'])
    t.equal((await web.request(method, { uri })).last.message.error?.code, -32602, method)
  const ref = { type: 'ref/resource', uri }
  const asked = await web.request('completion/complete', { ref, argument: { name: 'a', value: '' } })
  t.equal(asked.last.message.error?.code, -32602)
})

t.test(
  'what a view leaves out is unknown in it, not its method, also if nothing of its kind is left',
  async t => {
    const { url } = await start(t)
    const reading = await join(`${url}/readonly`)
    const prompt = await reading.request('prompts/get', { name: 'gh__greet' })
    t.equal(prompt.last.message.error?.code, -32602)
    const ref = { type: 'ref/prompt', name: 'gh__greet' }
    const asked = await reading.request('completion/complete', { ref, argument: { name: 'a', value: '' } })
    t.equal(asked.last.message.error?.code, -32602)
    const body = modern(1, 'resources/read', { uri: 'memo+gh://one' })
    const answer = await fetch(`${url}/web`, {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...mirrored(body),
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
    })
    t.match(await answer.text(), /"code":-32602/)
    t.equal((await reading.request('tools/nothing')).last.message.error?.code, -32601)
  },
)

t.test('a view can go by annotations, names of servers and names of tools', async t => {
  const { url } = await start(t)
  const reading = await join(`${url}/readonly`)
  t.strictSame(await namesOf(reading), ['gh__echo'])
  t.strictSame(await namesOf(reading, 'prompts'), [])
  t.strictSame(await namesOf(await join(`${url}/pair`)), ['fig__echo'])
})

t.test('the paths of server cards are 404 for every method, whatever the views', async t => {
  const { url } = await start(t)
  for (const path of ['server-card', 'server-card/', 'web/server-card'])
    for (const method of ['GET', 'POST', 'DELETE']) {
      const response = await fetch(`${url}/${path}`, { method })
      t.equal(response.status, 404, `${method} ${path}`)
      t.match(response.headers.get('content-type'), 'application/json')
      t.match(await response.json(), { error: /^Not found/ })
    }
  const file = configFile(t, SERVERS, { views: { 'server-card': {} } })
  t.match(await runHere(t, 'check', '--config', file), { code: 1, out: /views\.server-card.*reserved/ })
})

t.test('a view that is not there is 404, and its neighbours are named on this machine', async t => {
  const { url } = await start(t)
  for (const name of ['nope', 'WEB', '%77eb', 'web//', 'nope/'])
    t.equal((await fetch(`${url}/${name}`, { method: 'POST' })).status, 404, name)
  const answer = await fetch(`${url}/nope`)
  t.match(await answer.json(), { error: /there is no view nope; there are: default, readonly, web, pair/ })
})

t.test('a session belongs to the view that it began with', async t => {
  const { url } = await start(t)
  const web = await join(`${url}/web`)
  const thief = new RawClient(url)
  thief.session = web.session
  t.equal((await thief.request('tools/list')).status, 404)
})

t.test('clients of 2026-07-28 have a view by the address of each request', async t => {
  const { url } = await start(t)
  const ask = async (path: string): Promise<string> => {
    const body = modern(1, 'tools/list')
    const response = await fetch(url + path, {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...mirrored(body),
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
    })
    return response.text()
  }
  t.notMatch(await ask('/web'), /fig__echo/)
  t.match(await ask(''), /fig__echo/)
  t.notMatch(await ask('/web'), /fig__echo/)
})

t.test('WebSockets and HTTP+SSE have views by their addresses too', async t => {
  const { port } = await start(t)
  const socket = new WebSocket(`ws://127.0.0.1:${port}/ws/readonly`, 'mcp')
  t.teardown(() => socket.terminate())
  const heard = (id: number): Promise<string> =>
    new Promise(resolve => {
      socket.on('message', (data: Buffer) => {
        if (data.includes(`"id":${id}`)) resolve(data.toString())
      })
    })
  await new Promise(resolve => socket.once('open', resolve))
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: hello('2025-11-25') }))
  await heard(1)
  socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }))
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/list' }))
  const list = await heard(2)
  t.match(list, /gh__echo/)
  t.notMatch(list, /gh__fail/)

  const abort = new AbortController()
  t.teardown(() => abort.abort())
  const stream = await fetch(`http://127.0.0.1:${port}/sse/readonly`, {
    headers: { accept: 'text/event-stream' },
    signal: abort.signal,
  })
  const { value } = (await stream.body?.getReader().read()) ?? {}
  t.match(Buffer.from(value ?? []).toString(), /data: \.\.\/messages\/readonly\?sessionId=/)
})

t.test('a client gets a view by its name, if it asks for none', async t => {
  const { url } = await start(t, { clients: { 'cursor*': { view: 'readonly' } } })
  t.strictSame(await namesOf(await join(url, 'cursor-vscode')), ['gh__echo'])
  t.equal((await namesOf(await join(url, 'other'))).length, 12)
  t.strictSame(await namesOf(await join(`${url}/pair`, 'cursor')), ['fig__echo'])
})

t.test('the view named default applies to all other clients', async t => {
  const { url } = await start(t, { views: { default: { servers: ['fig'] } } })
  t.strictSame(await namesOf(await join(url)), all('fig'))
  t.strictSame(await namesOf(await join(`${url}/default`)), all('fig'))
})

t.test('a server that is in no view of a connected client is not started by it', async t => {
  const { proxy, url } = await start(t)
  const pair = await join(`${url}/pair`)
  await namesOf(pair)
  await pair.call(1, 'gh__echo')
  const { servers } = proxy.status()
  t.strictSame(
    servers.map(({ name, pids }) => [name, pids.length]),
    [
      ['gh', 0],
      ['fig', 1],
    ],
  )
})

t.test(
  'sessions keep their view when it is changed or removed, and are told once what that does',
  async t => {
    const { proxy, url } = await start(t)
    const [web, pair] = [await join(`${url}/web`), await join(`${url}/pair`)]
    await web.listen()
    await namesOf(web)
    await namesOf(pair)
    reload(proxy, { views: { ...VIEWS, web: { servers: ['fig'], tools: { allow: ['*facts'] } } } })
    const isChange = ({ message }: { readonly message: { method?: string } }): boolean =>
      message.method === 'notifications/tools/list_changed'
    await web.ambientIs(isChange)
    t.strictSame(await namesOf(web), ['fig__facts'])
    t.equal(web.ambient.filter(isChange).length, 1)
    reload(proxy, { views: { readonly: VIEWS.readonly } })
    t.strictSame(await namesOf(pair), ['fig__echo'])
    t.strictSame(await namesOf(web), ['fig__facts'])
    t.equal((await fetch(`${url}/pair`, { method: 'POST' })).status, 404)
  },
)

t.test('stdio and the daemon take the name of a view, and refuse one that is not there', async t => {
  const file = configFile(t, SERVERS, { views: VIEWS })
  const wrong = await runHere(t, 'stdio', '--config', file, '--view', 'nope')
  t.equal(wrong.code, 2)
  t.match(wrong.err, /there is no view nope; there are: default, readonly, web, pair/)
  for (const verb of ['stdio', 'connect']) {
    const running = startBin(t, [verb, '--config', file, '--view', 'readonly'])
    running.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params: hello('2025-11-25') })
    await running.line(/"id":1/)
    running.send(
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, method: 'tools/list' },
    )
    const list = await running.line(/"id":2/)
    t.match(list, /gh__echo/, verb)
    t.notMatch(list, /gh__fail/, verb)
  }
  const refused = startBin(t, ['connect', '--config', file, '--view', 'nope'])
  t.equal(await refused.exited, 4)
  t.match(refused.err, /there is no view nope/)
})
