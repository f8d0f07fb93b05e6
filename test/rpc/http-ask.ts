import t from 'tap'
import { Fault } from '../../src/kernel/faults.js'
import { askRemote, type RemoteReply } from '../../src/rpc/http-ask.js'
import { settled } from '../support/fake-clock.js'
import { FakeHttp } from '../support/fake-http.js'

const start = () => {
  const http = new FakeHttp()
  const stop = new AbortController()
  const asked = askRemote(http, { method: 'GET', url: 'https://s.example/', headers: {} }, stop.signal)
  asked.catch(() => undefined)
  return { http, stop, asked, exchange: http.next() }
}

/** What a reader is told of a body. */
const readAll = (reply: RemoteReply): string[] => {
  const told: string[] = []
  reply.read({
    data: chunk => told.push(chunk.toString()),
    ended: fault => told.push(fault === undefined ? 'complete' : fault.code),
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

t.test('a body that breaks off before it is read is told to whoever reads it', async t => {
  const { asked, exchange } = start()
  exchange.sse()
  const reply = await asked
  exchange.breakNow(new Fault('disconnected', 'gone'))
  t.same(readAll(reply), ['disconnected'])
})

t.test('calling off ends it at any time: before, while it waits, and while it is read', async t => {
  const gone = await askRemote(
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
