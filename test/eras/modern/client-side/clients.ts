import t from 'tap'
import { ModernClients } from '../../../../src/eras/modern/client-side/clients.js'
import { type Envelope, readEnvelope } from '../../../../src/eras/modern/envelope.js'
import { unauthenticatedCaller } from '../../../../src/kernel/caller.js'
import { textOf } from '../../../../src/kernel/json/text.js'
import { ENVELOPE } from '../../../support/era/codec.js'
import { FakeClock } from '../../../support/fake-clock.js'
import { FakeServerRequest } from '../../../support/server/fake-server.js'
import { shown } from '../../../support/values.js'

const MINUTE_MS = 60_000

const envelope = (info?: object, capabilities: object = {}): Envelope => {
  const _meta = {
    ...ENVELOPE,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    ...(info !== undefined && { 'io.modelcontextprotocol/clientInfo': info }),
  }
  const check = readEnvelope(textOf(_meta))
  if (check.is !== 'fine') throw check.fault
  return check.envelope
}

const named = (name: string): Envelope => envelope({ name, version: '1' })

const start = (limits = { clients: 3, bytes: 1e6 }) => {
  const clock = new FakeClock()
  const left: number[] = []
  return {
    clock,
    left,
    clients: new ModernClients(
      clock,
      () => limits,
      client => left.push(client.id),
    ),
  }
}

t.test('equal descriptions from one principal are the same client', async t => {
  const { clients } = start({ clients: 10, bytes: 1e6 })
  const one = clients.of(unauthenticatedCaller('a'), named('x'))
  t.equal(clients.of(unauthenticatedCaller('a'), named('x')), one)
  const others = [
    clients.of(unauthenticatedCaller('b'), named('x')),
    clients.of(unauthenticatedCaller('a'), named('y')),
    clients.of(unauthenticatedCaller('a'), envelope()),
    clients.of(unauthenticatedCaller('a'), envelope({ name: 'x', version: '1' }, { roots: {} })),
  ]
  t.equal(new Set([one, ...others].map(client => client?.id)).size, 5)
  t.equal(clients.size, 5)
  t.match(one, { principal: 'a', revision: '2026-07-28', serverRequests: 'returned' })
  t.equal(one?.info.toString(), '{"name":"x","version":"1"}')
})

t.test('a client that does not say who it is has a name for servers that must be told one', async t => {
  t.equal(
    start().clients.of(unauthenticatedCaller('a'), envelope())?.info.toString(),
    '{"name":"unknown","version":"0"}',
  )
})

t.test('a client declares what it can be asked, without changes of its roots', async t => {
  const capabilities = { roots: { listChanged: true }, elicitation: {} }
  const client = start().clients.of(unauthenticatedCaller('a'), envelope(undefined, capabilities))
  t.same(client?.capabilities, {
    roots: { listChanged: false },
    sampling: undefined,
    elicitation: { form: true, url: false, isBare: true },
  })
})

t.test('a client can be told and asked nothing outside of its requests', async t => {
  const client = start().clients.of(unauthenticatedCaller('a'), envelope())
  const ask = new FakeServerRequest()
  client?.notify()
  client?.ask(ask)
  t.same(ask.outcomes.map(shown), ['internal: This client can only be asked in the answer to its request'])
})

t.test('what a client says about itself does not keep its message in memory', async t => {
  const { clients } = start()
  const said = envelope({ name: 'x', version: '1', title: 'x'.repeat(50_000) })
  const client = clients.of(unauthenticatedCaller('a'), said)
  t.equal(client?.info.toString(), said.info?.toString())
  t.not(client?.info.buffer, said.info?.buffer)
})

t.test(
  'at the limit, the client idle for longest is forgotten; without an idle one, the request is refused',
  async t => {
    const { clock, left, clients } = start()
    const [one, two, three] = ['1', '2', '3'].map(name => {
      clock.advance(1)
      return clients.of(unauthenticatedCaller('a'), named(name))
    })
    clock.advance(1)
    clients.of(unauthenticatedCaller('a'), named('1'))
    const four = clients.of(unauthenticatedCaller('a'), named('4'))
    t.same(left, [two?.id])
    for (const client of [one, three, four]) if (client !== undefined) client.openCalls += 1
    t.equal(clients.of(unauthenticatedCaller('a'), named('5')), undefined)
    t.equal(clients.of(unauthenticatedCaller('a'), named('1')), one, 'who is known is served')
    if (three !== undefined) three.openCalls -= 1
    t.ok(clients.of(unauthenticatedCaller('a'), named('5')))
    t.same(left, [two?.id, three?.id])
    t.equal(clients.size, 3)
  },
)

t.test('the description of a client is bounded too', async t => {
  const { left, clients } = start({ clients: 100, bytes: 1000 })
  const one = clients.of(unauthenticatedCaller('a'), named('x'.repeat(600)))
  t.ok(clients.of(unauthenticatedCaller('a'), named('y'.repeat(600))))
  t.same(left, [one?.id])
  t.equal(
    clients.of(unauthenticatedCaller('a'), named('z'.repeat(1001))),
    undefined,
    'more than all may say together',
  )
  t.equal(clients.size, 1, 'and nobody goes for it')
})

t.test('a client without requests is forgotten after a quarter of an hour', async t => {
  const { clock, left, clients } = start()
  const [idle, busy] = [
    clients.of(unauthenticatedCaller('a'), named('idle')),
    clients.of(unauthenticatedCaller('a'), named('busy')),
  ]
  if (busy !== undefined) busy.openCalls += 1
  clock.advance(15 * MINUTE_MS)
  clients.sweep()
  t.same(left, [])
  clock.advance(1)
  clients.sweep()
  t.same(left, [idle?.id])
  if (busy !== undefined) busy.openCalls -= 1
  clock.advance(15 * MINUTE_MS)
  clients.sweep()
  t.equal(clients.size, 1, 'the time begins with the answer')
  clock.advance(1)
  clients.sweep()
  t.equal(clients.size, 0)
  t.not(clients.of(unauthenticatedCaller('a'), named('idle')), idle, 'and is another one when it comes back')
})

t.test('when the way in is closed all clients leave, once', async t => {
  const { left, clients } = start()
  const ids = ['1', '2'].map(name => clients.of(unauthenticatedCaller('a'), named(name))?.id)
  clients.close()
  clients.close()
  t.same(left, ids)
})
