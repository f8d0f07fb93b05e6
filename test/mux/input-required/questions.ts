import t from 'tap'
import { textOf, valueOf } from '../../../src/kernel/json/text.js'
import { bareAnswer, inputRequired, isAnswer } from '../../../src/mux/input-required/questions.js'

const TEXT = { type: 'text', text: 'a' }
const SAMPLE = { role: 'assistant', content: TEXT, model: 'm' }

const GOOD: readonly (readonly [method: string, answer: unknown, bare: unknown])[] = [
  [
    'elicitation/create',
    { action: 'accept', content: { a: '1' }, _meta: { x: 1 } },
    { action: 'accept', content: { a: '1' } },
  ],
  ['elicitation/create', { action: 'accept' }, { action: 'accept' }],
  ['elicitation/create', { action: 'decline', content: { a: 1 } }, { action: 'decline' }],
  ['elicitation/create', { action: 'cancel', content: null, resultType: 'complete' }, { action: 'cancel' }],
  [
    'sampling/createMessage',
    { ...SAMPLE, stopReason: 'endTurn', x: 1 },
    { ...SAMPLE, stopReason: 'endTurn' },
  ],
  ['sampling/createMessage', { ...SAMPLE, content: [TEXT] }, { ...SAMPLE, content: [TEXT] }],
  [
    'roots/list',
    { roots: [{ uri: 'file:///w', name: 'w' }, { uri: 'https://x' }], _meta: {} },
    { roots: [{ uri: 'file:///w', name: 'w' }] },
  ],
  ['roots/list', { roots: [] }, { roots: [] }],
]

t.test('an answer reaches the other era with the members of its type, and no others', async t => {
  for (const [method, answer, bare] of GOOD) {
    t.ok(isAnswer(method, textOf(answer)), JSON.stringify(answer))
    t.same(valueOf(bareAnswer(method, textOf(answer))), bare)
  }
})

const BAD: readonly (readonly [method: string, answer: unknown])[] = [
  ['elicitation/create', {}],
  ['elicitation/create', { action: 'reject' }],
  ['elicitation/create', { action: 'accept', content: 'x' }],
  ['elicitation/create', 'accept'],
  ['elicitation/create', null],
  ['sampling/createMessage', { ...SAMPLE, role: 1 }],
  ['sampling/createMessage', { ...SAMPLE, content: 'a' }],
  ['sampling/createMessage', { role: 'assistant', content: TEXT }],
  ['roots/list', {}],
  ['roots/list', { roots: {} }],
  ['roots/list', { roots: [{ name: 'x' }] }],
  ['roots/list', []],
  ['ping', {}],
]

t.test('roots lose dots in their paths, and are removed where these lead above the beginning', async t => {
  const uris = [
    'file:///a/b',
    'file:///a/./b/../c/',
    'file:///a/%2E%2e/b',
    'file:///a/x%20y/..%2fb',
    'file:///C:/a/../b',
    'file:///a/../../etc',
    'file:///a/%2e%2e/%2e%2E/etc',
    'file:///a/..%2f..%2Fetc',
    'file:///a/..\\..\\etc',
    'file:///..',
  ]
  const answer = bareAnswer('roots/list', textOf({ roots: uris.map(uri => ({ uri })) }))
  t.same(
    (valueOf(answer) as { roots: { uri: string }[] }).roots.map(({ uri }) => uri),
    ['file:///a/b', 'file:///a/c/', 'file:///b', 'file:///a/b', 'file:///C:/b'],
  )
})

t.test('what cannot be the answer to a question is none', async t => {
  for (const [method, answer] of BAD)
    t.notOk(isAnswer(method, textOf(answer)), `${method} ${JSON.stringify(answer)}`)
})

const FORM = { message: 'm', requestedSchema: { type: 'object', properties: {} } }
const SAMPLING = { messages: [{ role: 'user', content: { type: 'text', text: 'q' } }], maxTokens: 5 }

const ROWS: readonly (readonly [
  why: string,
  method: string,
  params: object | undefined,
  embedded: object,
])[] = [
  [
    'a form without mode',
    'elicitation/create',
    FORM,
    { method: 'elicitation/create', params: { ...FORM, mode: 'form' } },
  ],
  [
    'a form that says so',
    'elicitation/create',
    { mode: 'form', ...FORM },
    { method: 'elicitation/create', params: { mode: 'form', ...FORM } },
  ],
  [
    'a page, without the id that only the legacy era knows',
    'elicitation/create',
    { mode: 'url', message: 'm', url: 'https://a/b', elicitationId: 'e1', _meta: { progressToken: 1 } },
    { method: 'elicitation/create', params: { mode: 'url', message: 'm', url: 'https://a/b' } },
  ],
  [
    'sampling, without token and task',
    'sampling/createMessage',
    { ...SAMPLING, _meta: { progressToken: 'k' }, task: { ttl: 1 } },
    { method: 'sampling/createMessage', params: SAMPLING },
  ],
  ['roots without params', 'roots/list', undefined, { method: 'roots/list' }],
  ['roots with nothing but a token', 'roots/list', { _meta: { progressToken: 1 } }, { method: 'roots/list' }],
]

t.test(
  'a question of the legacy era inside a result has a method and params, and nothing of its exchange',
  async t => {
    for (const [why, method, params, embedded] of ROWS) {
      const text = inputRequired([{ key: '1-1', method, params: params && textOf(params) }], 'S')
      t.same(
        valueOf(text),
        { resultType: 'input_required', inputRequests: { '1-1': embedded }, requestState: 'S' },
        why,
      )
    }
  },
)

t.test('without a question there is only the state', async t => {
  t.same(valueOf(inputRequired([], 'é"')), { resultType: 'input_required', requestState: 'é"' })
})
