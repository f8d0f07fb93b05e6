import t from 'tap'
import { openLegacySse, tryLegacyUrl } from '../../../../src/eras/legacy/server-side/open.js'
import { Fault } from '../../../../src/kernel/faults.js'
import { textOf } from '../../../../src/kernel/json/text.js'
import { NO_CAPABILITIES } from '../../../../src/model/peer.js'
import { FakeClock, settled } from '../../../support/fake-clock.js'
import { recordedLog, rpc } from '../../../support/wire/channel-pair.js'
import { FakeHttp } from '../../../support/wire/fake-http.js'

const URL_ = 'https://mcp.example/sse'
const RESULT = {
  protocolVersion: '2024-11-05',
  capabilities: { tools: {} },
  serverInfo: { name: 'old', version: '0' },
}

/** Opens a session over either HTTP transport. */
const openUrl: typeof openLegacySse = async (http, to, options) => {
  const remote = await tryLegacyUrl(http, to, options, { hasSse: true, elsewhere: () => false })
  if (remote === undefined) throw new Error('the handshake led elsewhere')
  return remote.link
}

function start(open = openUrl) {
  const http = new FakeHttp()
  const clock = new FakeClock()
  const stop = new AbortController()
  const { log, lines } = recordedLog()
  const heard: string[] = []
  const opening = open(
    http,
    { url: URL_, headers: { authorization: 'Bearer secret' } },
    {
      server: 'old',
      listener: {
        requested: ask => heard.push(`asked ${ask.method}`),
        notified: method => heard.push(`noticed ${method}`),
        closed: why => heard.push(`closed ${why.message}`),
      },
      capabilities: { ...NO_CAPABILITIES, roots: { listChanged: true } },
      clientInfo: textOf({ name: 'proxy', version: '1' }),
      offer: '2025-11-25',
      timeoutMs: 60_000,
      pingMs: Number.POSITIVE_INFINITY,
      signal: stop.signal,
      clock,
      log,
    },
  )
  const faults: Fault[] = []
  opening.catch((thrown: unknown) => faults.push(Fault.from(thrown)))
  return { http, clock, stop, lines, heard, opening, faults }
}

/** Plays an HTTP+SSE server from its GET on; resolves to the stream. */
async function greet(http: FakeHttp) {
  const get = http.next()
  get.sse()
  get.raw('event: endpoint\ndata: /messages?sessionId=x\n\n')
  await settled()
  const initialize = http.next()
  initialize.reply(202)
  get.event({ id: initialize.message.id, result: RESULT })
  await settled()
  const initialized = http.next()
  initialized.reply(202)
  await settled()
  return { get, initialize, initialized }
}

t.test('a server that refuses Streamable HTTP is reached over HTTP+SSE at the same URL', async t => {
  for (const status of [400, 404, 405, 406, 410, 415, 422, 499]) {
    const { http, opening, heard } = start()
    await settled()
    const first = http.next()
    t.match(first, {
      method: 'POST',
      message: { method: 'initialize', params: { protocolVersion: '2025-11-25' } },
    })
    first.reply(status)
    await settled()
    t.match(http.all.at(-1)?.request, { method: 'GET', url: URL_, headers: { accept: 'text/event-stream' } })
    const { get, initialize, initialized } = await greet(http)
    const down = await opening
    t.equal(down.facts.revision, '2024-11-05')
    t.match(initialize.request, {
      url: 'https://mcp.example/messages?sessionId=x',
      headers: first.headers.authorization ? { authorization: 'Bearer secret' } : {},
    })
    t.match(initialize.message, { method: 'initialize', params: { capabilities: { roots: {} } } })
    t.equal(initialized.message.method, 'notifications/initialized')
    t.same(heard, [], 'the failed try is not heard of')
    get.event({ method: 'notifications/tools/list_changed' })
    await settled()
    t.same(heard, ['noticed notifications/tools/list_changed'])
    get.end()
    await settled()
    t.equal(heard.length, 2)
    t.match(heard[1], /^closed .*ended the event stream/)
  }
})

t.test('a JSON-RPC error without an id next to such a status is not an answer', async t => {
  const { http, opening } = start()
  await settled()
  http
    .next()
    .reply(
      405,
      { 'content-type': 'application/json' },
      rpc({ id: null, error: { code: -32000, message: 'no' } }),
    )
  await settled()
  await greet(http)
  t.equal((await opening).facts.revision, '2024-11-05')
})

t.test('who we are, the moment and outages never lead to HTTP+SSE', async t => {
  for (const status of [401, 403, 407, 408, 425, 429, 500, 501, 502, 503, 302]) {
    const { http, faults } = start()
    await settled()
    http.next().reply(status)
    await settled()
    t.equal(http.waiting, 0, `${status}`)
    t.equal(faults[0]?.code, status === 401 || status === 403 ? 'unauthorized' : 'unavailable')
    t.same(faults[0]?.data, { httpStatus: status })
  }
  const broken = start()
  await settled()
  broken.http.next().break()
  await settled()
  t.same([broken.http.waiting, broken.faults[0]?.message], [0, 'connection reset'])
  const silent = start()
  await settled()
  silent.http.next()
  silent.clock.advance(60_000)
  await settled()
  t.same([silent.http.waiting, silent.faults[0]?.code], [0, 'timeout'])
  const refused = start()
  await settled()
  refused.http.next().json({ error: { code: -32603, message: 'no' } })
  await settled()
  t.same([refused.http.waiting, refused.faults[0]?.code], [0, 'unavailable'])
})

t.test('if HTTP+SSE fails too, the first failure is told and the second is its cause', async t => {
  const { http, lines, faults } = start()
  await settled()
  http.next().reply(405)
  await settled()
  http.next().reply(401)
  await settled()
  const [fault] = faults
  t.same([fault?.code, fault?.message], ['unavailable', 'The server answered with HTTP status 405'])
  t.same(fault?.data, { httpStatus: 405 })
  t.match(fault?.cause, { code: 'unauthorized', data: { httpStatus: 401 } })
  t.match(
    lines.filter(([level]) => level === 'info'),
    [
      [
        'info',
        { why: 'The server needs authorization' },
        'the server cannot be reached over HTTP+SSE either',
      ],
    ],
  )
})

t.test('a second try that is refused in its handshake leaves no stream behind', async t => {
  const { http, faults } = start()
  await settled()
  http.next().reply(404)
  await settled()
  const get = http.next()
  get.sse()
  get.raw('event: endpoint\ndata: /m\n\n')
  await settled()
  const initialize = http.next()
  initialize.reply(202)
  get.event({ id: initialize.message.id, error: { code: -32603, message: 'not today' } })
  await settled()
  t.equal(faults[0]?.message, 'The server answered with HTTP status 404 (not found): check the path of "url"')
  t.match(faults[0]?.cause, { message: 'The server refused to initialize: not today' })
  t.ok(get.isAborted)
})

t.test(
  'a server over HTTP+SSE that chooses an unknown protocol version is reported with that version',
  async t => {
    const { http, faults } = start()
    await settled()
    http.next().reply(405)
    await settled()
    const get = http.next()
    get.sse()
    get.raw('event: endpoint\ndata: /m\n\n')
    await settled()
    const initialize = http.next()
    initialize.reply(202)
    get.event({ id: initialize.message.id, result: { ...RESULT, protocolVersion: '2031-01-01' } })
    await settled()
    t.equal(faults[0]?.message, 'The server uses protocol version 2031-01-01, which is not supported')
    t.ok(get.isAborted)
  },
)

t.test('a server of Streamable HTTP is never asked for anything else, and its end is heard', async t => {
  const { http, opening, heard } = start()
  await settled()
  http.next().json({ result: { ...RESULT, protocolVersion: '2025-06-18' } }, { 'mcp-session-id': 's' })
  await settled()
  http.next().reply(202)
  const down = await opening
  t.equal(down.facts.revision, '2025-06-18')
  t.same(heard, [])
  void down.close()
  t.match(heard, ['closed The session with the server was closed'])
})

t.test('a POST refused during the handshake fails at once', async t => {
  const { http, faults } = start(openLegacySse)
  await settled()
  const get = http.next()
  t.equal(get.method, 'GET')
  get.sse()
  get.raw('event: endpoint\ndata: /m\n\n')
  await settled()
  http.next().reply(403)
  await settled()
  t.match(faults, [{ code: 'unauthorized', data: { httpStatus: 403 } }])
  t.ok(get.isAborted)
})

t.test('the endpoint is waited for no longer than the whole attempt may take', async t => {
  const { http, clock, faults } = start(openLegacySse)
  await settled()
  http.next().sse()
  clock.advance(10_000)
  await settled()
  t.match(faults, [{ code: 'timeout' }])
})
