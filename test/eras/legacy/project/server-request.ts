import t from 'tap'
import {
  hasUnknownAudio,
  projectAnswer,
  projectServerRequest,
} from '../../../../src/eras/legacy/project/server-request.js'
import { textOf, valueOf } from '../../../../src/kernel/json/text.js'
import type { ClientCapabilities } from '../../../../src/model/peer.js'
import type { LegacyRevision } from '../../../../src/model/revision.js'
import { abilitiesAt } from '../../../support/values.js'

const R1 = '2024-11-05'
const R2 = '2025-03-26'
const R3 = '2025-06-18'
const R4 = '2025-11-25'
const BEFORE_R4 = [R1, R2, R3] as const
const ALL = [R1, R2, R3, R4] as const

const SAMPLING = 'sampling/createMessage'
const FORM = 'elicitation/create'
const text = (words: string) => ({ type: 'text', text: words })
const AUDIO = { type: 'audio', data: 'AA==', mimeType: 'audio/wav' }
const IMAGE = { type: 'image', data: 'AA==', mimeType: 'image/png' }
const USE = { type: 'tool_use', id: 'u', name: 'n', input: {} }
const saying = (content: unknown, more: object = {}) => ({
  messages: [{ role: 'user', content }],
  maxTokens: 9,
  ...more,
})
const form = (properties: object, more: object = {}) => ({
  message: 'm',
  requestedSchema: { type: 'object', properties },
  ...more,
})
const TITLED = {
  type: 'string',
  title: 'Color',
  oneOf: [
    { const: '#f00', title: 'Red' },
    { const: '#0f0', title: 'Green' },
  ],
}
const URL = { mode: 'url', message: 'Confirm', url: 'https://pay.example/c' }
const same = 'same'
const cannot = (what: string) => ({ cannot: what })

type Row = readonly [
  why: string,
  method: string,
  revisions: readonly LegacyRevision[],
  params: unknown,
  becomes: unknown,
  more?: { can?: Partial<ClientCapabilities>; isShared?: boolean },
]

const ROWS: readonly Row[] = [
  ['roots', 'roots/list', ALL, undefined, undefined],
  [
    'roots that were not offered',
    'roots/list',
    ALL,
    undefined,
    cannot('roots'),
    { can: { roots: undefined } },
  ],
  ['one block', SAMPLING, ALL, saying(text('x')), same],
  ['a list of one block', SAMPLING, BEFORE_R4, saying([IMAGE]), saying(IMAGE)],
  ['a list of one block', SAMPLING, [R4], saying([IMAGE]), same],
  ['a list of texts', SAMPLING, BEFORE_R4, saying([text('a'), text('b')]), saying(text('a\n\nb'))],
  ['a list of texts', SAMPLING, [R4], saying([text('a'), text('b')]), same],
  [
    'a mixed list',
    SAMPLING,
    BEFORE_R4,
    saying([text('a'), IMAGE]),
    cannot('sampling with several kinds of content'),
  ],
  ['a mixed list', SAMPLING, [R4], saying([text('a'), IMAGE]), same],
  ['audio', SAMPLING, [R1], saying(AUDIO), cannot('sampling with audio')],
  ['audio in a list', SAMPLING, [R1], saying([AUDIO]), cannot('sampling with audio')],
  ['audio', SAMPLING, [R2, R3, R4], saying(AUDIO), same],
  ['tools', SAMPLING, BEFORE_R4, saying(text('a'), { tools: [] }), cannot('sampling with tools')],
  ['a tool’s use', SAMPLING, BEFORE_R4, saying([USE]), cannot('sampling with tools')],
  ['a tool’s use outside a list', SAMPLING, BEFORE_R4, saying(USE), cannot('sampling with tools')],
  ['tools', SAMPLING, [R4], saying([USE], { tools: [], toolChoice: {} }), same],
  [
    'a choice of tools that was not offered',
    SAMPLING,
    [R4],
    saying(text('a'), { toolChoice: {} }),
    cannot('sampling with tools'),
    { can: { sampling: { tools: false, context: false } } },
  ],
  [
    'sampling that was not offered',
    SAMPLING,
    ALL,
    saying(text('a')),
    cannot('sampling'),
    { can: { sampling: undefined } },
  ],
  ['no params', SAMPLING, [R4], undefined, cannot('sampling')],
  ['context', SAMPLING, ALL, saying(text('a'), { includeContext: 'thisServer' }), same],
  [
    'context beside other servers',
    SAMPLING,
    ALL,
    saying(text('a'), { includeContext: 'allServers' }),
    saying(text('a')),
    { isShared: true },
  ],
  ['no context', SAMPLING, ALL, saying(text('a'), { includeContext: 'none' }), same, { isShared: true }],
  [
    'context that was not offered',
    SAMPLING,
    [R4],
    saying(text('a'), { includeContext: 'thisServer' }),
    saying(text('a')),
    { can: { sampling: { tools: false, context: false } } },
  ],
  [
    'context before it could be offered',
    SAMPLING,
    BEFORE_R4,
    saying(text('a'), { includeContext: 'thisServer' }),
    same,
    { can: { sampling: { tools: false, context: false } } },
  ],
  [
    'metadata of the other hop',
    SAMPLING,
    ALL,
    saying(text('a'), { _meta: { 'io.modelcontextprotocol/logLevel': 'debug' } }),
    saying(text('a')),
  ],
  ['a form', FORM, [R1, R2], form({}), cannot('elicitation')],
  ['a form', FORM, [R4], form({ a: TITLED }, { mode: 'form' }), same],
  [
    'a form’s mode and dialect',
    FORM,
    [R3],
    {
      mode: 'form',
      message: 'm',
      requestedSchema: {
        $schema: 's',
        type: 'object',
        properties: { a: { type: 'boolean', default: true } },
      },
    },
    form({ a: { type: 'boolean', default: true } }),
  ],
  [
    'titles of choices',
    FORM,
    [R3],
    form({ c: TITLED }),
    form({ c: { type: 'string', title: 'Color', enum: ['#f00', '#0f0'], enumNames: ['Red', 'Green'] } }),
  ],
  [
    'choices without titles',
    FORM,
    [R3],
    form({ c: { type: 'string', oneOf: [{ const: 'a' }], default: 'a' } }),
    form({ c: { type: 'string', default: 'a', enum: ['a'], enumNames: ['a'] } }),
  ],
  ['plain choices', FORM, [R3], form({ c: { type: 'string', enum: ['a'], enumNames: ['A'] } }), same],
  [
    'several choices',
    FORM,
    [R3],
    form({ t: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } } }),
    cannot('elicitation multi-select'),
  ],
  [
    'several choices',
    FORM,
    [R4],
    form({ t: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } } }),
    same,
  ],
  [
    'choices that are no texts',
    FORM,
    [R3],
    form({ c: { type: 'string', oneOf: [{ const: 1 }] } }),
    cannot('elicitation of an unknown field'),
  ],
  [
    'choices of numbers',
    FORM,
    [R3],
    form({ c: { type: 'number', oneOf: [{ const: 'a' }] } }),
    cannot('elicitation of an unknown field'),
  ],
  [
    'a field in a field',
    FORM,
    [R3],
    form({ c: { type: 'object' } }),
    cannot('elicitation of an unknown field'),
  ],
  [
    'forms that were not offered',
    FORM,
    [R3, R4],
    form({}),
    cannot('elicitation'),
    { can: { elicitation: { form: false, url: true } } },
  ],
  ['an unknown mode', FORM, ALL, { mode: 'voice' }, cannot('elicitation of an unknown mode')],
  ['no params', FORM, [R4], undefined, cannot('elicitation')],
  ['a page', FORM, BEFORE_R4, URL, cannot('elicitation url')],
  ['a page', FORM, [R4], URL, { ...URL, elicitationId: 'e1' }],
  [
    'pages that were not offered',
    FORM,
    [R4],
    URL,
    cannot('elicitation url'),
    { can: { elicitation: { form: true, url: false } } },
  ],
  ['what nobody knows', 'toString', ALL, {}, cannot('an unknown kind of question')],
]

t.test('a question is put as the client’s revision knows it, or not at all', async t => {
  for (const [why, method, revisions, params, becomes, more = {}] of ROWS) {
    for (const revision of revisions) {
      const given = params === undefined ? undefined : textOf(params)
      const projected = projectServerRequest(method, given, {
        revision,
        capabilities: { ...abilitiesAt(revision), ...more.can },
        isShared: more.isShared ?? false,
        newElicitationId: () => 'e1',
      })
      const shown =
        projected.is === 'impossible' ? cannot(projected.what) : projected.params && valueOf(projected.params)
      t.strictSame(shown, becomes === same ? params : becomes, `${why}, ${revision}`)
      const isPage = JSON.stringify(becomes)?.includes('elicitationId') === true
      t.equal(projected.is === 'request' && projected.elicitationId === 'e1', isPage)
    }
  }
})

t.test('audio in sampling is kept from peers of 2024-11-05, in questions and answers', async t => {
  const question = textOf(saying([AUDIO]))
  const answer = textOf({ role: 'assistant', content: AUDIO, model: 'm' })
  t.ok(hasUnknownAudio(R1, SAMPLING, question))
  t.notOk(hasUnknownAudio(R2, SAMPLING, question))
  t.notOk(hasUnknownAudio(R1, SAMPLING, textOf(saying(IMAGE))))
  t.match(valueOf(projectAnswer(R1, SAMPLING, answer)), { content: { type: 'text', text: /^\[audio / } })
  t.equal(projectAnswer(R2, SAMPLING, answer), answer)
  t.equal(projectAnswer(R1, 'roots/list', answer), answer)
})
