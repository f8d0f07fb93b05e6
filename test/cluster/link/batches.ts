import t from 'tap'
import { BatchHost } from '../../../src/cluster/link/batch-host.js'
import { Batches, type Sent } from '../../../src/cluster/link/batches.js'
import { BATCH_PATH, FrameReader, lineOf } from '../../../src/cluster/link/frames.js'
import { LOCAL } from '../../../src/kernel/caller.js'
import type { Fault } from '../../../src/kernel/faults.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import type { HttpRequest, HttpResponder, ReplyListener } from '../../../src/wire/http.js'
import { settled } from '../../support/fake-clock.js'
import { LinkExchange } from '../../support/wire/link-exchange.js'

const OWNER = { id: 'owner', address: 'o:1', version: '1', keys: [], state: 'ready', sinceMs: 0, untilMs: 9 }

/** What is heard of one request. */
class Heard implements ReplyListener {
  status = 0
  type = ''
  body = ''
  isEnded = false
  fault: Fault | undefined

  head(status: number, { 'content-type': type = '' }: Record<string, string | undefined>): void {
    this.status = status
    this.type = type
  }

  data(chunk: Buffer): void {
    this.body += chunk.toString()
  }

  ended(fault: Fault | undefined): void {
    this.isEnded = true
    this.fault = fault
  }
}

/** A way to a replica; `refuses` says with which status it turns batches away. */
const wayTo = ({
  refuses,
  isSlow = false,
}: {
  readonly refuses?: number
  readonly isSlow?: boolean
} = {}) => {
  const host = new BatchHost(silentLogger)
  const served = new Map<string, { readonly request: HttpRequest; readonly responder: HttpResponder }>()
  const exchanges: LinkExchange[] = []
  const paths: string[] = []
  const serve = (request: HttpRequest, responder: HttpResponder): void => {
    const body = request.body.toString()
    if (body === 'breaks') throw new Error('broken')
    served.set(body, { request, responder })
  }
  const batches = new Batches((_to, { adopts: _, ...sent }, listener) => {
    const exchange = new LinkExchange('edge', 'owner', listener)
    exchanges.push(exchange)
    paths.push(sent.path)
    const request = { ...sent, remoteAddress: '10.0.0.1', remotePort: 1 }
    const soon = isSlow ? (then: () => void) => setImmediate(() => setImmediate(then)) : queueMicrotask
    soon(() => {
      if (sent.path !== BATCH_PATH) serve(request, exchange.responder)
      else if (refuses === undefined) host.serve('edge', request, exchange.responder, serve)
      else exchange.responder.send(refuses, {})
    })
    return exchange
  })
  const send = (body: string, more: Partial<Sent> = {}) => {
    const heard = new Heard()
    const request: Sent = {
      ...{ method: 'POST', path: '/mcp', query: new URLSearchParams('a=1'), caller: LOCAL },
      ...{ headers: { 'mcp-session-id': 'é', cookie: 'secret' }, body: Buffer.from(body), ...more },
    }
    return { heard, exchange: batches.add(OWNER as never, request, heard) }
  }
  const responderOf = (body: string): HttpResponder => {
    const { responder } = served.get(body) ?? {}
    if (responder === undefined) throw new Error(`${body} did not come`)
    return responder
  }
  return { batches, send, served, responderOf, exchanges, paths }
}

t.test('requests of one turn go together, and each answer comes as soon as it is there', async t => {
  const { send, served, responderOf, paths } = wayTo()
  const caller = { ...LOCAL, principal: 'person Zoë', scopes: new Set(['mcp']), view: 'web' }
  const [a, b, c] = [send('a', { caller }), send(''), send('breaks')]
  await settled()
  t.same(paths, [BATCH_PATH])
  t.match(served.get('a')?.request, {
    ...{ method: 'POST', path: '/mcp', headers: { 'mcp-session-id': 'é' }, remoteAddress: '10.0.0.1' },
    caller: { principal: 'person Zoë', endsMs: Number.POSITIVE_INFINITY, view: 'web', edge: 'edge' },
  })
  t.same([served.get('a')?.request.query.get('a'), served.get('a')?.request.caller.scopes?.size], ['1', 1])
  t.equal(served.get('a')?.request.headers['cookie'], undefined, 'no credential goes on')
  t.match(c.heard, { status: 500, isEnded: true }, 'what fails leaves the others')

  responderOf('').send(
    200,
    { 'content-type': 'application/json' },
    { head: '{"', body: Buffer.from('ü'), tail: '"}' },
  )
  t.match(
    [b.heard, a.heard.status],
    [{ status: 200, type: 'application/json', body: '{"ü"}', isEnded: true }, 0],
  )
  const out = responderOf('a').stream(200, { 'content-type': 'text/event-stream' })
  out.write('data: 1\n\n')
  t.match(a.heard, { status: 200, body: 'data: 1\n\n', isEnded: false })
  out.write(Buffer.from('data: 2\n\n'))
  out.end()
  t.match(a.heard, { body: 'data: 1\n\ndata: 2\n\n', isEnded: true, fault: undefined })
})

t.test('a request that is alone in its turn, or is large, has an exchange for itself', async t => {
  const { batches, send, responderOf, paths } = wayTo()
  const { heard, exchange } = send('a')
  exchange.pause()
  await settled()
  t.same(paths, ['/mcp'])
  responderOf('a').send(200, {}, 'yes')
  t.match(heard, { status: 200, body: 'yes', isEnded: true })
  const [left] = [send('b'), send('c')]
  left.exchange.abort()
  await settled()
  t.same(paths, ['/mcp', '/mcp'], 'nobody waits for the other')
  const rows: readonly (readonly [Partial<Sent>, boolean])[] = [
    [{}, true],
    [{ method: 'GET' }, false],
    [{ method: 'DELETE' }, false],
    [{ adopts: true }, false],
    [{ body: Buffer.alloc(20_000) }, false],
  ]
  const request = { method: 'POST', path: '/', query: new URLSearchParams(), headers: {}, caller: LOCAL }
  for (const [more, isTaken] of rows)
    t.equal(batches.takes(OWNER as never, { ...request, body: Buffer.alloc(1), ...more }), isTaken)
})

t.test('many large requests do not become one that is too long', async t => {
  const { send, paths, served } = wayTo()
  for (let n = 0; n < 9; n += 1) send(`${n}`.repeat(16_000))
  await settled()
  t.same([paths.length, served.size], [2, 9])
})

t.test('a replica that turns a batch away gets its requests one by one', async t => {
  for (const [refuses, later] of [
    [421, false],
    [413, true],
  ] as const) {
    const { batches, send, responderOf, paths } = wayTo({ refuses })
    const [a, b] = [send('a'), send('b')]
    await settled()
    t.same(paths, [BATCH_PATH, '/mcp', '/mcp'])
    for (const body of ['b', 'a']) responderOf(body).send(200, {}, `re ${body}`)
    t.same([a.heard.body, b.heard.body], ['re a', 're b'])
    t.equal(batches.takes(OWNER as never, { ...send('c').exchange, ...POST }), later)
  }
})

const POST: Sent = {
  ...{ method: 'POST', path: '/mcp', query: new URLSearchParams(), headers: {} },
  ...{ body: Buffer.alloc(0), caller: LOCAL },
}

t.test('a client that goes away is told to the replica, and the others stay', async t => {
  const { send, responderOf, exchanges } = wayTo()
  const [a, b, c] = [send('a'), send('b'), send('c')]
  await settled()
  const gone: string[] = []
  for (const body of ['a', 'b', 'c']) responderOf(body).onGone(() => gone.push(body))
  const out = responderOf('a').stream(200, {})
  a.exchange.abort()
  await settled()
  t.same(gone, ['a'])
  t.equal(out.write('late'), false)
  a.exchange.abort()
  responderOf('b').send(200, {}, 'b')
  t.match([a.heard.body, b.heard.body, exchanges.length], ['', 'b', 2])
  c.exchange.abort()
  t.same(gone, ['a', 'c'], 'after the last one the exchange is cut')
})

t.test('a client that goes away before the batch has arrived is told once it has', async t => {
  const { send, responderOf, served } = wayTo({ isSlow: true })
  const [a] = [send('a'), send('b')]
  setImmediate(() => a.exchange.abort())
  await settled()
  await settled()
  t.equal(served.size, 2)
  const gone: string[] = []
  responderOf('a').onGone(() => gone.push('a'))
  await settled()
  t.match([gone, a.heard.isEnded], [['a'], false])
})

t.test('when the link breaks, all unanswered requests fail', async t => {
  const { send, responderOf, exchanges } = wayTo()
  const [a, b, c] = [send('a'), send('b'), send('c')]
  await settled()
  const gone: string[] = []
  responderOf('b').onGone(() => gone.push('b'))
  responderOf('a').send(200, {}, 'a')
  responderOf('c').stream(200, {}).destroy()
  t.match([a.heard.fault, c.heard.fault?.code], [undefined, 'disconnected'], 'one may be cut alone')
  exchanges[0]?.break()
  t.match([a.heard.fault, b.heard.fault?.code], [undefined, 'disconnected'])
  exchanges[0]?.abort()
  t.same(gone, [], 'the other end has not heard of it')
})

t.test('an invalid response ends the exchange', async t => {
  for (const bytes of ['nothing\n', '{"id":1,"size":0}\n', `{"x":"${'x'.repeat(300_000)}`]) {
    let answer: HttpResponder | undefined
    const batches = new Batches((_to, _request, listener) => {
      const exchange = new LinkExchange('edge', 'owner', listener)
      answer = exchange.responder
      return exchange
    })
    const all = [new Heard(), new Heard()]
    for (const one of all) batches.add(OWNER as never, POST, one)
    await settled()
    answer?.send(200, {}, bytes)
    for (const one of all) t.equal(one.fault?.code, 'disconnected', bytes.slice(0, 20))
  }
})

t.test('frames are read however they were cut', async t => {
  const [first, last] = [
    { size: 3, n: 'ä' },
    { size: 0, n: 2 },
  ]
  const whole = Buffer.from(`${lineOf(first)}a\nb${lineOf(last)}`, 'latin1')
  for (let size = 1; size <= whole.length; size += 1) {
    let seen = ''
    const reader = new FrameReader<{ readonly size: number; readonly n: unknown }>({
      head: ({ n }) => (seen += `<${String(n)}`),
      data: bytes => (seen += bytes.toString()),
      over: () => (seen += '>'),
    })
    for (let at = 0; at < whole.length; at += size) reader.push(whole.subarray(at, at + size))
    t.equal(seen, '<äa\nb><2>')
  }
})
