import t from 'tap'
import type { CallEnding } from '../../../../src/eras/modern/client-side/inbound-call.js'
import { ModernUplink, type UplinkEntry } from '../../../../src/eras/modern/client-side/uplink.js'
import { Deferred } from '../../../../src/kernel/async/deferred.js'
import { rawText, textOf } from '../../../../src/kernel/json/text.js'
import type { Limits } from '../../../../src/kernel/limits.js'
import { silentLogger } from '../../../../src/kernel/logger.js'
import { succeeded } from '../../../../src/model/outcome.js'
import { classify } from '../../../../src/wire/classify.js'
import type { HttpHeaders } from '../../../../src/wire/http.js'
import { whole } from '../../../../src/wire/message-parts.js'
import { callerWith } from '../../../support/client/fake-client.js'
import { ENVELOPE, mirrored, modern } from '../../../support/era/codec.js'
import { FakeClock, settled } from '../../../support/fake-clock.js'
import { FakeHandler } from '../../../support/proxy/listeners.js'
import { boundsOf, IDENTITY } from '../../../support/values.js'
import { type Heard, rpc } from '../../../support/wire/channel-pair.js'

const EMPTY = succeeded(rawText('{}'))

const start = (limits: Partial<Limits> = {}, way: UplinkEntry = 'endpoint') => {
  const handler = new FakeHandler()
  const clock = new FakeClock()
  const uplink = new ModernUplink(
    { handler, identity: IDENTITY, log: silentLogger, clock, bounds: boundsOf(limits) },
    way,
  )
  let exchanges = 0
  /** Sends a request; returns the live list of messages about it. */
  const send = (
    message: object,
    {
      headers,
      key,
      principal = 'local',
    }: { headers?: HttpHeaders | undefined; key?: string; principal?: string } = {},
  ) => {
    const heard: { frames: Heard[]; ending: CallEnding | undefined } = { frames: [], ending: undefined }
    const classified = classify(Buffer.from(rpc(message)))
    if (classified.is !== 'message' || classified.message.kind !== 'request') throw new Error('no request')
    exchanges += 1
    uplink.receive(classified.message, {
      caller: callerWith(principal),
      key: key ?? String(exchanges),
      arrival: headers && { headers },
      replies: {
        send: frame => heard.frames.push(JSON.parse(frame.toString()) as Heard),
        end: (frame, ending) => {
          if (frame !== undefined) heard.frames.push(JSON.parse(whole(frame).toString()) as Heard)
          heard.ending = ending
        },
      },
    })
    return heard
  }
  return { handler, clock, uplink, send }
}

const outcome = ({ frames, ending }: ReturnType<ReturnType<typeof start>['send']>) => [
  ending?.status,
  frames.at(-1)?.id,
  frames.at(-1)?.error?.code,
]

t.test('a request that names its version and what it can be asked is handed on as it came', async t => {
  const { handler, send } = start()
  const text = `{"name":"a__x","arguments":{"n":12345678901234567890},"_meta":${JSON.stringify(ENVELOPE)}}`
  const heard = send({ id: 'a', method: 'tools/call', params: JSON.parse(text) as object })
  t.equal(handler.last.method, 'tools/call')
  t.match(handler.last.client, { serverRequests: 'returned', revision: '2026-07-28', principal: 'local' })
  t.equal(handler.last.logLevel, undefined)
  handler.last.end(succeeded(rawText('{"content":[]}')))
  t.match(heard.frames, [{ id: 'a', result: { content: [], resultType: 'complete' } }])
  t.same(heard.frames[0]?.result?.['_meta'], { 'io.modelcontextprotocol/serverInfo': IDENTITY })
})

t.test('the client description goes no further, unless _meta holds more', async t => {
  const { handler, send } = start()
  const passed = (meta: object): [string | undefined, string | undefined] => {
    send({ id: 1, method: 'tools/call', params: { name: 'x', _meta: meta, arguments: { a: 1 } } })
    return [handler.last.params?.toString(), handler.last.named]
  }
  t.same(passed(ENVELOPE), ['{"name":"x","arguments":{"a":1}}', 'x'])
  for (const more of [{ progressToken: 1 }, { traceparent: '00-a-b-01' }]) {
    const meta = { ...ENVELOPE, ...more }
    t.same(passed(meta), [`{"name":"x","_meta":${JSON.stringify(meta)},"arguments":{"a":1}}`, undefined])
  }
})

t.test('the level of log messages goes with each request', async t => {
  const { handler, send } = start()
  send(modern(1, 'tools/call', { name: 'x' }, { 'io.modelcontextprotocol/logLevel': 'warning' }))
  t.equal(handler.last.logLevel, 'warning')
})

t.test('problems are reported in the order in which they have to be fixed', async t => {
  const { handler, send } = start()
  const noCapabilities = { 'io.modelcontextprotocol/clientCapabilities': undefined }
  const wrong = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call' }
  const CASES: [string, object, HttpHeaders | undefined, [number, number], RegExp][] = [
    [
      'no capabilities, before wrong headers and no such method',
      modern(1, 'ping', {}, noCapabilities),
      wrong,
      [400, -32602],
      /^Missing _meta io.modelcontextprotocol\/clientCapabilities$/,
    ],
    [
      'capabilities that are none',
      modern(1, 'tools/list', {}, { 'io.modelcontextprotocol/clientCapabilities': true }),
      undefined,
      [400, -32602],
      /must be an object/,
    ],
    [
      'a client without version',
      modern(1, 'tools/list', {}, { 'io.modelcontextprotocol/clientInfo': { name: 'c' } }),
      undefined,
      [400, -32602],
      /clientInfo must have a name and a version/,
    ],
    [
      'an unknown level',
      modern(1, 'tools/list', {}, { 'io.modelcontextprotocol/logLevel': 'loud' }),
      undefined,
      [400, -32602],
      /logLevel/,
    ],
    ['wrong headers, before no such method', modern(1, 'ping'), wrong, [400, -32020], /Mcp-Method/],
    [
      'no headers',
      modern(1, 'tools/list'),
      {},
      [400, -32020],
      /^Missing required header MCP-Protocol-Version$/,
    ],
    ['no such method', modern(1, 'ping'), mirrored(modern(1, 'ping')), [404, -32601], /ping/],
  ]
  for (const [what, message, headers, [status, code], words] of CASES) {
    const heard = send(message, { headers })
    t.same(outcome(heard), [status, 1, code], what)
    t.match(heard.frames[0]?.error?.message, words, what)
  }
  t.same(handler.calls, [])
  t.same(handler.gone, [])
})

t.test('methods of other revisions do not exist in this one', async t => {
  const { handler, send } = start()
  for (const method of [
    'initialize',
    'ping',
    'logging/setLevel',
    'resources/subscribe',
    'resources/unsubscribe',
    'tasks/list',
    'tasks/result',
    'sampling/createMessage',
    'constructor',
  ])
    t.same(outcome(send(modern('m', method))), [404, 'm', -32601], method)
  t.match(send(modern(1, 'x'.repeat(1000))).frames[0]?.error?.message, /^Method not found: x{128}$/)
  t.same(handler.calls, [])
})

t.test('arguments that a tool wants repeated in headers are compared with them', async t => {
  const { handler, send } = start()
  handler.schemas.set(
    'db__sql',
    textOf({ type: 'object', properties: { region: { type: 'string', 'x-mcp-header': 'Region' } } }),
  )
  const call = modern(1, 'tools/call', { name: 'db__sql', arguments: { region: 'eu' } })
  const headers = mirrored(call)
  t.same(outcome(send(call, { headers })), [400, 1, -32020])
  t.same(outcome(send(call, { headers: { ...headers, 'mcp-param-region': 'us' } })), [400, 1, -32020])
  t.same(handler.calls, [])
  send(call, { headers: { ...headers, 'mcp-param-region': 'eu' } })
  send(call)
  t.equal(handler.calls.length, 2, 'on a pipe there are no headers to compare')
})

t.test('server/discover returns the current capabilities each time, with no lifetime', async t => {
  const { handler, send } = start()
  handler.gate = new Deferred()
  const heard = send(modern('d', 'server/discover'))
  await settled()
  t.same(heard.frames, [], 'not before servers were waited for')
  handler.gate.resolve()
  await settled()
  t.same(heard.frames, [
    {
      jsonrpc: '2.0',
      id: 'd',
      result: {
        supportedVersions: ['2026-07-28'],
        capabilities: {
          tools: { listChanged: true },
          resources: { subscribe: true, listChanged: true },
          completions: {},
          logging: {},
        },
        instructions: 'be nice',
        resultType: 'complete',
        ttlMs: 0,
        cacheScope: 'private',
        _meta: { 'io.modelcontextprotocol/serverInfo': IDENTITY },
      },
    },
  ])
  send(modern('e', 'server/discover'))
  t.equal(handler.clients.length, 2)
  t.equal(new Set(handler.clients).size, 1)
  t.same(handler.calls, [])
})

t.test(
  'identical descriptions are one client, for any request; it leaves when the listener closes',
  async t => {
    const { handler, send, uplink } = start()
    send(modern(1, 'tools/list'))
    send(modern(2, 'prompts/list'))
    send(modern(3, 'tools/list'), { principal: 'other' })
    const clients = new Set(handler.calls.map(({ client }) => client))
    t.equal(clients.size, 2)
    uplink.close('over')
    t.same(handler.gone, [...clients])
  },
)

t.test('a request in flight is found by its key until it is over', async t => {
  const { handler, send, uplink } = start()
  t.notOk(uplink.hasClients)
  const heard = send(modern(1, 'tools/list'), { key: 'k' })
  t.ok(uplink.hasClients)
  uplink.find('k')?.cancel('user')
  t.same(handler.cancels, ['tools/list user'])
  t.same(heard.frames, [])
  t.equal(uplink.find('k'), undefined)
})

t.test('clients that ask for nothing are forgotten', async t => {
  const { handler, send, uplink, clock } = start()
  send(modern(1, 'tools/list'))
  handler.last.end(EMPTY)
  clock.advance(16 * 60_000)
  uplink.sweep()
  t.same(handler.gone, [handler.last.client])
  t.notOk(uplink.hasClients)
})

t.test('closing answers every request in flight, and cancels it', async t => {
  const { handler, send, uplink } = start()
  const [list, listen] = [send(modern(1, 'tools/list')), send(modern('L', 'subscriptions/listen'))]
  handler.gate = new Deferred()
  const discover = send(modern('d', 'server/discover'))
  uplink.close('the proxy is shutting down')
  t.match(list.frames, [{ id: 1, error: { code: -32603, data: { reason: 'disconnected' } } }])
  t.match(discover.frames, [{ id: 'd', error: { code: -32603 } }])
  t.match(listen.frames, [{ id: 'L', result: { resultType: 'complete' } }])
  t.same(handler.cancels, [
    'tools/list the proxy is shutting down',
    'subscriptions/listen the proxy is shutting down',
  ])
  handler.gate.resolve()
  for (const call of handler.calls) call.end(EMPTY)
  await settled()
  for (const { frames } of [list, discover, listen]) t.equal(frames.length, 1)
})

t.test('an id in flight is refused for another request, and free after the answer', async t => {
  const { handler, send } = start()
  send(modern(1, 'tools/list'), { key: 'k' })
  t.same(outcome(send(modern(1, 'tools/list'), { key: 'k' })), [400, 1, -32600])
  handler.last.end(EMPTY)
  send(modern(1, 'tools/list'), { key: 'k' })
  t.equal(handler.calls.length, 2)
})

t.test('more requests, or more clients at work, than there may be are refused', async t => {
  const info = (name: string) => ({ 'io.modelcontextprotocol/clientInfo': { name, version: '1' } })
  const few = start({ callsPerClient: 2 }, 'channel')
  few.send(modern(1, 'tools/list'))
  few.send(modern(2, 'tools/list', {}, info('b')))
  const refused = few.send(modern(3, 'tools/list'))
  t.same(outcome(refused), [429, 3, -32603])
  t.match(refused.frames[0]?.error, { data: { reason: 'overloaded' } })
  const crowd = start({ clients: 2 })
  for (const name of ['a', 'b']) crowd.send(modern(1, 'tools/list', {}, info(name)))
  t.match(crowd.send(modern(1, 'tools/list', {}, info('c'))).frames, [
    { error: { data: { reason: 'overloaded' } } },
  ])
  crowd.handler.calls[0]?.end(EMPTY)
  crowd.send(modern(1, 'tools/list', {}, info('c')))
  t.equal(crowd.handler.calls.length, 3)
  t.equal(crowd.handler.gone.length, 1)
  const greedy = start({ callsPerStatelessClient: 50 })
  for (let id = 0; id < 50; id += 1) greedy.send(modern(id, 'tools/list'))
  t.same(outcome(greedy.send(modern('x', 'tools/list'))), [429, 'x', -32603])
  greedy.send(modern('y', 'tools/list', {}, info('other')))
  t.equal(greedy.handler.calls.length, 51, 'others are served')
})
