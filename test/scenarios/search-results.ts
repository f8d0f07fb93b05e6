import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import t, { type Test } from 'tap'
import type { Loose } from '../support/client/raw-client.js'
import { stdioParameters } from '../support/client/sdk-transports.js'
import { BIN, configFile, startProxy } from '../support/proxy/start.js'
import { startListing } from '../support/server/listing-server.js'

// What comes back through the tools of search mode, over HTTP and stdio.

const MIB = 1024 * 1024
const LINE = `${'Zeile mit Ä und 😀, '.repeat(12)}\n`
const LARGE = LINE.repeat(Math.ceil((8 * MIB) / LINE.length)).slice(0, 8 * MIB)
const PICTURE = { type: 'image', mimeType: 'image/png', data: 'AAAA' }
const SMALL = {
  content: [{ type: 'text', text: 'done' }, PICTURE],
  structuredContent: { a: { b: [1, '2'] } },
  _meta: { 'example.com/kept': { deep: [true] } },
}
const TOOLS = ['small', 'large'].map(name => ({ name, inputSchema: { type: 'object' } }))
const SERVER = (name: string): object =>
  name === 'small' ? SMALL : { ...SMALL, content: [{ type: 'text', text: LARGE }, PICTURE] }

const connect = async (t: Test, transport: Loose) => {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  t.teardown(() => client.close())
  return async (name: string, args: object = {}): Promise<Loose> =>
    client.callTool({ name, arguments: args as Record<string, unknown> })
}

const kinds = {
  http: async (t: Test, servers: Readonly<Record<string, object>>, more: object): Promise<Loose> => {
    const { url } = await startProxy(t, servers, { more }).listen({ port: 0 })
    return (view: string) => new StreamableHTTPClientTransport(new URL(`${url}/${view}`))
  },
  stdio: async (t: Test, servers: Readonly<Record<string, object>>, more: object): Promise<Loose> => {
    const file = configFile(t, servers, more)
    return (view: string) =>
      new StdioClientTransport(
        stdioParameters([process.execPath, BIN, 'stdio', '--config', file, '--view', view]),
      )
  },
}

for (const [kind, start] of Object.entries(kinds)) {
  t.test(`results pass the tools of search mode over ${kind}`, async t => {
    const servers = { s: await startListing(t, { tools: TOOLS }, SERVER) }
    const views = { direct: { expose: 'direct' }, search: { expose: 'search' } }
    const to = await start(t, servers, { views, limits: { message: '64MiB' } })
    const [direct, search] = [await connect(t, to('direct')), await connect(t, to('search'))]
    t.same(await direct('s__small'), SMALL)
    t.same(await search('call_write_tool', { name: 's__small' }), SMALL, 'a short one as it is')
    const whole = await direct('s__large')
    t.ok(whole.content[0].text === LARGE, 'a direct one whole')
    t.same(whole.structuredContent, SMALL.structuredContent)

    const cut = await search('call_write_tool', { name: 's__large' })
    t.same(cut._meta, SMALL._meta)
    t.notOk('structuredContent' in cut)
    const [text, picture, remark] = cut.content
    t.same(picture, PICTURE)
    t.ok(text.text.length <= 48_000 && LARGE.startsWith(`${text.text}\n`), 'cut at the end of a line')
    const [, all, id, offset] =
      /of ([\d,]+) characters\. More: read_result id=(\w+) offset=(\d+)/.exec(remark.text) ?? []
    t.equal(all, '8,388,608')
    let [read, at] = [LARGE.slice(0, Number(offset)), Number(offset)]
    for (;;) {
      const { content } = await search('read_result', { id, offset: at, length: 48_000 })
      const piece: string = content[0].text
      const end = piece.lastIndexOf('\n[')
      read += piece.slice(0, end)
      const more = /offset=(\d+)\]$/.exec(piece)
      if (more === null) break
      at = Number(more[1])
    }
    t.ok(read === LARGE, 'all pieces together are the whole')
    const found = await search('read_result', { id, find: '😀', offset: at - 10_000 })
    t.match(found.content[0].text, /^\[offset \d+\]\n/)
  })
}

t.test('without a limit eight mebibytes pass as they do directly', async t => {
  const servers = { s: await startListing(t, { tools: TOOLS }, SERVER) }
  const views = { direct: { expose: 'direct' }, search: { expose: 'search' } }
  const to = await kinds.http(t, servers, { views, results: { max: 'off' }, limits: { message: '64MiB' } })
  const [direct, search] = [await connect(t, to('direct')), await connect(t, to('search'))]
  const [one, other] = [await direct('s__large'), await search('call_write_tool', { name: 's__large' })]
  t.ok(JSON.stringify(one) === JSON.stringify(other))
})
