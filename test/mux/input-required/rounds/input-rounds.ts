import t from 'tap'
import { projectServerRequest } from '../../../../src/eras/legacy/project/server-request.js'
import { Fault } from '../../../../src/kernel/faults.js'
import { rawText, textOf, valueOf } from '../../../../src/kernel/json/text.js'
import { type Answer, failed, succeeded } from '../../../../src/model/outcome.js'
import {
  collectRound,
  pauseMs,
  planRound,
  type RoundContext,
  retryParams,
} from '../../../../src/mux/input-required/rounds/input-rounds.js'

const CONTEXT: RoundContext = {
  server: 'b',
  project: (method, params) =>
    projectServerRequest(method, params, {
      revision: '2025-06-18',
      capabilities: {
        roots: { listChanged: false },
        sampling: { tools: false, context: false },
        elicitation: { form: true, url: false },
      },
      isShared: false,
      newElicitationId: () => 'e',
    }),
}
const MULTI = {
  message: 'm',
  requestedSchema: {
    type: 'object',
    properties: { t: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } } },
  },
}
const FORM = { message: 'm', requestedSchema: { type: 'object', properties: { a: { type: 'string' } } } }
const CANNOT = 'Server b asked for input this client cannot provide:'
const STRANGE = 'Server b asked for input with an invalid request'

const plan = (result: object): unknown => {
  const made = planRound(textOf({ resultType: 'input_required', ...result }), CONTEXT)
  switch (made.is) {
    case 'abort':
      return made.words
    case 'wait':
      return { wait: made.state.toString() }
    case 'ask':
      return {
        asks: made.questions.map(({ key, method, params }) => [key, method, params && valueOf(params)]),
        state: made.state?.toString(),
      }
  }
}

t.test('what a server returns is a plan: ask, wait, or give up', async t => {
  const roots = { method: 'roots/list' }
  const rows: readonly (readonly [why: string, result: object, made: unknown])[] = [
    [
      'a question',
      { inputRequests: { c: { method: 'elicitation/create', params: { mode: 'form', ...FORM } } } },
      { asks: [['c', 'elicitation/create', FORM]], state: undefined },
    ],
    [
      'several, in their order',
      { inputRequests: { z: roots, a: roots }, requestState: 'S' },
      {
        asks: [
          ['z', 'roots/list', undefined],
          ['a', 'roots/list', undefined],
        ],
        state: '"S"',
      },
    ],
    ['only a state', { requestState: 'LOAD' }, { wait: '"LOAD"' }],
    ['a state and no question', { inputRequests: {}, requestState: 'LOAD' }, { wait: '"LOAD"' }],
    [
      'one that cannot be shown spoils the round',
      { inputRequests: { r: roots, k: { method: 'elicitation/create', params: MULTI } } },
      `${CANNOT} elicitation multi-select`,
    ],
    [
      'one that nobody knows',
      { inputRequests: { k: { method: 'tasks/create' } } },
      `${CANNOT} an unknown kind of question`,
    ],
    ['nothing', {}, STRANGE],
    ['no questions', { inputRequests: {} }, STRANGE],
    ['questions that are none', { inputRequests: [roots] }, STRANGE],
    ['a question without method', { inputRequests: { k: {} } }, STRANGE],
    ['a question that is a text', { inputRequests: { k: 'roots/list' } }, STRANGE],
    ['params that are none', { inputRequests: { k: { ...roots, params: [] } } }, STRANGE],
    ['a state that is none', { requestState: 7 }, STRANGE],
  ]
  for (const [why, result, made] of rows) t.strictSame(plan(result), made, why)
  const twice = rawText('{"inputRequests":{"k":{"method":"roots/list"},"k":{"method":"roots/list"}}}')
  t.match(planRound(twice, CONTEXT), { is: 'abort', words: STRANGE })
})

t.test(
  'answers come back bare, under the server’s keys; what cannot be answered ends the request',
  async t => {
    const sample = { role: 'assistant', content: { type: 'text', text: 'yo' }, model: 'm' }
    const rejected: Answer = {
      kind: 'error',
      error: textOf({ code: -1, message: 'User rejected sampling request' }),
    }
    const fine = (value: object): Answer => succeeded(textOf(value))
    const rows: readonly (readonly [
      why: string,
      method: string,
      answer: Answer | undefined,
      end: unknown,
    ])[] = [
      [
        'a form',
        'elicitation/create',
        fine({ action: 'accept', content: { a: '1' }, _meta: { x: 1 } }),
        { k: { action: 'accept', content: { a: '1' } } },
      ],
      [
        'a declined form',
        'elicitation/create',
        fine({ action: 'decline', content: {} }),
        { k: { action: 'decline' } },
      ],
      ['a form with an error', 'elicitation/create', rejected, { k: { action: 'cancel' } }],
      ['a form with nonsense', 'elicitation/create', fine({}), { k: { action: 'cancel' } }],
      [
        'a form and nobody there',
        'elicitation/create',
        failed(new Fault('disconnected', 'gone')),
        { k: { action: 'cancel' } },
      ],
      ['a completion', 'sampling/createMessage', fine(sample), { k: sample }],
      [
        'a rejected completion',
        'sampling/createMessage',
        rejected,
        'Server b needed a model completion; the client answered: User rejected sampling request',
      ],
      [
        'a completion with nonsense',
        'sampling/createMessage',
        fine({}),
        'Server b needed a model completion; the client answered: an invalid answer',
      ],
      [
        'an error without words',
        'sampling/createMessage',
        { kind: 'error', error: rawText('{}') },
        'Server b needed a model completion; the client answered: an error',
      ],
      [
        'roots',
        'roots/list',
        fine({ roots: [{ uri: 'file:///w' }, { uri: 'x:y' }] }),
        { k: { roots: [{ uri: 'file:///w' }] } },
      ],
      [
        'roots and nobody there',
        'roots/list',
        failed(new Fault('disconnected', 'The client is gone')),
        'Server b needed the roots; the client answered: The client is gone',
      ],
      ['nothing', 'roots/list', undefined, 'Server b needed the roots; the client answered: nothing'],
    ]
    for (const [why, method, answer, end] of rows) {
      const answers = new Map(answer === undefined ? [] : [['k', answer] as const])
      const came = collectRound([{ key: 'k', method, params: undefined }], answers, 'b')
      t.strictSame(came.is === 'abort' ? came.words : valueOf(came.responses), end, why)
    }
  },
)

t.test(
  'a retry is the first request with this round’s answers and the latest state, byte for byte',
  async t => {
    const params = rawText(
      '{"name":"pay", "arguments":{"n":12345678901234567890},"requestState":"old","inputResponses":{}}',
    )
    t.equal(
      retryParams(params, rawText('{"k":{"action":"accept"}}'), rawText('"S\\u00e9é"')).toString(),
      '{"name":"pay", "arguments":{"n":12345678901234567890},"inputResponses":{"k":{"action":"accept"}},"requestState":"S\\u00e9é"}',
    )
    t.equal(
      retryParams(rawText('{"name":"x"}'), rawText('{}'), undefined).toString(),
      '{"name":"x","inputResponses":{}}',
    )
    t.equal(
      retryParams(rawText('{"name":"x"}'), undefined, rawText('"LOAD"')).toString(),
      '{"name":"x","requestState":"LOAD"}',
    )
    t.equal(retryParams(undefined, undefined, rawText('"S"')).toString(), '{"requestState":"S"}')
  },
)

t.test(
  'a busy server is asked again after a quarter of a second, then ever more slowly up to 5 s',
  async t => {
    t.same([0, 1, 2, 3, 4, 5, 9].map(pauseMs), [250, 500, 1000, 2000, 4000, 5000, 5000])
  },
)
