import t from 'tap'
import { textOf, valueOf } from '../../../src/kernel/json/text.js'
import { bareAnswer, isAnswer } from '../../../src/mux/input-required/answers.js'

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

t.test('what cannot be the answer to a question is none', async t => {
  for (const [method, answer] of BAD)
    t.notOk(isAnswer(method, textOf(answer)), `${method} ${JSON.stringify(answer)}`)
})
