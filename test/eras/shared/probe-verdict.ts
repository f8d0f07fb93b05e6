import t from 'tap'
import {
  type HttpProbe,
  mayBeOlder,
  type ProbeRules,
  verdictOfHttp,
  verdictOfPipe,
} from '../../../src/eras/shared/probe-verdict.js'
import { textOf, valueOf } from '../../../src/kernel/json/text.js'
import { classify } from '../../../src/wire/classify.js'

const RULES: ProbeRules = {
  id: textOf('probe'),
  url: new URL('https://s.example/mcp'),
  isRepeat: false,
  mayFallBack: true,
}
const FOUND = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {} },
  ttlMs: 0,
  cacheScope: 'private',
}
const offering = (...supportedVersions: unknown[]) => ({ ...FOUND, supportedVersions })
const unsupported = (...supported: unknown[]) => ({
  code: -32022,
  message: 'm',
  data: { supported, requested: '2026-07-28' },
})
const error = (code: unknown, data?: unknown) => ({
  code,
  message: 'm',
  ...(data === undefined ? {} : { data }),
})

const LEGACY = 'legacy same'
const brief = (verdict: ReturnType<typeof verdictOfPipe>): string => {
  switch (verdict.is) {
    case 'modern':
    case 'repeat':
      return `${verdict.is} ${verdict.revision}`
    case 'modern-refused':
      return `${verdict.is} ${(valueOf(verdict.error) as { code: number }).code}`
    case 'legacy':
      return `legacy ${verdict.on}`
    case 'incompatible':
      return `incompatible ${verdict.versions.join(' ')}`
    case 'follow':
      return `follow ${verdict.url.href}`
    case 'auth':
      return `auth ${verdict.status}`
    case 'unreachable':
      return 'unreachable'
  }
}

type Row = readonly [why: string, outcome: unknown, verdict: string, rules?: Partial<ProbeRules>]

const PIPE: readonly Row[] = [
  ['a common version', { result: FOUND }, 'modern 2026-07-28'],
  ['a common one among others', { result: offering('2027-01-01', '2026-07-28') }, 'modern 2026-07-28'],
  [
    'an early server with its identity in the body',
    { result: { ...FOUND, serverInfo: { name: 's', version: '1' } } },
    'modern 2026-07-28',
  ],
  ['no resultType', { result: { ...FOUND, resultType: undefined } }, 'modern 2026-07-28'],
  ['a server that answers anything', { result: {} }, LEGACY],
  ['a result that is none yet', { result: { ...FOUND, resultType: 'input_required' } }, LEGACY],
  ['versions that are no texts', { result: offering('2026-07-28', 1) }, LEGACY],
  ['no capabilities', { result: { ...FOUND, capabilities: undefined } }, LEGACY],
  ['no common version, but it may be asked', { result: offering('2027-01-01') }, LEGACY],
  [
    'no common version at all',
    { result: offering('2027-01-01') },
    'incompatible 2027-01-01',
    { mayFallBack: false },
  ],
  [
    'no common version, but it says that it speaks an older one',
    { result: offering('2027-01-01', '2025-06-18') },
    LEGACY,
    { mayFallBack: false },
  ],
  [
    'an error that names a common version',
    { error: unsupported('2026-07-28', '2025-11-25') },
    'repeat 2026-07-28',
  ],
  [
    'the same again: it will not have us',
    { error: unsupported('2026-07-28') },
    'incompatible 2026-07-28',
    { isRepeat: true },
  ],
  [
    'the same again, but it speaks an older one',
    { error: unsupported('2026-07-28', '2025-11-25') },
    LEGACY,
    { isRepeat: true },
  ],
  [
    'an error that names only newer versions',
    { error: unsupported('2027-01-01', 'DRAFT') },
    'incompatible 2027-01-01 DRAFT',
  ],
  ['an error that names only older versions', { error: unsupported('2025-11-25', '2024-10-07') }, LEGACY],
  ['an error that names none', { error: unsupported() }, LEGACY],
  ['an error that names something else', { error: unsupported(1) }, LEGACY],
  ['the code without its data', { error: error(-32022) }, LEGACY],
  ['Python SDK v1', { error: error(-32602, '') }, LEGACY],
  ['TypeScript SDK v1', { error: error(-32601) }, LEGACY],
  [
    'an error of ours with the data of another',
    { error: error(-32601, { supported: ['2026-07-28'] }) },
    LEGACY,
  ],
  ['the other modern codes say nothing on a pipe', { error: error(-32021) }, LEGACY],
  ['an error without code', { error: {} }, LEGACY],
  ['no answer in time', 'silence', LEGACY],
  ['rmcp exits', 'exit', 'legacy fresh'],
]

t.test('what a server on a pipe makes of the probe tells its era', async t => {
  for (const [why, outcome, verdict, rules] of PIPE) {
    const { result, error } = outcome as { result?: unknown; error?: unknown }
    const probe =
      outcome === 'silence' || outcome === 'exit'
        ? ({ got: outcome } as const)
        : error === undefined
          ? ({ got: 'result', result: textOf(result) } as const)
          : ({ got: 'error', error: textOf(error) } as const)
    t.equal(brief(verdictOfPipe(probe, { ...RULES, ...rules })), verdict, why)
  }
})

const reply = (status: number, body?: object | string, location?: string): HttpProbe => ({
  got: 'reply',
  status,
  body:
    body === undefined
      ? undefined
      : classify(
          Buffer.from(
            typeof body === 'string' ? body : JSON.stringify({ jsonrpc: '2.0', id: 'probe', ...body }),
          ),
        ),
  location: location === undefined ? undefined : new URL(location, 'https://s.example/mcp'),
})

const HTTP: readonly (readonly [
  why: string,
  probe: HttpProbe,
  verdict: string,
  rules?: Partial<ProbeRules>,
])[] = [
  ['a common version', reply(200, { result: FOUND }), 'modern 2026-07-28'],
  [
    'no common version',
    reply(200, { result: offering('2027-01-01') }),
    'incompatible 2027-01-01',
    { mayFallBack: false },
  ],
  ['no common version, fall back', reply(200, { result: offering('2027-01-01') }), LEGACY],
  ['any error with 200', reply(200, { error: error(-32601) }), LEGACY],
  [
    'even this one: initialize will be answered with it again',
    reply(200, { error: unsupported('2026-07-28') }),
    LEGACY,
  ],
  ['accepted, and nothing said', reply(202), LEGACY],
  ['a page', reply(200, '<html>'), LEGACY],
  ['an array', reply(200, '[]'), LEGACY],
  ['a request in place of an answer', reply(200, { method: 'ping' }), LEGACY],
  ['names a common version', reply(400, { error: unsupported('2026-07-28') }), 'repeat 2026-07-28'],
  ['names newer versions', reply(400, { error: unsupported('2027-01-01') }), 'incompatible 2027-01-01'],
  ['names older versions', reply(400, { error: unsupported('2025-11-25') }), LEGACY],
  [
    'under another id, it speaks of something else',
    reply(400, { id: 7, error: unsupported('2026-07-28') }),
    LEGACY,
  ],
  ['without id', reply(400, { id: null, error: unsupported('2026-07-28') }), LEGACY],
  ['headers it does not like', reply(400, { error: error(-32020) }), 'modern-refused -32020'],
  ['a capability it misses', reply(400, { error: error(-32021) }), 'modern-refused -32021'],
  ['the same under no id', reply(400, { id: null, error: error(-32021) }), LEGACY],
  ['the same with another status', reply(404, { error: error(-32021) }), LEGACY],
  ['stateful TypeScript SDK v1', reply(400, { id: null, error: error(-32000) }), LEGACY],
  ...[-32000, -32001, -32600, -32601, -32602, 1].flatMap(
    code =>
      [
        [`400 and ${code}`, reply(400, { error: error(code) }), LEGACY],
        [`404 and ${code}`, reply(404, { error: error(code) }), LEGACY],
      ] as const,
  ),
  ['400, empty', reply(400), LEGACY],
  ['404, a page', reply(404, '<html>'), LEGACY],
  ...[405, 406, 409, 410, 415, 422, 418].map(status => [`${status}`, reply(status), LEGACY] as const),
  ...[401, 403, 407].map(
    status => [`${status}`, reply(status, { error: error(-32601) }), `auth ${status}`] as const,
  ),
  ...[408, 425, 429, 500, 501, 502, 503, 599, 101].map(
    status => [`${status}`, reply(status, { error: error(-32601) }), 'unreachable'] as const,
  ),
  ['network', { got: 'nothing' }, 'unreachable'],
  ['moved on this origin', reply(308, undefined, '/mcp/'), 'follow https://s.example/mcp/'],
  ['moved to another origin', reply(307, undefined, 'https://evil.example/mcp'), 'unreachable'],
  ['moved to plain HTTP', reply(307, undefined, 'http://s.example/mcp'), 'unreachable'],
  ['moved to nowhere', reply(302), 'unreachable'],
]

t.test(
  'status and body of the answer to a probe tell the era, except where a login or an outage speaks',
  async t => {
    for (const [why, probe, verdict, rules] of HTTP)
      t.equal(brief(verdictOfHttp(probe, { ...RULES, ...rules })), verdict, why)
  },
)

t.test('a modern server is known by what it said, word for word', async t => {
  const verdict = verdictOfHttp(reply(200, { result: FOUND }), RULES)
  t.same(verdict.is === 'modern' && valueOf(verdict.discovered), FOUND)
})

t.test('a refused initialize may mean HTTP+SSE, unless it is about a login or a bad moment', async t => {
  for (const status of [400, 404, 405, 406, 415, 422]) t.ok(mayBeOlder(status), `${status}`)
  for (const status of [200, 302, 401, 403, 407, 408, 425, 429, 500, 503])
    t.notOk(mayBeOlder(status), `${status}`)
})
