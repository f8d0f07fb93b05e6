import t from 'tap'
import { TokenChecks } from '../../../src/auth/resource-server/token-checks.js'
import type { TokenVerdict, VerifiedToken } from '../../../src/auth/resource-server/tokens.js'
import { FakeClock, settled } from '../../support/fake-clock.js'
import { boundsOf } from '../../support/values.js'

const TOKEN: VerifiedToken = {
  principal: 'https://a.test sub',
  audience: undefined,
  scopes: ['mcp'],
  groups: [],
  endsMs: Number.POSITIVE_INFINITY,
}

const setUp = (verdict: TokenVerdict) => {
  const clock = new FakeClock()
  const asked: string[] = []
  const verifier = {
    verify: async (token: string) => {
      asked.push(token)
      return verdict
    },
  }
  return { clock, asked, checks: new TokenChecks(verifier, clock, boundsOf({})) }
}

t.test('a good token is remembered for as long as its verdict allows', async t => {
  const { clock, asked, checks } = setUp({ is: 'good', token: TOKEN, keepMs: 30_000 })
  t.equal(checks.recall('h'), undefined)
  await Promise.all([checks.check('x', 'h'), checks.check('x', 'h')])
  t.same(asked, ['x'], 'one check for all who come meanwhile')
  t.equal(checks.recall('h'), TOKEN)
  clock.advance(29_999)
  t.equal(checks.recall('h'), TOKEN)
  clock.advance(1)
  t.equal(checks.recall('h'), undefined)
})

t.test('a bad token is remembered for 10 s, and an issuer out of reach not at all', async t => {
  const bad = setUp({ is: 'invalid', why: 'No' })
  for (let turn = 0; turn < 3; turn += 1) t.match(await bad.checks.check('x', 'h'), { is: 'invalid' })
  t.equal(bad.asked.length, 1)
  bad.clock.advance(10_000)
  await bad.checks.check('x', 'h')
  t.equal(bad.asked.length, 2)
  const away = setUp({ is: 'unavailable' })
  await away.checks.check('x', 'h')
  await away.checks.check('x', 'h')
  t.equal(away.asked.length, 2)
})

t.test('the oldest of 10,000 remembered tokens makes room', async t => {
  const { checks } = setUp({ is: 'good', token: TOKEN, keepMs: 30_000 })
  for (let at = 0; at <= 10_000; at += 1) await checks.check('x', `h${at}`)
  t.equal(checks.recall('h0'), undefined)
  t.equal(checks.recall('h1'), TOKEN)
  t.equal(checks.recall('h10000'), TOKEN)
})

t.test('the token of something that is open is checked again when its time is over', async t => {
  const clock = new FakeClock()
  let verdict: TokenVerdict = { is: 'good', token: TOKEN, keepMs: 30_000 }
  const asked: string[] = []
  const verify = async (token: string) => {
    asked.push(token)
    return verdict
  }
  const checks = new TokenChecks({ verify }, clock, boundsOf({}))
  t.equal(checks.renew('h'), undefined, 'one that never came')
  await checks.check('x', 'h')
  clock.advance(29_999)
  t.equal(checks.renew('h'), TOKEN)
  t.same(asked, ['x'])
  verdict = { is: 'unavailable' }
  clock.advance(1)
  t.equal(checks.renew('h'), TOKEN)
  await settled()
  t.same(asked, ['x', 'x'])
  t.equal(checks.renew('h'), TOKEN, 'while its issuer cannot be asked')
  await settled()
  verdict = { is: 'invalid', why: 'revoked' }
  t.equal(checks.renew('h'), TOKEN)
  await settled()
  t.equal(checks.renew('h'), undefined)
})
