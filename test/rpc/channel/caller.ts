import t from 'tap'
import { Fault } from '../../../src/kernel/faults.js'
import { type JsonText, rawText } from '../../../src/kernel/json/text.js'
import { PipeCaller } from '../../../src/rpc/channel/caller.js'
import { FakeClock } from '../../support/fake-clock.js'
import { shown } from '../../support/values.js'
import { FarEnd, recordedLog } from '../../support/wire/channel-pair.js'

const start = () => {
  const server = new FarEnd()
  const heard: string[] = []
  const { log, lines } = recordedLog()
  const clock = new FakeClock()
  const talk = new PipeCaller(
    server.channel,
    {
      requested: (id: JsonText, method: string) => heard.push(`asked ${id.toString()} ${method}`),
      notified: (method: string) => heard.push(`noticed ${method}`),
      closed: fault => heard.push(`closed ${fault.code}`),
    },
    { log, clock },
  )
  const request = (method = 'tools/list') => {
    const id = talk.nextId()
    talk.request(id, method, undefined, {
      progress: ({ params }) => heard.push(`progress ${id} ${params.toString()}`),
      ended: outcome => heard.push(`ended ${id} ${shown(outcome)}`),
    })
    return id
  }
  return { server, heard, lines, clock, talk, request }
}

t.test('answers in any order reach their requests, with every byte of the result', async t => {
  const { server, heard, request } = start()
  request()
  request()
  t.same(server.take(), [
    { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    { jsonrpc: '2.0', id: 2, method: 'tools/list' },
  ])
  server.say('{"jsonrpc":"2.0","result":{"n":12345678901234567890, "x":1.0},"id":2}')
  server.say('{"jsonrpc":"2.0","error":{"code":-32602,"message":"no","data":1e400},"id":1}')
  t.same(heard, [
    'ended 2 result {"n":12345678901234567890, "x":1.0}',
    'ended 1 error {"code":-32602,"message":"no","data":1e400}',
  ])
})

t.test('late, doubled and unknown answers are dropped without noise', async t => {
  const { server, heard, lines, talk, request } = start()
  const id = request()
  request()
  talk.forget(id)
  server.say({ id: 1, result: {} })
  server.say({ id: 2, result: {} })
  server.say({ id: 2, result: {} })
  server.say({ id: 99, result: {} })
  server.say({ error: { code: 1, message: 'whose?' } })
  t.same(heard, ['ended 2 result {}'])
  t.same(
    lines.filter(([level]) => level !== 'debug'),
    [],
  )
})

t.test('progress reaches the request whose token it carries, until that is answered', async t => {
  const { server, heard, request } = start()
  request()
  const progress = (progressToken: unknown) =>
    server.say({ method: 'notifications/progress', params: { progressToken, progress: 1 } })
  progress(1)
  progress('1')
  progress(2)
  progress('x')
  server.say({ method: 'notifications/progress' })
  server.say({ id: 1, result: {} })
  progress(1)
  t.same(heard, [
    'progress 1 {"progressToken":1,"progress":1}',
    'progress 1 {"progressToken":"1","progress":1}',
    'ended 1 result {}',
  ])
})

t.test('an answer with both result and error, or neither, fails its request and no other', async t => {
  const { server, heard, request } = start()
  for (let i = 0; i < 4; i += 1) request()
  server.say('{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}')
  server.say('{"jsonrpc":"2.0","id":2}')
  server.say('{"jsonrpc":"1.0","id":3,"result":{}}')
  server.say('{"jsonrpc":"2.0","id":4,"result":{}}')
  t.same(
    heard.map(line => line.replace(/(malformed).*/, '$1')),
    [
      "ended 1 internal: The server's answer is malformed",
      "ended 2 internal: The server's answer is malformed",
      "ended 3 internal: The server's answer is malformed",
      'ended 4 result {}',
    ],
  )
})

t.test('the members of an array are taken one by one, also next to a bad one', async t => {
  const { server, heard, request } = start()
  request()
  server.say(
    '[{"jsonrpc":"2.0","method":"notifications/x"},3,{"jsonrpc":"2.0","id":1,"result":{}},' +
      '{"jsonrpc":"2.0","id":"q","method":"roots/list"}]',
  )
  t.same(heard, ['noticed notifications/x', 'ended 1 result {}', 'asked "q" roots/list'])
})

t.test('garbage is skipped with a warning and the conversation goes on', async t => {
  const { server, heard, lines, request } = start()
  request()
  for (const line of ['Starting server...', '{"jsonrpc":"2.0","id":null,"method":"ping"}', '[]'])
    server.say(line)
  server.channel.skipped(1e9)
  server.say({ id: 1, result: {} })
  t.same(heard, ['ended 1 result {}'])
  t.equal(lines.filter(([level]) => level === 'warn').length, 4)
})

t.test('an answer that cannot be read, or was too long to be kept, ends its request at once', async t => {
  const { server, heard, request } = start()
  for (let count = 0; count < 4; count += 1) request()
  server.say('{"jsonrpc":"2.0","id":1,"result":{"content":[}}')
  server.say('{"result":{"text":"\0"},"jsonrpc":"2.0","id":2}')
  server.channel.skipped(1e9, Buffer.from('{"jsonrpc":"2.0","id":3,"result":{"x":"xxxx"}]}}'))
  server.channel.skipped(1e9, Buffer.from('{"level":"info","message":"xxxx'))
  server.say('{"jsonrpc":"2.0","id":4,"method":"ping","params":{]}')
  t.match(heard, [
    /^ended 1 internal: The server's answer is malformed: Not JSON/,
    /^ended 2 internal: The server's answer is malformed: Not JSON/,
    "ended 3 too-large: The server's answer of 1000000000 bytes is longer than the limit",
  ])
  server.say({ id: 1, result: {} })
  t.equal(heard.length, 3)
})

t.test('an answer that was too long to tell whose it is ends all requests, a notification none', async t => {
  const { server, heard, request } = start()
  for (let count = 0; count < 2; count += 1) request()
  server.channel.skipped(1e9, Buffer.from('{"jsonrpc":"2.0","method":"notifications/x","params":{"error":'))
  t.same(heard, [])
  server.channel.skipped(1e9, Buffer.from('[{"jsonrpc":"2.0","result":{"x":"xxxx"}]}}'))
  t.match(heard, [/^ended 1 too-large/, /^ended 2 too-large/])
})

t.test('a server that sends three messages in a minute that are too long is left', async t => {
  const { server, heard, request, clock } = start()
  request()
  const skip = () => server.channel.skipped(1e9, Buffer.from('xxx'))
  skip()
  skip()
  clock.advance(60_000)
  skip()
  skip()
  t.same(heard, [])
  skip()
  t.match(heard, [/^ended 1 too-large: It sent 3 messages/, 'closed too-large'])
  t.ok(server.isClosed)
  skip()
  t.equal(heard.length, 2)
})

t.test('a server that does not end a message that is too long is left', async t => {
  const { server, heard, request, clock } = start()
  request()
  server.channel.overrun()
  clock.advance(999)
  server.channel.skipped(1e9, Buffer.from('xxx'))
  clock.advance(10_000)
  t.same(heard, [], 'unless it ends soon after the limit')
  server.channel.overrun()
  clock.advance(1000)
  t.match(heard, [/^ended 1 too-large: .*limits\.message is 64MiB/, 'closed too-large'])
  t.ok(server.isClosed)
})

t.test('invalid UTF-8 loses its characters, but not the answer', async t => {
  const { server, heard, request } = start()
  request()
  const [before, after] = ['{"jsonrpc":"2.0","id":1,"result":{"text":"a', 'b"}}']
  server.channel.hear(
    Buffer.concat([Buffer.from(before ?? ''), Buffer.from([0xff]), Buffer.from(after ?? '')]),
  )
  t.same(heard, ['ended 1 result {"text":"a\ufffdb"}'])
})

t.test('a message with a method is never an answer, with any id', async t => {
  const { server, heard, request } = start()
  request()
  server.say({ id: 1, method: 'ping', result: {} })
  t.same(heard, ['asked 1 ping'])
})

t.test('a lost connection ends every open request with the same fault, then is reported once', async t => {
  const { server, heard, talk, request } = start()
  request()
  request()
  server.channel.break(new Fault('disconnected', 'it crashed'))
  server.channel.break(undefined)
  await talk.close()
  t.same(heard, [
    'ended 1 disconnected: it crashed',
    'ended 2 disconnected: it crashed',
    'closed disconnected',
  ])
})

t.test('a request on a connection that is gone fails at once instead of waiting for ever', async t => {
  const { heard, talk, request } = start()
  await talk.close()
  request()
  t.same(heard, ['closed disconnected', 'ended 1 disconnected: The connection to the server is closed'])
})

t.test('requests are refused while the server does not read, everything else is still sent', async t => {
  const { server, heard, talk, request } = start()
  server.channel.queuedBytes = 8 * 1024 * 1024 + 1
  request()
  void talk.notify('notifications/x', undefined)
  talk.sendResult(rawText('"a"'), rawText('{}'))
  talk.sendError(rawText('3'), rawText('{"code":1,"message":"m"}'))
  t.same(heard, [
    'ended 1 overloaded: The server does not read its input (limits.serverQueue is 8MiB); try again later',
  ])
  t.same(server.lines, [
    '{"jsonrpc":"2.0","method":"notifications/x"}',
    '{"jsonrpc":"2.0","id":"a","result":{}}',
    '{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"m"}}',
  ])
  server.channel.queuedBytes = 0
  request()
  t.equal(server.lines.length, 4)
})

t.test('back-pressure and signs of life come from the channel', async t => {
  const { server, talk } = start()
  const before = talk.receivedCount
  server.say({ method: 'notifications/x' })
  t.equal(talk.receivedCount, before + 1)
  talk.pause()
  t.ok(server.channel.isPaused)
  talk.resume()
  t.notOk(server.channel.isPaused)
  t.ok(talk.receivesUnsolicited)
})

t.test('a server that logs JSON to its stdout is answered all the same', async t => {
  const { server, heard, lines, request } = start()
  request()
  for (let n = 0; n < 100; n += 1) server.say({ level: 30, msg: `line ${n}` })
  t.match(lines.at(-1), ['warn', { why: String }, 'dropped a malformed message of the server'])
  server.say({ id: 1, result: {} })
  t.same(heard, ['ended 1 result {}'])
})

t.test('a server that reads may have much in front of it for a moment', async t => {
  const MIB = 1024 * 1024
  const { server, heard, request, clock } = start()
  /** Sent messages wait, too. */
  const more = () => {
    server.channel.queuedBytes += 1000
    request()
  }
  request()
  server.channel.queuedBytes = 20 * MIB
  more()
  clock.advance(1999)
  more()
  t.same(heard, [])
  clock.advance(1)
  more()
  t.equal(heard.length, 1, 'it has taken nothing for two seconds')
  server.channel.queuedBytes = 19 * MIB
  more()
  t.equal(heard.length, 1, 'it has taken something')
  server.channel.queuedBytes = 64 * MIB
  more()
  t.equal(heard.length, 2, 'that is too much for anybody')
})

t.test(
  'a message whose handling fails closes its server’s connection, and ends the calls in flight there',
  async t => {
    const { server, heard, lines, talk, request } = start()
    request()
    talk.request(talk.nextId(), 'tools/call', undefined, {
      progress: () => undefined,
      ended: ({ kind }) => {
        if (kind === 'result') throw new Error('oops')
      },
    })
    server.say({ id: 2, result: {} })
    t.match(lines, [['error', { err: { message: 'oops' } }]])
    t.match(heard, [/^ended 1 .*internal/, 'closed internal'])
  },
)
