import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { openLegacySse, openServerHttp } from '../../src/eras/index.js'
import { Fault } from '../../src/kernel/faults.js'
import { rawText, textOf } from '../../src/kernel/json/text.js'
import type { Downlink, ServerRequest } from '../../src/model/links.js'
import { succeeded } from '../../src/model/outcome.js'
import { salvageId } from '../../src/wire/salvage-id.js'
import { messages, mutated, values } from '../support/arbitraries.js'
import { FakeClock, settled } from '../support/fake-clock.js'
import { holds, soon } from '../support/property.js'
import { linkOptions } from '../support/proxy/links.js'
import { type FakeExchange, FakeHttp } from '../support/wire/fake-http.js'

const RUNS = 120
const said = fc.oneof(
  messages,
  values,
  mutated(messages).map(bytes => bytes.toString()),
)
const READY = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {}, logging: {} },
  serverInfo: { name: 's', version: '1' },
}

/** What a server does with a request. */
type Reaction = (exchange: FakeExchange) => void

const types = fc.constantFrom(
  'application/json',
  'text/event-stream',
  'text/html',
  'application/json; x=y',
  '',
)
const statuses = fc.constantFrom(200, 200, 200, 202, 204, 301, 307, 400, 401, 404, 405, 429, 500, 503)
const bodies = fc.oneof(
  said,
  fc.array(said, { maxLength: 4 }).map(all => all.map(text => `id: ${text}\ndata: ${text}\n\n`).join('')),
  fc.string({ unit: 'binary', maxLength: 60 }),
)
const reactions: fc.Arbitrary<Reaction> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Reaction>(exchange => exchange.json({ result: { content: [] } })) },
  {
    weight: 3,
    arbitrary: fc.tuple(statuses, types, bodies).map(
      ([status, type, body]): Reaction =>
        exchange =>
          exchange.reply(status, { 'content-type': type }, body),
    ),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.array(said, { maxLength: 4 }), fc.constantFrom('end', 'break', 'hang', 'answer'))
      .map(
        ([events, then]): Reaction =>
          exchange => {
            exchange.sse()
            for (const text of events) exchange.raw(`id: 1\ndata: ${text.replaceAll(/[\r\n]/g, ' ')}\n\n`)
            if (then === 'answer') exchange.event({ id: exchange.message.id ?? null, result: {} })
            if (then === 'break') exchange.break()
            else if (then !== 'hang') exchange.end()
          },
      ),
  },
  { weight: 1, arbitrary: fc.constant<Reaction>(exchange => exchange.break()) },
  { weight: 1, arbitrary: fc.constant<Reaction>(() => undefined) },
)

/** A server that greets as it should, or not, and reacts to the rest as it is told. */
const played = (replies: readonly Reaction[], isPolite: boolean): FakeHttp => {
  const http = new FakeHttp()
  let count = 0
  http.onRequest = exchange => {
    const { method } = exchange.method === 'POST' ? exchange.message : { method: undefined }
    if (isPolite && method === 'initialize') exchange.json({ result: READY }, { 'mcp-session-id': 'sid' })
    else if (isPolite && method?.startsWith('notifications/') === true) exchange.reply(202)
    else {
      replies[count % replies.length]?.(exchange)
      count += 1
    }
    return true
  }
  return http
}

/**
 * Opens a link, makes calls, and ends it: each call must have ended once by then, and nothing of it may be
 * left.
 */
const used = async (
  open: (options: ReturnType<typeof linkOptions>) => Promise<Downlink>,
  era: 'auto' | 'modern' | 'legacy',
): Promise<void> => {
  const clock = new FakeClock()
  const asks: ServerRequest[] = []
  const options = linkOptions({
    listener: { requested: ask => asks.push(ask), notified: () => undefined, closed: () => undefined },
    era,
    probeMs: 500,
    timeoutMs: 1000,
    pingMs: 5000,
    clock,
  })
  let link: Downlink | Fault | undefined
  void open(options).then(
    opened => (link = opened),
    (thrown: unknown) => (link = Fault.from(thrown)),
  )
  for (let step = 0; step < 40 && link === undefined; step += 1) {
    await settled()
    clock.advance(500)
  }
  assert.ok(link !== undefined, 'opening ends')
  if (link instanceof Fault) {
    assert.ok(link.code !== 'internal' || link.cause === undefined, String(link.cause))
    await settled()
    return
  }
  const counts = Array.from({ length: 5 }, () => 0)
  for (const call of counts.keys()) {
    const ended = () => {
      counts[call] = (counts[call] ?? 0) + 1
    }
    const request = { method: 'tools/call', params: textOf({ name: 'x' }), wantsProgress: true }
    link.call(request, { progress: () => undefined, ended })
  }
  await settled()
  for (const ask of asks) ask.answer(succeeded(rawText('{}')))
  clock.advance(1000)
  await settled()
  const closing = link.close()
  for (let step = 0; step < 10; step += 1) {
    await settled()
    clock.advance(1000)
  }
  await closing
  await settled()
  assert.deepEqual(counts, [1, 1, 1, 1, 1])
}

void holds(
  t,
  'whatever a server answers over HTTP, each of our requests ends once',
  fc.asyncProperty(
    fc.array(reactions, { minLength: 1, maxLength: 8 }),
    fc.boolean(),
    fc.constantFrom('auto' as const, 'modern' as const, 'legacy' as const),
    async (replies, isPolite, era) => {
      const http = played(replies, isPolite)
      const to = { url: 'https://s.example/mcp', headers: {} }
      await used(options => openServerHttp(http, to, { ...options, hasSse: true }), era)
    },
  ),
  RUNS,
)

void holds(
  t,
  'whatever a server says over HTTP+SSE, each of our requests ends once',
  fc.asyncProperty(
    fc.array(reactions, { minLength: 1, maxLength: 6 }),
    fc.array(said, { maxLength: 6 }),
    fc.oneof(fc.constant('/messages'), fc.string({ unit: 'binary', maxLength: 30 })),
    async (replies, events, endpoint) => {
      const http = new FakeHttp()
      let count = 0
      let stream: FakeExchange | undefined
      http.onRequest = exchange => {
        if (exchange.method === 'GET') {
          stream = exchange
          exchange.sse()
          exchange.raw(`event: endpoint\ndata: ${endpoint.replaceAll(/[\r\n]/g, '')}\n\n`)
          return true
        }
        const { id, method } = exchange.message
        if (method === 'initialize') {
          exchange.reply(202)
          stream?.event({ id: id ?? null, result: READY })
          for (const text of events) stream?.event(text.replaceAll(/[\r\n]/g, ' '))
        } else {
          replies[count % replies.length]?.(exchange)
          count += 1
        }
        return true
      }
      await used(
        options => openLegacySse(http, { url: 'https://s.example/sse', headers: {} }, options),
        'legacy',
      )
    },
  ),
  RUNS,
)

void holds(
  t,
  'a broken answer ends its own request or none',
  fc.property(fc.nat(1e9), values, fc.nat(2000), fc.boolean(), (id, value, cut, isFirst) => {
    const head = `"jsonrpc":"2.0","id":${id}`
    const whole = isFirst ? `{${head},"result":${value}}` : `{"result":${value},${head}}`
    for (const text of [whole, whole.slice(0, cut), whole.replaceAll('}', ']'), `${whole}${whole}`]) {
      const bytes = Buffer.from(text)
      const found = soon(() => salvageId(bytes)).id?.toString()
      // What stands in a value that was cut may look like the end of a message.
      const isForeign = found !== undefined && found !== String(id) && !value.includes(`"id"`)
      assert.ok(!isForeign, `${found} in ${text}`)
    }
  }),
)
