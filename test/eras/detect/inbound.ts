import t from 'tap'
import { eraOf, type ServedEras } from '../../../src/eras/detect/inbound.js'
import { valueOf } from '../../../src/kernel/json/text.js'
import { classify } from '../../../src/wire/classify.js'
import { unmarked } from '../../support/values.js'

const VERSION = 'io.modelcontextprotocol/protocolVersion'
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
const E = { [VERSION]: '2026-07-28', [CAPABILITIES]: {} }
const MODERN = { 'mcp-protocol-version': '2026-07-28' }
const OLD = { 'mcp-protocol-version': '2025-11-25' }
const SERVED = ['2026-07-28']
const SHAKEN = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

const verdictOf = (body: unknown, headers?: Record<string, string>, speaks?: ServedEras): unknown => {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(withVersion(body)))
  const verdict = eraOf(classify(bytes), headers, speaks)
  if (verdict.is !== 'refused') return verdict.is
  return {
    ...(verdict.id === undefined ? {} : { id: valueOf(verdict.id) }),
    status: verdict.status,
    error: unmarked(valueOf(verdict.error)),
  }
}

const withVersion = (body: unknown): unknown =>
  Array.isArray(body) ? body.map(withVersion) : { jsonrpc: '2.0', ...(body as object) }

const refused = (code: number, message: string, more: { id?: unknown; data?: unknown } = {}) => ({
  ...('id' in more ? { id: more.id } : {}),
  status: 400,
  error: { code, message, ...('data' in more ? { data: more.data } : {}) },
})

const list = (_meta?: object): object => ({
  id: 1,
  method: 'tools/list',
  params: _meta === undefined ? {} : { _meta },
})
const notice = (_meta?: object): object => ({
  method: 'notifications/cancelled',
  params: { requestId: 1, _meta },
})
const unsupported = (requested: string, supported: readonly string[] = SERVED, id?: unknown) =>
  refused(-32022, 'Unsupported protocol version', {
    ...(id === undefined ? {} : { id }),
    data: { supported, requested },
  })
const MISSING = refused(-32602, `Missing _meta ${VERSION}, ${CAPABILITIES}`, { id: 1 })
const NO_BATCH = refused(-32600, 'Batch not supported in 2026-07-28')

type Row = readonly [
  why: string,
  body: unknown,
  headers: Record<string, string> | undefined,
  verdict: unknown,
  speaks?: ServedEras,
]

const ROWS: readonly Row[] = [
  // The claim decides.
  ['a claim on a pipe', list(E), undefined, 'modern'],
  ['a claim over HTTP', list(E), MODERN, 'modern'],
  ['a claim without its header is still modern', list(E), {}, 'modern'],
  ['a claim with the header of another era is still modern', list(E), OLD, 'modern'],
  [
    'a claim in initialize is modern too, where there is no such method',
    { ...list(E), method: 'initialize' },
    undefined,
    'modern',
  ],
  [
    'a claim without capabilities is modern, and refused later',
    list({ [VERSION]: '2026-07-28' }),
    MODERN,
    'modern',
  ],
  ['a notification with a claim', notice(E), MODERN, 'modern'],
  [
    'an unknown version',
    list({ ...E, [VERSION]: '1900-01-01' }),
    { 'mcp-protocol-version': '1900-01-01' },
    unsupported('1900-01-01', SERVED, 1),
  ],
  [
    'a legacy version is not served without a session',
    list({ ...E, [VERSION]: '2025-11-25' }),
    undefined,
    unsupported('2025-11-25', SERVED, 1),
  ],
  [
    'a version in the header that is not that of the body, whichever is known',
    list({ ...E, [VERSION]: '1900-01-01' }),
    MODERN,
    refused(-32020, "Header mismatch: MCP-Protocol-Version '2026-07-28' does not match body '1900-01-01'", {
      id: 1,
    }),
  ],
  [
    'an unknown version without a header',
    list({ ...E, [VERSION]: '1900-01-01' }),
    {},
    unsupported('1900-01-01', SERVED, 1),
  ],
  [
    'a notification with an unknown version is refused without id',
    notice({ [VERSION]: '2030-01-01' }),
    { 'mcp-protocol-version': '2030-01-01' },
    unsupported('2030-01-01'),
  ],
  ['a claim that is no text is none', list({ [VERSION]: 20260728 }), undefined, 'legacy'],
  [
    'a claim that comes twice could mean two things',
    `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"${VERSION}":"2026-07-28","${VERSION}":"2025-11-25"}}}`,
    undefined,
    refused(-32600, 'A member of params._meta is repeated', { id: 1 }),
  ],
  // No claim: the header can only keep it from being taken for legacy.
  ['a request that forgot the envelope', { id: 1, method: 'tools/list' }, MODERN, MISSING],
  [
    'a request that forgot half of it',
    list({ [CAPABILITIES]: {} }),
    MODERN,
    refused(-32602, `Missing _meta ${VERSION}`, { id: 1 }),
  ],
  [
    'initialize with a modern header is never legacy',
    { id: 1, method: 'initialize', params: {} },
    MODERN,
    MISSING,
  ],
  ['a header of a revision to come', list(), { 'mcp-protocol-version': '2027-01-01' }, MISSING],
  ['a notification without claim under a modern header', notice(), MODERN, 'modern'],
  ['an answer is never modern', { id: 1, result: {} }, MODERN, 'legacy'],
  ['a header that is no date says nothing', list(), { 'mcp-protocol-version': 'DRAFT-2026-v1' }, 'legacy'],
  [
    'initialize',
    { id: 1, method: 'initialize', params: { protocolVersion: '2026-07-28' } },
    undefined,
    'initialize',
  ],
  ['initialize under a legacy header', { id: 1, method: 'initialize' }, OLD, 'initialize'],
  ['a notification named initialize', { method: 'initialize' }, undefined, 'legacy'],
  ['another request', list(), OLD, 'legacy'],
  ['a notification', notice(), undefined, 'legacy'],
  ['an answer', { id: 1, error: { code: 1, message: '' } }, undefined, 'legacy'],
  // Arrays.
  ['an array of requests', [list(), notice()], {}, 'legacy-batch'],
  ['an array with a claim in it', [list(), list(E)], {}, NO_BATCH],
  ['an array with a notification that claims', [notice(E)], undefined, NO_BATCH],
  ['an array under a modern header', [list()], MODERN, NO_BATCH],
  ['an empty array', [], {}, 'malformed'],
  ['no JSON', '{', undefined, 'malformed'],
  // Faces that speak one era only.
  [
    'HTTP+SSE offers legacy versions only',
    { ...list(E), id: 'd', method: 'server/discover' },
    {},
    unsupported('2026-07-28', SHAKEN, 'd'),
    'legacy',
  ],
  ['HTTP+SSE does not look at the header', list(), MODERN, 'legacy', 'legacy'],
  ['HTTP+SSE and an array with a claim', [list(E)], {}, NO_BATCH, 'legacy'],
  ['legacy switched off: initialize', { id: 1, method: 'initialize' }, {}, MISSING, 'modern'],
  [
    'legacy switched off: an unknown version',
    list({ [VERSION]: 'x' }),
    {},
    unsupported('x', ['2026-07-28'], 1),
    'modern',
  ],
  [
    'legacy switched off: an answer',
    { id: 1, result: {} },
    {},
    refused(-32600, 'Answers are not accepted: nothing was asked'),
    'modern',
  ],
  ['legacy switched off: an array', [list()], {}, NO_BATCH, 'modern'],
]

t.test(
  'the body of a message decides its era, headers only keep the forgetful from the wrong one',
  async t => {
    for (const [why, body, headers, verdict, speaks] of ROWS)
      t.same(verdictOf(body, headers, speaks), verdict, why)
  },
)
