import { randomBytes } from 'node:crypto'
import t from 'tap'
import { KeyRing } from '../../../src/cluster/key-ring.js'
import { bodyDigestOf, LinkSeal, TakenNumbers } from '../../../src/cluster/link/link-seal.js'

const ring = new KeyRing([randomBytes(32).toString('base64')])
const caller = {
  ...{ principal: 'person ada', scopes: new Set(['mcp']), endsMs: 5, workspace: '/w', view: 'web' },
  headers: { 'x-tenant': 'a' },
}
const body = Buffer.from('{}')
const headers = {
  accept: 'a/b',
  'mcp-session-id': 's',
  traceparent: '00-1',
  authorization: 'Bearer secret',
  cookie: 'secret',
  'mcp-proxy-who': 'forged',
}
const sent = { method: 'POST', target: '/mcp?x=1', headers }

t.test('what a replica sends says who asks, and leaves credentials behind', async t => {
  const [edge, owner] = [new LinkSeal(ring, 'edge'), new LinkSeal(ring, 'owner')]
  const signed = edge.sign('owner', sent, { caller, body })
  t.same(Object.keys(signed).sort(), [
    'accept',
    'mcp-proxy-mac',
    'mcp-proxy-who',
    'mcp-session-id',
    'traceparent',
  ])
  t.same(owner.receive({ ...sent, headers: signed }), {
    caller: { ...caller, edge: 'edge' },
    digest: bodyDigestOf(body),
    adopts: false,
    speaks: 2,
  })
  const last = edge.sign('owner', sent, { caller, body, adopts: true })
  t.match(owner.receive({ ...sent, headers: last }), { adopts: true })
  for (const [mine, other] of [
    [1, 2],
    [2, 1],
    [3, 2],
  ]) {
    const headers = new LinkSeal(ring, 'younger', mine).sign('owner', sent, { caller, body })
    const { speaks } = new LinkSeal(ring, 'owner', other).receive({ ...sent, headers }) as { speaks: number }
    t.equal(speaks, Math.min(mine ?? 0, other ?? 0), 'the older one decides')
  }
})

t.test('what was changed on the way, made up, or meant for another is refused', async t => {
  const edge = new LinkSeal(ring, 'edge')
  const signed = edge.sign('owner', sent, { caller, body })
  const rows: readonly (readonly [string, Parameters<LinkSeal['receive']>[0]])[] = [
    ['method', { ...sent, method: 'DELETE', headers: signed }],
    ['path', { ...sent, target: '/mcp?x=2', headers: signed }],
    ['a header changed', { ...sent, headers: { ...signed, 'mcp-session-id': 'other' } }],
    ['a header more', { ...sent, headers: { ...signed, 'last-event-id': '1.1' } }],
    ['a header less', { ...sent, headers: { ...signed, accept: undefined } }],
    ['no signature', { ...sent, headers: { ...signed, 'mcp-proxy-mac': undefined } }],
    ['who', { ...sent, headers: { ...signed, 'mcp-proxy-who': Buffer.from('{}').toString('base64url') } }],
  ]
  const owner = new LinkSeal(ring, 'owner')
  for (const [what, changed] of rows) t.equal(owner.receive(changed), undefined, what)
  const stranger = new LinkSeal(new KeyRing([randomBytes(32).toString('base64')]), 'edge')
  const forged = stranger.sign('owner', sent, { caller, body })
  t.equal(owner.receive({ ...sent, headers: forged }), undefined, 'another key')
  t.equal(new LinkSeal(ring, 'next').receive({ ...sent, headers: signed }), 'other', 'for another instance')
})

t.test('nothing is taken twice, however much comes in between or in another order', async t => {
  const [edge, owner] = [new LinkSeal(ring, 'edge'), new LinkSeal(ring, 'owner')]
  const all = Array.from({ length: 200 }, () => edge.sign('owner', sent, { caller, body }))
  const takes = (signed: Record<string, string>): boolean =>
    typeof owner.receive({ ...sent, headers: signed }) === 'object'
  t.equal(all.toReversed().every(takes), true)
  t.equal(all.some(takes), false)
  const numbers = new TakenNumbers()
  const rows: readonly (readonly [n: number, isTaken: boolean])[] = [
    [3, true],
    [1, true],
    [1, false],
    [70_000, true],
    [4464, false],
    [4465, true],
    [4465, false],
    [300_000, true],
    [70_000, false],
    [299_999, true],
    [0, false],
    [-1, false],
    [1.5, false],
  ]
  for (const [n, isTaken] of rows) t.equal(numbers.take(n), isTaken, `${n}`)
})
