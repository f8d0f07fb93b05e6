import t from 'tap'
import { HttpAnswer } from '../../../../src/eras/modern/client-side/http-listener.js'
import { LOCAL } from '../../../../src/kernel/caller.js'
import { boundsOf } from '../../../support/values.js'
import { recordedLog } from '../../../support/wire/channel-pair.js'
import { FakeResponder } from '../../../support/wire/fake-http.js'

const NOTICE = Buffer.from('{"jsonrpc":"2.0","method":"notifications/progress","params":{}}')
const ANSWER = Buffer.from('{"jsonrpc":"2.0","id":1,"result":{}}')
const REFUSAL = Buffer.from('{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"m"}}')

const start = (form: 'json' | 'json-first' | 'stream') => {
  const responder = new FakeResponder()
  const { log, lines } = recordedLog()
  const asker = {
    responder,
    caller: LOCAL,
    isGone: false,
    gone() {
      asker.isGone = true
    },
  }
  const context = { log, bounds: boundsOf(), challenge: undefined }
  return { responder, lines, asker, answer: new HttpAnswer(asker, form, context) }
}

t.test('an answer without notifications is JSON', async t => {
  for (const form of ['json', 'json-first'] as const) {
    const { responder, answer } = start(form)
    answer.end(ANSWER, { status: 200 })
    t.same(
      [responder.status, responder.headers, responder.body],
      [200, { 'content-type': 'application/json' }, ANSWER.toString()],
      form,
    )
  }
})

t.test('a client that accepts JSON alone gets no notifications', async t => {
  const { responder, answer } = start('json')
  answer.send(NOTICE)
  t.equal(responder.answers, 0)
  answer.end(ANSWER, { status: 200 })
  t.match(responder.headers, { 'content-type': 'application/json' })
})

t.test('an answer becomes a stream if the server of a bridge sends a notification', async t => {
  const { responder, answer } = start('json-first')
  answer.send(NOTICE)
  t.match(responder.headers, { 'content-type': 'text/event-stream' })
})

t.test('a stream has the answer as its last event, and no event has an id', async t => {
  const { responder, answer } = start('stream')
  t.equal(responder.answers, 0, 'it begins with the first thing said')
  answer.send(NOTICE)
  t.match(responder, { status: 200, isStream: true, isEnded: false })
  answer.end(ANSWER, { status: 200 })
  answer.send(NOTICE)
  t.equal(responder.body, `event: message\ndata: ${NOTICE}\n\nevent: message\ndata: ${ANSWER}\n\n`)
  t.match(responder.headers, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' })
  t.match(responder.headers['cache-control'], 'no-transform')
  t.ok(responder.isEnded)
})

t.test('progress and log messages are left out while a client is behind', async t => {
  const { responder, answer } = start('stream')
  answer.send(NOTICE, true)
  responder.queuedBytes = 1024 * 1024 + 1
  answer.send(NOTICE, true)
  t.equal(responder.messages.length, 1)
  answer.send(NOTICE)
  answer.end(ANSWER, { status: 200 })
  t.equal(responder.messages.length, 3)
})

t.test('an immediate answer is sent as the requested stream', async t => {
  const { responder, answer } = start('stream')
  answer.end(ANSWER, { status: 200 })
  t.same(responder.messages, [{ jsonrpc: '2.0', id: 1, result: {} }])
  t.ok(responder.isEnded)
})

t.test('an error with a status of its own is JSON, unless the stream has begun', async t => {
  const early = start('stream')
  early.answer.end(REFUSAL, { status: 400 })
  t.same([early.responder.status, early.responder.isStream], [400, false])
  t.equal(early.responder.json.error?.code, -32021)
  const late = start('stream')
  late.answer.send(NOTICE)
  late.answer.end(REFUSAL, { status: 400 })
  t.equal(late.responder.status, 200)
  t.equal(late.responder.messages.at(-1)?.error?.code, -32021)
})

t.test('an answer that takes long becomes a stream with comments, if its client takes one', async t => {
  for (const form of ['json-first', 'stream'] as const) {
    const { responder, answer } = start(form)
    answer.keepAlive()
    t.equal(responder.answers, 0, 'it may have begun just now')
    answer.keepAlive()
    answer.keepAlive()
    t.equal(responder.body, ':\n\n:\n\n', form)
    answer.end(ANSWER, { status: 200 })
    t.match(responder.messages, [{ id: 1 }])
    answer.keepAlive()
    t.notMatch(responder.body, /:\n\n$/, 'not after its end')
  }
  const { responder, answer } = start('json')
  for (let i = 0; i < 5; i += 1) answer.keepAlive()
  t.equal(responder.answers, 0)
  answer.end(ANSWER, { status: 200 })
  t.notOk(responder.isStream)
})

t.test('a stream that is open gets a comment each time', async t => {
  const { responder, answer } = start('stream')
  answer.send(NOTICE)
  answer.keepAlive()
  t.match(responder.body, /\n\n:\n\n$/)
})

t.test('nothing is written for a client that is gone', async t => {
  const { responder, answer, asker } = start('stream')
  responder.goAway()
  t.ok(asker.isGone)
  answer.send(NOTICE)
  answer.keepAlive()
  answer.end(ANSWER, { status: 200 })
  t.equal(responder.answers, 0)
})

t.test('a client that does not read is cut off at the bound, with a word in the log', async t => {
  const { responder, answer, lines } = start('stream')
  answer.send(NOTICE)
  responder.queuedBytes = 4 * 1024 * 1024
  answer.send(NOTICE)
  t.notOk(responder.isDestroyed)
  responder.queuedBytes += 1
  answer.send(NOTICE)
  answer.send(NOTICE)
  t.ok(responder.isDestroyed)
  t.equal(responder.messages.length, 2)
  t.match(lines, [
    ['warn', { queuedBytes: responder.queuedBytes }, 'cut off a client that does not read its event stream'],
  ])
})
