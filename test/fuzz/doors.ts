import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { openServerPipe } from '../../src/eras/index.js'
import { createHttpListener } from '../../src/eras/listen/http-listener.js'
import { servePipe } from '../../src/eras/listen/pipe-listener.js'
import { createSseListener } from '../../src/eras/listen/sse-listener.js'
import { LOCAL } from '../../src/kernel/caller.js'
import { Fault } from '../../src/kernel/faults.js'
import { rawText, textOf } from '../../src/kernel/json/text.js'
import { silentLogger } from '../../src/kernel/logger.js'
import type { Call, ServerRequest } from '../../src/model/links.js'
import { failed, type Outcome, succeeded } from '../../src/model/outcome.js'
import { NO_CAPABILITIES } from '../../src/model/peer.js'
import { Progress } from '../../src/model/progress.js'
import type { Channel } from '../../src/wire/channel.js'
import { messages, mutated, values } from '../support/arbitraries.js'
import { FakeClock, settled } from '../support/fake-clock.js'
import { holds } from '../support/property.js'
import { linkOptions } from '../support/proxy/links.js'
import { FakeHandler } from '../support/proxy/listeners.js'
import { FakeServerRequest } from '../support/server/fake-server.js'
import { IDENTITY } from '../support/values.js'
import { FarEnd, type Heard } from '../support/wire/channel-pair.js'
import { FakeResponder, httpRequest } from '../support/wire/fake-http.js'

const log = silentLogger
const RUNS = 150

/** What the mux may do with a call: end it at once, end it in a while, or leave it to its client. */
type Fate = 'now' | 'later' | 'never' | 'talk' | 'ask'
const fates = fc.constantFrom<Fate>('now', 'now', 'later', 'never', 'talk', 'ask')
const outcomes: fc.Arbitrary<Outcome> = fc.oneof(
  values.map(text => succeeded(rawText(text.startsWith('{') ? text : `{"x":${text}}`))),
  fc.constant<Outcome>({ kind: 'error', error: rawText('{"code":-32000,"message":"no"}') }),
  fc.constant(failed(new Fault('unavailable', 'away'))),
)

/** A mux that does with each call what is decreed for it. */
const destined = (plan: readonly (readonly [Fate, Outcome])[]) => {
  const handler = new FakeHandler()
  const later: (() => void)[] = []
  let count = 0
  handler.onCall = (call: Call) => {
    const [fate, outcome] = plan[count % plan.length] ?? ['now', succeeded(rawText('{}'))]
    count += 1
    const end = () => call.end(outcome)
    if (fate === 'talk') {
      call.progress(new Progress(rawText('{"progress":1,"progressToken":"ours"}')))
      call.notify('notifications/message', rawText('{"level":"info","data":1}'))
    }
    if (fate === 'ask' && call.client.serverRequests === 'pushed')
      call.client.ask(new FakeServerRequest(), call)
    if (fate === 'now' || fate === 'talk') end()
    else if (fate !== 'never') later.push(end)
  }
  return { handler, finish: () => later.splice(0).forEach(end => void end()) }
}
/** Whoever introduced itself or asked for something must have left, once. */
const assertNobody = ({ clients, calls, gone }: FakeHandler): void => {
  const known = new Set([...clients, ...calls.map(({ client }) => client)])
  assert.deepEqual(gone.length, new Set(gone).size)
  for (const client of known) assert.ok(gone.includes(client), 'the mux knows of nobody any more')
}
const plans = fc.array(fc.tuple(fates, outcomes), { minLength: 1, maxLength: 6 })

// ── clients over HTTP ──

const SESSIONS = ['mine', 'gone', '', 'a b', '__proto__', 'x'.repeat(300)]
const header = (...known: string[]) =>
  fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...known) }, { weight: 1, arbitrary: fc.string() })
const requests = fc.record({
  method: fc.constantFrom('POST', 'POST', 'POST', 'GET', 'DELETE', 'PUT', 'OPTIONS', 'BREW'),
  session: fc.constantFrom('mine', 'mine', 'mine', ...SESSIONS),
  headers: fc.record(
    {
      accept: header(
        'application/json, text/event-stream',
        'application/json',
        'text/event-stream',
        '*/*',
        'text/html',
      ),
      'content-type': header('application/json', 'application/json; charset=utf-8', 'text/plain', ''),
      'mcp-protocol-version': header('2025-11-25', '2026-07-28', '2024-11-05', 'nonsense'),
      'mcp-method': header('tools/call', 'tools/list', 'server/discover'),
      'mcp-name': header('a__x', '=?base64?YQ==?='),
      'last-event-id': header('1', '1-1', '0', 'x'.repeat(300)),
    },
    { requiredKeys: ['accept', 'content-type'] },
  ),
  body: fc.oneof(
    { weight: 6, arbitrary: messages },
    { weight: 1, arbitrary: mutated(messages).map(bytes => bytes.toString('latin1')) },
  ),
  leaves: fc.boolean(),
  advanceMs: fc.constantFrom(0, 0, 0, 100, 20_000, 400_000),
})

const HELLO = {
  id: 'hello',
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: { roots: {} },
    clientInfo: { name: 'c', version: '1' },
  },
}
const BOTH = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }

/** An answer must be one that any client can read. */
const check = (responder: FakeResponder, isOver: boolean): void => {
  assert.ok(responder.answers <= 1)
  if (isOver) assert.equal(responder.answers, 1, 'each request is answered')
  if (responder.answers === 0) return
  assert.ok(
    [200, 202, 400, 404, 405, 406, 415, 429, 503].includes(responder.status),
    `status ${responder.status}`,
  )
  for (const value of Object.values(responder.headers)) assert.match(value, /^[\t -~]*$/)
  if (responder.isStream) for (const { text } of responder.events) JSON.parse(text)
  else if (responder.body !== '') JSON.parse(responder.body)
  if (isOver) assert.ok(responder.isEnded || responder.isDestroyed, 'and none is left open')
}

void holds(
  t,
  'whatever clients send over HTTP, each request has one answer, and nothing of them is left',
  fc.asyncProperty(plans, fc.array(requests, { maxLength: 25 }), async (plan, sent) => {
    const { handler, finish } = destined(plan)
    const clock = new FakeClock()
    const host = createHttpListener({
      handler,
      clock,
      identity: IDENTITY,
      log,
    })
    const send = (method: string, headers: Record<string, string>, body: string | object) => {
      const responder = new FakeResponder()
      host.handle(httpRequest(method, headers, body), responder)
      return responder
    }
    const greeting = send('POST', BOTH, HELLO)
    await settled()
    const mine = greeting.headers['mcp-session-id'] ?? ''
    const responders = [greeting]
    for (const { method, session, headers, body, leaves, advanceMs } of sent) {
      const id = session === 'mine' ? mine : session
      const responder = send(method, { ...headers, ...(id !== '' && { 'mcp-session-id': id }) }, body)
      responders.push(responder)
      clock.advance(advanceMs)
      if (leaves) responder.goAway()
      else check(responder, false)
    }
    await settled()
    finish()
    host.close()
    await settled()
    for (const responder of responders) if (!responder.isDestroyed) check(responder, true)
    assert.equal(host.sessions, 0)
    assertNobody(handler)
    assert.equal(clock.pending, 0, 'no timer is left')
  }),
  RUNS,
)

void holds(
  t,
  'whatever clients send over HTTP+SSE, each request has one answer',
  fc.asyncProperty(plans, fc.array(requests, { maxLength: 15 }), async (plan, sent) => {
    const { handler, finish } = destined(plan)
    const clock = new FakeClock()
    const host = createSseListener({
      handler,
      clock,
      identity: IDENTITY,
      log,
    })
    const stream = new FakeResponder()
    host.stream(httpRequest('GET', { accept: 'text/event-stream' }), stream)
    const [, sessionId = ''] = /sessionId=([\w-]+)/.exec(stream.body) ?? []
    for (const { method, session, headers, body, advanceMs } of sent) {
      const responder = new FakeResponder()
      const request = httpRequest(method, headers, body)
      const query = new URLSearchParams({ sessionId: session === 'mine' ? sessionId : session })
      host.messages({ ...request, query }, responder)
      clock.advance(advanceMs)
      assert.equal(responder.answers, 1)
    }
    finish()
    await settled()
    host.close()
    await settled()
    assert.ok(stream.isEnded || stream.isDestroyed)
    assert.equal(host.sessions, 0)
  }),
  RUNS,
)

// ── clients on a channel ──

const said = fc.oneof(
  { weight: 8, arbitrary: messages },
  { weight: 1, arbitrary: mutated(messages).map(bytes => bytes.toString('latin1')) },
)

void holds(
  t,
  'whatever a client says on a channel, no request is answered twice, and all that is said is JSON-RPC',
  fc.asyncProperty(
    plans,
    fc.array(said, { maxLength: 25 }),
    fc.boolean(),
    async (plan, texts, introduces) => {
      const { handler, finish } = destined(plan)
      const clock = new FakeClock()
      const far = new FarEnd()
      const host = servePipe(far.channel, LOCAL, { handler, clock, identity: IDENTITY, log })
      if (introduces) {
        far.say(HELLO)
        await settled()
      }
      // Ids of its own, so that each answer can be told apart.
      let ids = 0
      const asked = new Map<string, number>()
      for (const text of texts) {
        ids += 1
        const own = text.replace(
          /^\{"jsonrpc":"2.0","id":("a"|1|0|-1),/,
          () => `{"jsonrpc":"2.0","id":"q${ids}",`,
        )
        if (own !== text) asked.set(`q${ids}`, 0)
        far.say(own)
        clock.advance(10)
      }
      await settled()
      finish()
      await settled()
      clock.advance(100)
      for (const message of far.take().flat()) {
        const { id, method, result, error } = message as Heard & { jsonrpc?: string }
        assert.equal((message as { jsonrpc?: string }).jsonrpc, '2.0')
        assert.equal([method, result, error].filter(part => part !== undefined).length, 1)
        if (method === undefined && typeof id === 'string' && asked.has(id))
          asked.set(id, (asked.get(id) ?? 0) + 1)
      }
      assert.deepEqual(
        [...asked].filter(([, count]) => count > 1),
        [],
      )
      await host.close('it is over')
      await settled()
      assertNobody(handler)
    },
  ),
  RUNS,
)

// ── servers ──

/** How a server answers a request: properly, or as it likes. */
const answers = fc.oneof(
  {
    weight: 4,
    arbitrary: values.map(value => (id: string) => [`{"jsonrpc":"2.0","id":${id},"result":${value}}`]),
  },
  {
    weight: 1,
    arbitrary: values.map(value => (id: string) => [`{"jsonrpc":"2.0","id":${id},"error":${value}}`]),
  },
  { weight: 1, arbitrary: fc.constant((id: string) => [`{"jsonrpc":"2.0","id":"${id}","result":{}}`]) },
  {
    weight: 1,
    arbitrary: fc.constant(
      (id: string) => Array(3).fill(`{"jsonrpc":"2.0","id":${id},"result":{}}`) as string[],
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constant((id: string) => [
      `{"jsonrpc":"2.0","id":${id},"result":{},"error":{"code":1,"message":"x"}}`,
    ]),
  },
  { weight: 1, arbitrary: fc.constant((id: string) => [`{"jsonrpc":"2.0","id":${id}}`]) },
  { weight: 1, arbitrary: fc.constant((id: string) => [`{"jsonrpc":"1.0","id":${id},"result":{}}`]) },
  {
    weight: 1,
    arbitrary: fc.constant((id: string) => [
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${id},"progress":"x"}}`,
    ]),
  },
  { weight: 1, arbitrary: fc.constant(() => []) },
  { weight: 2, arbitrary: said.map(text => () => [text]) },
  {
    weight: 1,
    arbitrary: said.map(text => (id: string) => [text, `{"jsonrpc":"2.0","id":${id},"result":{}}`]),
  },
)
const READY = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {}, logging: {} },
  serverInfo: { name: 's', version: '1' },
}

const DISCOVERED = {
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {}, logging: {} },
  serverInfo: { name: 's', version: '1' },
  resultType: 'complete',
}

/** What a server says it is: nothing that can be believed, or one of the two. */
const greetings = fc.constantFrom('odd', 'legacy', 'modern')

void holds(
  t,
  'whatever a server says on a channel, each of our requests ends once, and nothing is left when it goes',
  fc.asyncProperty(
    fc.array(answers, { minLength: 1, maxLength: 12 }),
    fc.array(said, { maxLength: 8 }),
    greetings,
    fc.constantFrom('auto', 'legacy', 'modern'),
    async (replies, unasked, greeting, era) => {
      const clock = new FakeClock()
      const asks: ServerRequest[] = []
      const ends: FarEnd[] = []
      let closed = 0
      let count = 0
      const connect = (): Promise<Channel> => {
        const far = new FarEnd()
        ends.push(far)
        far.onMessage = ({ id, method }) => {
          if (method === undefined || id === undefined) return
          if (method === 'initialize' && greeting === 'legacy') far.say({ id, result: READY })
          else if (method === 'server/discover' && greeting === 'modern') far.say({ id, result: DISCOVERED })
          else {
            const reply = replies[count % replies.length]
            count += 1
            for (const text of reply?.(JSON.stringify(id)) ?? []) far.say(text)
          }
        }
        return Promise.resolve(far.channel)
      }
      const around = linkOptions({
        listener: {
          requested: ask => asks.push(ask),
          notified: () => undefined,
          closed: () => (closed += 1),
        },
        capabilities: { ...NO_CAPABILITIES, roots: { listChanged: true } },
        era,
        probeMs: 500,
        timeoutMs: 1000,
        pingMs: 5000,
        clock,
        log,
      })
      const opening = openServerPipe(connect, around).catch((thrown: unknown) => Fault.from(thrown))
      for (let step = 0; step < 8; step += 1) {
        await settled()
        clock.advance(500)
      }
      const link = await opening
      if (link instanceof Fault) {
        // Only what nobody foresaw has a cause of this kind.
        assert.ok(link.code !== 'internal' || link.cause === undefined, String(link.cause))
        await settled()
        assert.ok(
          ends.every(({ isClosed }) => isClosed),
          'a server that was not taken is let go',
        )
        assert.equal(clock.pending, 0, 'no timer is left')
        return
      }
      const counts = Array.from({ length: 10 }, () => 0)
      for (const call of counts.keys()) {
        const ended = () => {
          counts[call] = (counts[call] ?? 0) + 1
        }
        const request = { method: 'tools/call', params: textOf({ name: 'x' }), wantsProgress: true }
        link.call(request, { progress: () => undefined, ended })
      }
      for (const text of unasked) ends.at(-1)?.say(text)
      for (const ask of asks) ask.answer(succeeded(rawText('{}')))
      clock.advance(1000)
      await settled()
      ends.at(-1)?.hangUp()
      await settled()
      assert.deepEqual(counts, Array(10).fill(1))
      await link.close()
      assert.ok(closed <= 1)
      assert.equal(clock.pending, 0, 'no timer is left')
    },
  ),
  RUNS,
)
