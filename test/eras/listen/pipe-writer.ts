import t from 'tap'
import { PipeWriter } from '../../../src/eras/listen/pipe-writer.js'
import { FakeClock } from '../../support/fake-clock.js'
import { boundsOf } from '../../support/values.js'
import { FarEnd } from '../../support/wire/channel-pair.js'

const start = () => {
  const client = new FarEnd()
  const clock = new FakeClock()
  let cuts = 0
  const bounds = boundsOf()
  const cut = () => {
    cuts += 1
  }
  const writer = new PipeWriter(client.channel, { clock, bounds }, cut)
  const say = (text: string) => Buffer.from(JSON.stringify(text))
  return { client, clock, writer, say, cuts: () => cuts }
}

t.test('an answer goes out at once, unless something was just said to a client that reads late', async t => {
  const { client, clock, writer, say } = start()
  writer.send(say('progress'))
  writer.end(say('zero'))
  t.same(client.lines.splice(0), ['"progress"', '"zero"'])
  writer.readsLate = true
  writer.end(say('one'))
  t.same(client.lines.splice(0), ['"one"'])
  writer.send(say('progress'))
  writer.end(say('two'), { behind: say('behind') })
  writer.write(say('of another'))
  t.same(client.lines.splice(0), ['"progress"', '"of another"'])
  clock.advance(5)
  t.same(client.lines.splice(0), ['"two"', '"behind"'])
  t.equal(clock.pending, 0)
})

t.test('the more was said, the longer an answer waits, but not for ever', async t => {
  const { client, clock, writer, say } = start()
  writer.readsLate = true
  for (const [notices, waitMs] of [
    [1, 5],
    [100, 24.8],
    [5000, 100],
  ] as const) {
    for (let n = 0; n < notices; n++) writer.send(say('progress'))
    writer.end(say('answer'))
    client.lines.splice(0)
    clock.advance(waitMs - 0.1)
    t.same(client.lines, [])
    clock.advance(0.1)
    t.same(client.lines, ['"answer"'])
    clock.advance(100)
  }
})

t.test('without an answer nothing goes out', async t => {
  const { client, clock, writer } = start()
  writer.end(undefined)
  t.same(client.lines, [])
  t.equal(clock.pending, 0)
})

t.test('what still waits goes out, in order, when there is no more time', async t => {
  const { client, clock, writer, say } = start()
  writer.readsLate = true
  writer.send(say('progress'))
  writer.end(say('one'))
  writer.end(say('two'))
  writer.flush()
  t.same(client.lines, ['"progress"', '"one"', '"two"'])
  clock.advance(5)
  t.equal(client.lines.length, 3, 'once')
})

t.test('a client that is behind is not read from, one that is far behind is cut off', async t => {
  const { client, writer, say, cuts } = start()
  client.channel.isBehind = true
  writer.write(say('one'))
  t.ok(client.channel.isPaused)
  client.channel.queuedBytes = 32 * 1024 * 1024 + 1
  writer.write(say('two'))
  t.equal(cuts(), 1)
  t.same(client.lines, ['"one"'])
})

t.test('progress and log messages are left out while a client is behind', async t => {
  const { client, writer, say } = start()
  client.channel.queuedBytes = 1024 * 1024 + 1
  writer.send(say('progress'), true)
  writer.notify(say('log'), 'notifications/message')
  writer.send(say('question'))
  writer.notify(say('list'), 'notifications/tools/list_changed')
  t.same(client.lines, ['"question"', '"list"'])
})

t.test('questions have numbers of their own', async t => {
  const { client, writer, say } = start()
  t.same([writer.nextRequestId(), writer.nextRequestId()], [1, 2])
  t.ok(writer.canAsk)
  writer.request(say('question'))
  t.same(client.lines, ['"question"'])
})
