import t from 'tap'
import { HopWatch } from '../support/era/revision-watch.js'

type Said = readonly ['peer' | 'proxy', object]

const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}
const INFO = { name: 'x', version: '1' }

const problemsIn = (...all: readonly Said[]): readonly string[] => {
  const watch = new HopWatch()
  for (const [who, message] of all) {
    if (who === 'peer') watch.peerSays(message)
    else watch.proxySays(message)
  }
  return watch.problems.map(problem => problem.replace(/: \{.*/, ''))
}

const greeted = (protocolVersion: string): readonly Said[] => [
  ['peer', { id: 0, method: 'initialize', params: { protocolVersion, capabilities: {}, clientInfo: INFO } }],
  ['proxy', { id: 0, result: { protocolVersion, capabilities: {}, serverInfo: INFO } }],
]
const listed = (id: number, result: object, params: object = {}): readonly Said[] => [
  ['peer', { id, method: 'tools/list', params }],
  ['proxy', { id, result }],
]
const MODERN_LIST = { resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' }

t.test('members of the negotiated revision, or of the revision of a request, are accepted', async t => {
  for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])
    t.same(problemsIn(...greeted(revision), ...listed(1, { tools: [] })), [], revision)
  t.same(problemsIn(...listed(1, MODERN_LIST, { _meta: ENVELOPE })), [], '2026-07-28')
})

t.test('words of the other era are told', async t => {
  t.match(problemsIn(...greeted('2025-11-25'), ...listed(1, MODERN_LIST)), [
    '2025-11-25: resultType is no word of this revision',
    '2025-11-25: ttlMs is no word of this revision',
    '2025-11-25: cacheScope is no word of this revision',
  ])
  const tools = [{ name: 'x', inputSchema: { type: 'object' }, execution: {} }]
  t.same(problemsIn(...listed(1, { ...MODERN_LIST, tools }, { _meta: ENVELOPE })), [
    '2026-07-28: execution is no word of this revision',
  ])
  t.same(
    problemsIn(...listed(1, { tools: [] }), [
      'proxy',
      { id: 1, error: { code: -32021, message: 'm', data: { ttlMs: 1 } } },
    ]).slice(0, 1),
    ['2025-11-25: -32021 is no word of this revision'],
  )
})

t.test('what a schema does not allow is told', async t => {
  t.same(problemsIn(...listed(1, { tools: [] }, { _meta: ENVELOPE })), [
    "2026-07-28: ListToolsResult must have required property 'cacheScope'",
  ])
  t.match(problemsIn(...greeted('2025-06-18'), ...listed(1, { tools: [{ name: 'x' }] })), [
    "2025-06-18: ListToolsResult/tools/0 must have required property 'inputSchema'",
    '2025-06-18: ListToolsResult/tools/0/inputSchema Required',
  ])
  t.match(problemsIn(...greeted('2024-11-05'), ['proxy', { method: 'notifications/elicitation/complete' }]), [
    '2024-11-05: there is no notifications/elicitation/complete',
  ])
  t.match(problemsIn(...greeted('2025-11-25'), ['proxy', { id: 9, result: {} }]), [
    '2025-11-25: nobody asked',
  ])
})
