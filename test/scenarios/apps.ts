import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { clientEnvelope, hello } from '../support/era/codec.js'
import { configured } from '../support/proxy/shared-daemon.js'
import { startBin, startProxy } from '../support/proxy/start.js'

const SERVER = fileURLToPath(new URL('../fixtures/app-server.mjs', import.meta.url))
const ERAS = ['legacy', 'modern'] as const
type Era = (typeof ERAS)[number]

const APPS = { extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } } }

const app = (era: Era, host = 'show', more: object = {}) => ({
  command: process.execPath,
  args: [SERVER, era, host],
  ...more,
})

/** A client of either era, with and without apps. */
class Host {
  readonly #raw: RawClient
  readonly #meta: object | undefined

  private constructor(raw: RawClient, meta: object | undefined) {
    this.#raw = raw
    this.#meta = meta
  }

  static async connect(t: Test, url: string, era: Era, capabilities: object = APPS): Promise<Host> {
    const raw = new RawClient(url)
    t.teardown(() => raw.vanish())
    if (era === 'modern') return new Host(raw, clientEnvelope(capabilities))
    await raw.post({ id: 0, method: 'initialize', params: hello('2025-11-25', capabilities) })
    await raw.post({ method: 'notifications/initialized' })
    return new Host(raw, undefined)
  }

  /** Sends a request and returns the text of its answer. */
  async text(method: string, params: Loose = {}): Promise<string> {
    const _meta = this.#meta
    if (_meta !== undefined) {
      const name: string | undefined = params.name ?? params.uri
      this.#raw.headers = {
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...(name !== undefined && { 'mcp-name': name }),
      }
    }
    const answer = await this.#raw.post({ id: 1, method, params: { ...params, ...(_meta && { _meta }) } })
    return answer.last.text
  }

  async ask(method: string, params?: object): Promise<Loose> {
    return JSON.parse(await this.text(method, params))
  }

  async tools(): Promise<readonly string[]> {
    return (await this.ask('tools/list')).result.tools.map(({ name }: Loose) => name)
  }

  /** Calls a tool as an app does, and returns its text. */
  async call(name: string): Promise<string> {
    const { result, error } = await this.ask('tools/call', { name, arguments: {} })
    return error?.message ?? result.content[0].text
  }
}

const ODD = String.raw`"csp":{"connectDomains":["https://\u0061.example"],"frameDomains":[]},"permissions":{"camera":{}},"domain":"d.example","prefersBorder":1.0`
const OTHERS = '"openai/widgetAccessible":true,"v.x/n":12345678901234567890'

/** The keys of interfaces with a URI, as the fixture writes them. */
const interfaces = (uri: string, more: string): string =>
  `{"ui":{"resourceUri":"${uri}"${more}},"ui/resourceUri":"${uri}","openai/outputTemplate":"${uri}",${OTHERS}}`

for (const client of ERAS)
  for (const server of ERAS) {
    const pair = `a ${client} client and a ${server} server`

    t.test(`${pair}: only the URIs of interfaces change, all other bytes stay`, async t => {
      const proxy = startProxy(t, { a: app(server) })
      const { url } = await proxy.listen({ port: 0 })
      const host = await Host.connect(t, url, client)
      const exposed = 'ui://a+show/app.html'
      const listed = await host.text('tools/list')
      const meta = interfaces(exposed, `,${ODD}`)
      const bare = interfaces(exposed, `,${ODD},"visibility":["app"]`)
      for (const [name, members] of [
        ['a__show', `,"_meta":${meta}`],
        ['a__refresh', ',"_meta":{"ui":{"visibility":["app"]}}'],
        ['show', `,"_meta":${bare}`],
        ['refresh', ',"_meta":{"ui":{"visibility":["app"]}}'],
        ['save', ',"_meta":{"ui":{"visibility":["app"]}}'],
      ])
        t.match(listed, `{"name":"${name}","inputSchema":{"type":"object"}${members}}`)
      const called = await host.text('tools/call', { name: 'show', arguments: {} })
      const data = '"structuredContent":{"n":12345678901234567890,"f":1.0,"uri":"ui://show/app.html"}'
      t.match(called, `"content":[{"type":"text","text":"ui://show/app.html"}],${data}`)
      t.match(called, interfaces(exposed, '').slice(0, -1))
      const resources = await host.text('resources/list')
      const about = `"name":"app","mimeType":"text/html;profile=mcp-app","_meta":{"ui":{${ODD}}}`
      t.match(resources, `[{"uri":"${exposed}",${about}}]`)
      const html = String.raw`"mimeType":"text/html+skybridge","text":"<a href='ui://show/app.html'>\u0061</a>"`
      for (const uri of [exposed, 'ui://show/app.html'])
        t.match(
          await host.text('resources/read', { uri }),
          `"contents":[{"uri":"${exposed}",${html},"_meta":{"ui":{${ODD}},"openai/widgetDomain":"x"}}]`,
          `by ${uri}`,
        )
    })

    t.test(`${pair}: of several apps, a session means the one that it has opened`, async t => {
      const proxy = startProxy(t, { a: app(server), b: app(server, 'board') })
      const { url } = await proxy.listen({ port: 0 })
      const several = 'Several servers have the tool refresh; name one of: a__refresh, b__refresh'
      for (const open of ['call', 'read']) {
        const host = await Host.connect(t, url, client)
        t.same(
          await host.tools(),
          ['a', 'b'].flatMap(one => ['show', 'refresh', 'save'].map(name => `${one}__${name}`)),
          'no name of two servers is listed',
        )
        t.match((await host.ask('tools/call', { name: 'refresh' })).error, {
          code: -32602,
          message: several,
          data: { tool: 'refresh' },
        })
        if (open === 'call') await host.call('b__show')
        else await host.ask('resources/read', { uri: 'ui://b+board/app.html' })
        t.equal(await host.call('refresh'), client === 'legacy' ? 'refresh of board' : several, open)
        t.equal(await host.call('a__refresh'), 'refresh of show')
      }
      const other = await Host.connect(t, url, client)
      t.equal(await other.call('refresh'), several, 'what others have opened does not matter')
    })

    t.test(`${pair}: an interface that two servers have is read by its exposed URI`, async t => {
      const proxy = startProxy(t, { a: app(server), b: app(server) })
      const { url } = await proxy.listen({ port: 0 })
      const host = await Host.connect(t, url, client)
      const { error } = await host.ask('resources/read', { uri: 'ui://show/app.html' })
      t.equal(error.code, -32602)
      t.match(error.message, 'ui://a+show/app.html, ui://b+show/app.html')
      t.match(await host.ask('resources/read', { uri: 'ui://b+show/app.html' }), {
        result: { contents: [{}] },
      })
    })
  }

for (const sharing of ['principal', 'session', 'all'])
  t.test(`with servers shared by ${sharing}, only hosts of apps see what apps call`, async t => {
    const proxy = startProxy(t, { a: app('legacy', 'show', { sharing }) })
    const { url } = await proxy.listen({ port: 0 })
    const [host, plain] = [await Host.connect(t, url, 'legacy'), await Host.connect(t, url, 'legacy', {})]
    t.same(await plain.tools(), ['a__show', 'a__save'])
    t.same(await host.tools(), ['a__show', 'a__refresh', 'a__save', 'show', 'refresh', 'save'])
    for (const client of [host, plain]) t.equal(await client.call('refresh'), 'refresh of show')
  })

t.test('views, scopes and rules for tools apply to own names', async t => {
  const proxy = startProxy(
    t,
    {
      a: app('legacy', 'show', { tools: { deny: ['save'], rename: { refresh: 'reload' } } }),
      b: app('modern', 'board'),
    },
    { more: { views: { one: { servers: ['b'] }, few: { tools: { allow: ['b__*'] } } } } },
  )
  const { url } = await proxy.listen({ port: 0 })
  const names = ['show', 'refresh', 'save']
  const ofB = [...names.map(name => `b__${name}`), ...names]
  for (const view of ['one', 'few']) {
    const host = await Host.connect(t, `${url}/${view}`, 'legacy')
    t.same(await host.tools(), ofB, view)
    t.equal(await host.call('refresh'), 'refresh of board', view)
    t.equal(await host.call('a__reload'), 'Unknown tool: a__reload', view)
  }
  const all = await Host.connect(t, url, 'legacy')
  t.same(await all.tools(), ['a__show', 'a__reload', ...names.map(name => `b__${name}`), 'save'])
  t.equal(await all.call('save'), 'save of board', 'the tool of the other server is denied')
  t.equal(await all.call('reload'), 'Unknown tool: reload', 'apps do not know other names')
  await all.call('show').then(text => t.match(text, 'name one of: a__show, b__show'))
})

t.test('apps work for clients on stdio, alone and with a shared daemon', async t => {
  const file = configured(t, { a: app('legacy', 'show', { sharing: 'workspace' }) })
  for (const argv of [['stdio'], ['connect']]) {
    const client = startBin(t, [...argv, '--config', file])
    client.send({ id: 1, method: 'initialize', params: hello('2025-11-25', APPS) })
    await client.line(/"id":1,/)
    client.send({ method: 'notifications/initialized' }, { id: 2, method: 'tools/list' })
    const { result } = JSON.parse(await client.line(/"id":2,/))
    t.same(
      result.tools.map(({ name }: Loose) => name),
      ['a__show', 'a__refresh', 'a__save', 'show', 'refresh', 'save'],
    )
    client.send({ id: 3, method: 'tools/call', params: { name: 'refresh', arguments: {} } })
    t.match(await client.line(/"id":3,/), 'refresh of show', argv.join())
    client.child.stdin?.end()
    await client.exited
  }
})
