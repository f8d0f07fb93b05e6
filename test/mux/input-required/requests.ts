import t from 'tap'
import { textOf, valueOf } from '../../../src/kernel/json/text.js'
import { inputRequired } from '../../../src/mux/input-required/requests.js'

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
