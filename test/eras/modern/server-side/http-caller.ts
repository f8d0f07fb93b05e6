import t from 'tap'
import { key, MODERN } from '../../../support/era/codec.js'
import { settled } from '../../../support/fake-clock.js'
import { modernOnHttp } from '../../../support/proxy/links.js'

const JSON_TYPE = { 'content-type': 'application/json' }
const REGION = {
  name: 'sql',
  inputSchema: {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      note: { type: 'string', 'x-mcp-header': 'Note' },
      o: { type: 'object', properties: { r: { type: 'integer', 'x-mcp-header': 'R' } } },
    },
  },
}

/** A connection over which tools were listed. */
const listed = async (tools: readonly object[]) => {
  const all = modernOnHttp()
  const list = all.call('tools/list')
  all.http.next().json({ result: { resultType: 'complete', tools } })
  await settled()
  return { ...all, list }
}

/** The headers that repeat what a body says. */
const mirrored = (headers: Readonly<Record<string, string>>): object =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => /^mcp-/i.test(name)))

// ── headers ──

t.test('headers repeat the body as it goes out, and nothing of the client’s own', async t => {
  const { http, call } = modernOnHttp()
  call('tools/call', { name: 'Grüße', arguments: {} })
  call('resources/read', { uri: 'file:///a b' })
  call('prompts/list')
  const rows = [http.next(), http.next(), http.next()]
  t.same(
    rows.map(({ headers }) => mirrored(headers)),
    [
      {
        'MCP-Protocol-Version': MODERN,
        'Mcp-Method': 'tools/call',
        'Mcp-Name': '=?base64?R3LDvMOfZQ==?=',
      },
      { 'MCP-Protocol-Version': MODERN, 'Mcp-Method': 'resources/read', 'Mcp-Name': 'file:///a b' },
      { 'MCP-Protocol-Version': MODERN, 'Mcp-Method': 'prompts/list' },
    ],
  )
  for (const { request } of rows) {
    t.match(request, {
      method: 'POST',
      url: 'https://s.example/mcp',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        authorization: 'Bearer x',
      },
    })
    t.equal(request.headers['mcp-session-id'], undefined)
    t.match(JSON.parse(request.body?.toString() ?? ''), {
      params: { _meta: { [key('protocolVersion')]: MODERN } },
    })
  }
})

t.test('arguments are repeated as the list of tools wants it', async t => {
  const rows: [args: object, expected: object][] = [
    [
      { region: 'us-west1', note: 'Hello, 世界', q: '1', opt: null },
      { 'Mcp-Param-Region': 'us-west1', 'Mcp-Param-Note': '=?base64?SGVsbG8sIOS4lueVjA==?=' },
    ],
    [{ region: null, o: { r: 42 } }, { 'Mcp-Param-R': '42' }],
    [{ region: '', o: {} }, { 'Mcp-Param-Region': '=?base64??=' }],
    [{}, {}],
  ]
  const { http, call, list } = await listed([REGION])
  t.match(list.ends, [/^result .*"sql"/])
  for (const [args, expected] of rows) {
    call('tools/call', { name: 'sql', arguments: args })
    const named = { 'MCP-Protocol-Version': MODERN, 'Mcp-Method': 'tools/call', 'Mcp-Name': 'sql' }
    t.same(mirrored(http.next().headers), { ...named, ...expected })
  }
  const plain = { name: 'sql', inputSchema: { type: 'object', properties: { region: { type: 'string' } } } }
  call('tools/list')
  http.next().json({ result: { tools: [plain] } })
  await settled()
  call('tools/call', { name: 'sql', arguments: { region: 'x' } })
  t.notOk('Mcp-Param-Region' in http.next().headers, 'what the last list says counts')
})

t.test('a tool that cannot be called over HTTP is left out of the list, with a word in the log', async t => {
  const annotated = (name: string, schema: object) => ({ name, inputSchema: { type: 'object', ...schema } })
  const header = (value: unknown, type = 'string') => ({ type, 'x-mcp-header': value })
  const tools = [
    annotated('good', { properties: { a: header('A') } }),
    annotated('empty', { properties: { a: header('') } }),
    annotated('twice', { properties: { a: header('A'), b: header('a') } }),
    annotated('below', { properties: { l: { type: 'array', items: header('A') } } }),
    annotated('number', { properties: { a: header('A', 'number') } }),
  ]
  const { list, lines, http, call } = await listed(tools)
  t.match(list.ends, [/^result \{"resultType":"complete","tools":\[\{"name":"good".*\]\}$/])
  t.equal(list.ends[0]?.match(/"name":/g)?.length, 1)
  const warned = lines.filter(([level]) => level === 'warn').map(([, facts]) => facts)
  t.match(warned, [
    { tool: 'empty', why: [/is empty/] },
    { tool: 'twice', why: [/repeats/] },
    { tool: 'below', why: [/always there/] },
    { tool: 'number', why: [/type number/] },
  ])
  call('tools/list')
  http.next().json({ result: { tools } })
  await settled()
  t.equal(lines.filter(([level]) => level === 'warn').length, 4, 'once each')
})

// ── headers that a server does not accept ──

const mismatch = { error: { code: -32020, message: 'Header mismatch: Mcp-Param-Zone missing' } }
const zoned = (header = 'Zone') => ({
  name: 'sql',
  inputSchema: { type: 'object', properties: { zone: { type: 'string', 'x-mcp-header': header } } },
})

t.test('outdated headers are rebuilt from a fresh list, and the call is sent again', async t => {
  const { http, call, heard } = await listed([])
  const { ends } = call('tools/call', { name: 'sql', arguments: { zone: 'a' } })
  const first = http.next()
  t.notOk('Mcp-Param-Zone' in first.headers)
  first.json(mismatch, {}, 400)
  await settled()
  const refresh = http.next()
  t.match(refresh.message, { id: 3, method: 'tools/list' })
  t.notOk('cursor' in (refresh.message.params ?? {}))
  refresh.json({ result: { tools: [{ name: 'other', inputSchema: {} }], nextCursor: 'c' } })
  await settled()
  const more = http.next()
  t.match(more.message, { id: 4, method: 'tools/list', params: { cursor: 'c' } })
  more.json({ result: { tools: [zoned()], nextCursor: 'd' } })
  await settled()
  const again = http.next()
  t.match(again.message, { id: 5, method: 'tools/call', params: { name: 'sql', arguments: { zone: 'a' } } })
  t.equal(again.headers['Mcp-Param-Zone'], 'a')
  again.json({ result: { resultType: 'complete', content: [] } })
  await settled()
  t.same(ends, ['result {"content":[]}'])
  t.same(heard, ['notifications/tools/list_changed'], 'others hear that the tool is another one')
})

t.test('two such refusals in a row are our fault, and not the client’s', async t => {
  const { http, call, heard } = await listed([zoned()])
  const { ends, faults } = call('tools/call', { name: 'sql', arguments: { zone: 'a' } })
  http.next().json(mismatch, {}, 400)
  await settled()
  http.next().json({ result: { tools: [zoned()] } })
  await settled()
  http.next().json(mismatch, {}, 400)
  await settled()
  t.equal(http.waiting, 0)
  t.match(ends, [/^internal: Server b does not accept the headers of the request: Header mismatch/])
  t.same(faults[0]?.data, { server: 'b' })
  t.same(heard, [], 'the tool is what it was')
})

t.test('a call without arguments in headers is not retried', async t => {
  const { http, call } = modernOnHttp()
  const { ends } = call('prompts/get', { name: 'p' })
  http.next().json(mismatch, {}, 400)
  await settled()
  t.equal(http.waiting, 0)
  t.match(ends, [/^internal: Server b does not accept/])
})

t.test('a list that cannot be had then ends the call, and so does a client that gives up', async t => {
  const one = await listed([])
  const failing = one.call('tools/call', { name: 'sql' })
  one.http.next().json(mismatch, {}, 400)
  await settled()
  one.http.next().reply(503)
  await settled()
  t.match(failing.ends, [/^unavailable/])
  const two = await listed([])
  const { down, ends } = two.call('tools/call', { name: 'sql' })
  two.http.next().json(mismatch, {}, 400)
  await settled()
  const refresh = two.http.next()
  down.cancel('user')
  t.ok(refresh.isAborted)
  await settled()
  t.same([ends, two.http.waiting], [[], 0])
})

t.test('a list without end is not read for ever', async t => {
  const { http, call } = await listed([])
  const { ends } = call('tools/call', { name: 'sql' })
  http.next().json(mismatch, {}, 400)
  let pages = 0
  http.onRequest = exchange => {
    if (exchange.message.method !== 'tools/list') return false
    pages += 1
    exchange.json({ result: { tools: [], nextCursor: 'again' } })
    return true
  }
  while (http.waiting === 0) await settled()
  t.equal(pages, 100)
  http.next().json({ result: { content: [] } })
  await settled()
  t.same(ends, ['result {"content":[]}'])
})

// ── answers ──

t.test('an answer may be JSON or an event stream', async t => {
  const { http, call } = modernOnHttp()
  const one = call('tools/call', { name: 'x' })
  http
    .next()
    .reply(
      200,
      { 'content-type': 'Application/JSON; charset=utf-8' },
      '{"jsonrpc":"2.0","id":1,"result":{"n":1e400}}',
    )
  const two = call('tools/call', { name: 'x' })
  const stream = http.next()
  stream.sse()
  stream.raw(': keep-alive\n\n')
  stream.event('{"jsonrpc":"2.0","id":"2","result":{"n":1.0}}')
  await settled()
  t.same(one.ends, ['result {"n":1e400}'])
  t.same(two.ends, ['result {"n":1.0}'], 'the id as a text is ours, too')
})

t.test('an error in the body of a refusal is the answer, under our id', async t => {
  for (const status of [400, 404, 500]) {
    const { http, call } = modernOnHttp()
    const { ends } = call('tools/call', { name: 'x' })
    http
      .next()
      .json({ error: { code: -32021, message: 'no', data: { requiredCapabilities: {} } } }, {}, status)
    await settled()
    t.match(ends, [/^error \{"code":-32021/], `${status}`)
  }
})

t.test("a reply without an answer fails the request with its status and the server's reason", async t => {
  const body = '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"ann has no seat"}}'
  for (const [status, headers, code, isSaid] of [
    [401, { ...JSON_TYPE, 'www-authenticate': 'Bearer' }, 'unauthorized', false],
    [401, JSON_TYPE, 'unauthorized', true],
    [403, JSON_TYPE, 'unauthorized', true],
    [503, {}, 'unavailable', true],
    [202, {}, 'unavailable', false],
  ] as const) {
    const { http, call } = modernOnHttp()
    const { ends, faults } = call('tools/call', { name: 'x' })
    http.next().reply(status, headers, body)
    await settled()
    t.equal(faults[0]?.code, code)
    t.same(faults[0]?.data, { httpStatus: status })
    t.equal(ends[0]?.endsWith('ann has no seat'), isSaid, ends[0] ?? '')
  }
  const { http, call } = modernOnHttp()
  const { ends } = call('tools/call', { name: 'x' })
  http.next().reply(200, JSON_TYPE, '{"jsonrpc":"2.0","id":9,"result":{}}')
  await settled()
  t.match(ends, [/^internal: The server sent no answer/])
})

t.test('a response that continues after the answer is closed after a while', async t => {
  const { http, call, pass } = modernOnHttp()
  call('tools/call', { name: 'x' })
  const exchange = http.next()
  exchange.sse()
  exchange.event({ id: 1, result: {} })
  await settled()
  t.notOk(exchange.isAborted)
  await pass(5000)
  t.ok(exchange.isAborted)
})

t.test('requests know nothing of each other', async t => {
  const { http, call } = modernOnHttp()
  const calls = Array.from({ length: 20 }, () => call('tools/call', { name: 'x' }))
  const exchanges = calls.map(() => http.next())
  t.equal(new Set(exchanges.map(({ message }) => message.id)).size, 20)
  exchanges[3]?.break()
  calls[4]?.down.cancel('user')
  for (const [index, exchange] of exchanges.entries()) if (index !== 3) exchange.json({ result: { index } })
  await settled()
  for (const [index, { ends }] of calls.entries()) {
    if (index === 3) t.match(ends, [/^unavailable/])
    else t.same(ends, index === 4 ? [] : [`result {"index":${index}}`])
  }
})

t.test('closing ends requests in flight, and sends nothing', async t => {
  const { http, call, link, heard } = modernOnHttp()
  const { ends } = call('tools/list')
  const exchange = http.next()
  await link.close()
  await link.close()
  t.ok(exchange.isAborted)
  t.match(ends, [/^disconnected/])
  t.same(heard, ['closed disconnected'])
  t.match(call('tools/list').ends, [/^disconnected/])
  await settled()
  t.equal(http.waiting, 0)
})
