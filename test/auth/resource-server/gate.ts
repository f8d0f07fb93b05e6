import t from 'tap'
import { AccessGate } from '../../../src/auth/resource-server/gate.js'
import type { AccessRules } from '../../../src/auth/resource-server/people.js'
import { ProtectedResource } from '../../../src/auth/resource-server/protected-resource.js'
import { TokenChecks } from '../../../src/auth/resource-server/token-checks.js'
import type { VerifiedToken } from '../../../src/auth/resource-server/tokens.js'
import { type CallerClaims, callerOf, sealContext } from '../../../src/cluster/link/link-seal.js'
import { type Caller, LOCAL } from '../../../src/kernel/caller.js'
import { createPersonalToken, tokenHash } from '../../../src/kernel/secrets/personal-token.js'
import { FakeClock } from '../../support/fake-clock.js'
import { boundsOf } from '../../support/values.js'
import { recordedLog } from '../../support/wire/channel-pair.js'

const PERSONAL = createPersonalToken()
const ISSUER = 'https://a.test'

const RULES: AccessRules = {
  people: [
    {
      name: 'alice',
      tokens: [{ sha256: tokenHash(PERSONAL), expiresMs: Number.POSITIVE_INFINITY }],
      subjects: [{ issuer: ISSUER, sub: 'a1' }],
      scopes: ['mcp', 'github:admin'],
    },
  ],
  baseScope: 'mcp',
  grants: [{ group: 'dev', scopes: ['notes'] }],
  scopeImplies: { 'github:admin': ['github'], github: ['github:read', 'github:admin'] },
}

const tokenOf = (sub: string, more: Partial<VerifiedToken> = {}): VerifiedToken => ({
  principal: `${ISSUER} ${sub}`,
  audience: ['https://p.test/mcp'],
  scopes: ['mcp'],
  groups: [],
  endsMs: 1000,
  ...more,
})

const setUp = (
  tokens: Readonly<Record<string, VerifiedToken>>,
  issued = new Map<string, VerifiedToken>(),
) => {
  const clock = new FakeClock()
  const bounds = boundsOf({})
  const now = { ms: 0 }
  const verify = async (text: string) => {
    const token = tokens[text]
    if (token === undefined) return { is: 'invalid', why: 'No' } as const
    return { is: 'good', token, keepMs: 60_000 } as const
  }
  const gate = new AccessGate({
    rules: RULES,
    resource: new ProtectedResource({
      origin: 'https://p.test',
      issuers: [ISSUER],
      scopes: () => ['mcp'],
      views: () => [],
    }),
    issued: { find: sha256 => issued.get(sha256) },
    checks: new TokenChecks({ verify }, clock, bounds),
    withoutCredential: () => undefined,
    bounds,
    clock,
    wallMs: () => now.ms,
    log: recordedLog().log,
  })
  const admit = async (token: string) => {
    const head = { authorization: `Bearer ${token}`, isRepeated: false, path: '/mcp', address: '192.0.2.1' }
    return await gate.admit(head)
  }
  const enter = async (token: string): Promise<Caller> => {
    const admitted = await admit(token)
    if ('status' in admitted) throw new Error(`refused: ${admitted.body}`)
    return admitted
  }
  return { gate, admit, enter, now }
}

t.test('who comes, and what it may do, is told by token and configuration', async t => {
  const { enter } = setUp({
    a: tokenOf('a1', { scopes: ['mcp', 'own'] }),
    b: tokenOf('b2', { groups: ['dev', 'other'] }),
  })
  const personal = await enter(PERSONAL)
  t.equal(personal.principal, 'person alice')
  t.same([...(personal.scopes ?? [])].sort(), ['github', 'github:admin', 'github:read', 'mcp'])
  const alice = await enter('a')
  t.equal(alice.principal, 'person alice', 'the same person with a token of an issuer')
  t.same([...(alice.scopes ?? [])].sort(), ['github', 'github:admin', 'github:read', 'mcp', 'own'])
  t.equal(alice.endsMs, 1000)
  const bob = await enter('b')
  t.equal(bob.principal, `${ISSUER} b2`)
  t.same([...(bob.scopes ?? [])].sort(), ['mcp', 'notes'])
})

t.test('a remembered token ends when it ends', async t => {
  const { admit, enter, now } = setUp({ a: tokenOf('a1') })
  await enter('a')
  now.ms = 1000
  t.match(await admit('a'), { status: 401, body: /expired/ })
})

t.test('what an earlier credential is worth can be asked at any time', async t => {
  const issued = new Map([[tokenHash('given'), tokenOf('c3')]])
  const { gate, enter, now } = setUp({ a: tokenOf('a1'), b: tokenOf('b2') }, issued)
  const personal = await enter(PERSONAL)
  const [alice, bob, given] = [await enter('a'), await enter('b'), await enter('given')]
  for (const caller of [personal, alice, bob, given]) t.equal(gate.renew(caller), caller)
  gate.reload({ ...RULES, people: [] })
  t.equal(gate.renew(personal), undefined, 'the token is gone')
  t.equal(gate.renew(alice), undefined, 'it would be somebody else now')
  t.match(gate.renew(bob), { principal: bob.principal })
  gate.reload({ ...RULES, baseScope: 'other' })
  t.equal(gate.renew(bob), undefined, 'it may not enter any more')
  gate.reload(RULES)
  issued.clear()
  t.equal(gate.renew(given), undefined, 'it was revoked')
  t.match(gate.renew(personal), { principal: 'person alice' })
  now.ms = 1000
  t.equal(gate.renew(bob), undefined, 'it has ended')
})

t.test('each copy of a caller ends with its token, and scopes without a proof are worth nothing', async t => {
  const issued = new Map([[tokenHash('given'), tokenOf('c3')]])
  const { gate, enter } = setUp({ b: tokenOf('b2') }, issued)
  const copies = (caller: Caller): readonly Caller[] => [
    { ...caller, workspace: '/p/app' },
    { ...caller, view: 'web' },
    { ...{ ...caller, view: 'web' }, workspace: '/p/app' },
    callerOf(JSON.parse(JSON.stringify(sealContext(caller))) as CallerClaims, 'replica'),
  ]
  const [personal, given, bob] = [await enter(PERSONAL), await enter('given'), await enter('b')]
  for (const copy of [personal, given, bob].flatMap(copies)) t.match(gate.renew(copy), copy)
  const more = { ...RULES, people: [{ ...RULES.people[0], scopes: ['mcp', 'new'] }] }
  gate.reload(more as typeof RULES)
  for (const copy of copies(personal)) {
    const renewed = gate.renew(copy)
    t.ok(renewed?.scopes?.has('new'))
    t.match(renewed, { workspace: copy.workspace, view: copy.view, edge: copy.edge }, 'it stays where it was')
  }
  gate.reload({ ...RULES, people: [] })
  issued.clear()
  for (const copy of [personal, given].flatMap(copies)) t.equal(gate.renew(copy), undefined)
  t.equal(gate.renew({ ...bob, proof: undefined }), undefined)
  t.equal(gate.renew({ ...bob, proof: { sha256: 'x', isFromIssuer: true } }), undefined, 'nobody checked it')
  t.equal(gate.renew(LOCAL), LOCAL)
})

t.test('every value in a challenge is a quoted string on one line', async t => {
  const { gate } = setUp({})
  const { headers } = gate.insufficientScope('/mcp', ['a"b\\c', 'd\r\nX: ü'])
  t.match(headers['WWW-Authenticate'], /scope="a\\"b\\\\c d\?\?X: \?"$/)
})
