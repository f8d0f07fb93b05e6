import t from 'tap'
import { rawText } from '../../../../src/kernel/json/text.js'
import {
  mayNeedInput,
  principalHash,
  questionHash,
  requestDigest,
} from '../../../../src/mux/input-required/retry/request-states.js'

const digest = (params: string, method = 'tools/call'): string => requestDigest(method, rawText(params))

t.test('a retry has the digest of its first request, with any other members', async t => {
  const first = digest('{"name":"x","arguments":{"a":1,"b":"é"},"_meta":{"progressToken":1}}')
  t.match(first, /^[\w-]{43}$/)
  t.equal(
    digest('{"arguments":{"b":"\\u00e9","a":1.0},"name":"x","inputResponses":{},"requestState":"s"}'),
    first,
  )
})

t.test('another name, argument or digit has another digest', async t => {
  const texts = [
    '{"name":"x"}',
    '{"name":"y"}',
    '{"name":"x","arguments":{}}',
    '{"name":"x","arguments":{"n":12345678901234567890}}',
    '{"name":"x","arguments":{"n":12345678901234567891}}',
    '{"name":"x","arguments":{"n":"12345678901234567890"}}',
    '{"name":"x","arguments":{},"arguments":{"n":1}}',
  ]
  t.equal(new Set(texts.map(text => digest(text))).size, texts.length)
  t.not(digest('{"uri":"a:b"}', 'resources/read'), digest('{"uri":"a:c"}', 'resources/read'))
  t.equal(digest('{"uri":"a:b","name":"x"}', 'resources/read'), digest('{"uri":"a:b"}', 'resources/read'))
  t.equal(requestDigest('tools/call', undefined), digest('{}'))
})

t.test('questions are the same by method and params, not by spelling', async t => {
  const one = questionHash('sampling/createMessage', rawText('{"a":1,"b":2}'))
  t.equal(questionHash('sampling/createMessage', rawText('{ "b": 2, "a": 1 }')), one)
  t.not(questionHash('elicitation/create', rawText('{"a":1,"b":2}')), one)
  t.not(questionHash('roots/list', undefined), questionHash('roots/list', rawText('{}')))
})

t.test('a principal is not to be read from its hash, and only three requests may need input', async t => {
  t.match(principalHash('local'), /^[\w-]{43}$/)
  t.not(principalHash('a'), principalHash('b'))
  const methods = [
    'tools/call',
    'prompts/get',
    'resources/read',
    'tools/list',
    'completion/complete',
    'toString',
  ]
  t.same(methods.map(mayNeedInput), [true, true, true, false, false, false])
})
