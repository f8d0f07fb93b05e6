import t from 'tap'
import { Fault } from '../../../src/kernel/faults.js'
import { collect, fetchReply, type RemoteReply } from '../../../src/rpc/http/fetch-reply.js'
import { settled } from '../../support/fake-clock.js'
import { boundsOf } from '../../support/values.js'
import { FakeHttp } from '../../support/wire/fake-http.js'

const start = () => {
  const http = new FakeHttp()
  const stop = new AbortController()
  const asked = fetchReply(http, { method: 'GET', url: 'https://s.example/', headers: {} }, stop.signal)
  asked.catch(() => undefined)
  return { http, stop, asked, exchange: http.next() }
}

/** Records the events of a body. */
const readAll = (reply: RemoteReply): string[] => {
  const told: string[] = []
  reply.read({
    data: chunk => told.push(chunk.toString()),
    ended: fault => told.push(fault === undefined ? 'complete' : fault.code),
    drop: () => undefined,
  })
  return told
}

t.test('a body waits for its reader, however late that comes', async t => {
  const { asked, exchange } = start()
  exchange.reply(201, { 'x-a': 'b' }, 'body')
  const reply = await asked
  t.match(reply, { status: 201, headers: { 'x-a': 'b' } })
  await settled()
  const told = readAll(reply)
  await settled()
  t.same(told, ['body', 'complete'])
})

t.test('a body that breaks off before it is read fails its reader', async t => {
  const { asked, exchange } = start()
  exchange.sse()
  const reply = await asked
  exchange.breakNow(new Fault('disconnected', 'gone'))
  t.same(readAll(reply), ['disconnected'])
})

t.test('calling off ends it at any time: before, while it waits, and while it is read', async t => {
  const gone = await fetchReply(
    new FakeHttp(),
    { method: 'GET', url: 'https://s.example/', headers: {} },
    AbortSignal.abort(),
  ).catch((thrown: unknown) => thrown)
  t.match(gone, { code: 'cancelled' })
  const waiting = start()
  waiting.stop.abort()
  await t.rejects(waiting.asked, { code: 'cancelled' })
  t.ok(waiting.exchange.isAborted)
  const unread = start()
  unread.exchange.sse()
  const late = await unread.asked
  unread.stop.abort()
  t.same(readAll(late), ['cancelled'])
  const reading = start()
  reading.exchange.sse()
  const told = readAll(await reading.asked)
  reading.exchange.raw('1')
  await settled()
  reading.stop.abort()
  t.same(told, ['1', 'cancelled'])
  t.ok(reading.exchange.isAborted)
})

t.test('a reply that was discarded no longer minds being called off', async t => {
  const { asked, exchange, stop } = start()
  exchange.reply(202)
  const reply = await asked
  reply.discard()
  stop.abort()
  await settled()
  t.ok(exchange.isDiscarded)
  t.notOk(exchange.isAborted)
})

t.test('the bytes of a body are counted, and released however it ends', async t => {
  const bounds = boundsOf({ inbound: 300_000, message: 200_000 })
  const begun = async () => {
    const { asked, exchange, stop } = start()
    exchange.sse()
    const reply = await asked
    const body = collect(reply, bounds).catch((thrown: unknown) => (thrown as Fault).message)
    const send = async (bytes: number) => {
      exchange.raw('x'.repeat(bytes))
      await settled()
    }
    return { body, exchange, reply, send, stop }
  }
  const called = await begun()
  await called.send(50_000)
  t.ok(bounds.inbound.bytes >= 50_000)
  called.stop.abort()
  t.equal(bounds.inbound.bytes, 0)
  const broken = await begun()
  await broken.send(50_000)
  broken.exchange.breakNow(new Fault('disconnected', 'gone'))
  t.equal(bounds.inbound.bytes, 0)
  const left = await begun()
  await left.send(50_000)
  left.reply.discard()
  t.equal(bounds.inbound.bytes, 0)
  const long = await begun()
  await long.send(200_001)
  t.match(await long.body, /longer than 200000 bytes/)
  const all = await Promise.all([begun(), begun()])
  await all[0].send(140_000)
  await all[1].send(170_000)
  t.match(await all[1].body, /too much is being received/)
  t.ok(all[1].exchange.isDiscarded)
  all[0].exchange.end()
  await settled()
  t.equal((await all[0].body).length, 140_000)
  t.equal(bounds.inbound.bytes, 0)
})
