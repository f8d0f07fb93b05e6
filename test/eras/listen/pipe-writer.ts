import t from 'tap'
import { PipeWriter } from '../../../src/eras/listen/pipe-writer.js'
import { rawText } from '../../../src/kernel/json/text.js'
import { FakeClock } from '../../support/fake-clock.js'
import { boundsOf } from '../../support/values.js'
import { FarEnd } from '../../support/wire/channel-pair.js'

const start = () => {
  const client = new FarEnd()
  const clock = new FakeClock()
  const writer = new PipeWriter(client.channel, { clock, bounds: boundsOf() })
  const say = (text: string) => Buffer.from(JSON.stringify(text))
  return { client, clock, writer, say }
}

t.test('an answer goes out at once, unless something was just said to a client that reads late', async t => {
  const { client, clock, writer, say } = start()
  writer.send(say('progress'))
  writer.end(say('zero'))
  t.same(client.lines.splice(0), ['"progress"', '"zero"'])
  writer.defersNotifications = true
  writer.end(say('one'))
  t.same(client.lines.splice(0), ['"one"'])
  writer.send(say('progress'))
  writer.end(say('two'), { followUp: say('behind') })
  writer.end(say('three'))
  const [progress, answer = '', ...others] = client.lines
  t.equal(progress, '"progress"')
  t.equal(answer.trim(), '"two"')
  t.ok(answer.length > 64 * 1024, 'it begins in another read than the progress ends in')
  t.same(others, ['"behind"', '"three"'], 'as what comes behind it does')
  t.equal(clock.pending, 0)
})

t.test('a client that is behind anyway is sent nothing more than it must be', async t => {
  const { client, writer, say } = start()
  writer.defersNotifications = true
  writer.send(say('progress'))
  client.channel.queuedBytes = 1024 * 1024 + 1
  writer.end(say('answer'))
  t.same(client.lines, ['"progress"', '"answer"'])
})

/** The method and id of each ping that the client was sent, and the words of all else. */
const taken = (client: FarEnd) =>
  client.lines.splice(0).map(line => {
    const value = JSON.parse(line) as string | { id: number; method: string }
    return typeof value === 'string' ? value : `${value.method} ${value.id}`
  })

t.test('a client that can be asked gets its answer as soon as it has answered a ping', async t => {
  const { client, clock, writer, say } = start()
  writer.defersNotifications = true
  writer.canPing = true
  writer.send(say('progress'))
  writer.end(say('one'))
  writer.end(say('two'))
  t.same(taken(client), ['progress', 'ping 1'], 'one ping stands for all that was said before it')
  clock.advance(900)
  t.notOk(writer.answered(rawText('7')), 'answers to others go on')
  t.ok(writer.answered(rawText('1')))
  t.same(taken(client), ['one', 'two'])
  writer.end(say('three'))
  t.same(taken(client), ['three'], 'nothing was said since then')
  t.equal(clock.pending, 0)
})

t.test('each answer waits for the ping behind its own progress', async t => {
  const { client, writer, say } = start()
  writer.defersNotifications = true
  writer.canPing = true
  writer.send(say('progress'))
  writer.end(say('one'))
  writer.send(say('more'))
  t.ok(writer.answered(rawText('1')))
  t.same(taken(client), ['progress', 'ping 1', 'more', 'one'])
  writer.end(say('two'))
  t.same(taken(client), ['ping 2'])
  t.ok(writer.answered(rawText('2')))
  t.same(taken(client), ['two'])
})

t.test('a client that answers no pings waits for one answer only, until it answers again', async t => {
  const { client, clock, writer, say } = start()
  writer.defersNotifications = true
  writer.canPing = true
  writer.send(say('progress'))
  writer.end(say('one'))
  clock.advance(999)
  t.same(taken(client), ['progress', 'ping 1'])
  clock.advance(1)
  t.ok((client.lines[0]?.length ?? 0) > 64 * 1024, 'and gets it in another read')
  t.same(taken(client), ['one'])
  writer.send(say('progress'))
  writer.end(say('two'))
  t.same(taken(client), ['progress', 'two'])
  t.ok(writer.answered(rawText('1')), 'late')
  writer.send(say('progress'))
  writer.end(say('three'))
  t.same(taken(client), ['progress', 'ping 2'])
  t.ok(writer.answered(rawText('2')))
  t.same(taken(client), ['three'])
  t.equal(clock.pending, 0)
})

t.test('without an answer nothing goes out', async t => {
  const { client, clock, writer } = start()
  writer.end(undefined)
  t.same(client.lines, [])
  t.equal(clock.pending, 0)
})

t.test('deferred answers are sent in order when time runs out', async t => {
  const { client, clock, writer, say } = start()
  writer.defersNotifications = true
  writer.canPing = true
  writer.send(say('progress'))
  writer.end(say('one'))
  writer.end(say('two'))
  writer.flush()
  t.same(taken(client), ['progress', 'ping 1', 'one', 'two'])
  clock.advance(1000)
  t.same(client.lines, [], 'once')
})

t.test('a client that is behind is not read from, and still gets its answers', async t => {
  const { client, writer, say } = start()
  client.channel.isBehind = true
  writer.write(say('one'))
  t.ok(client.channel.isPaused)
  client.channel.queuedBytes = 32 * 1024 * 1024 + 1
  writer.write(say('two'))
  t.same(client.lines, ['"one"', '"two"'])
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
