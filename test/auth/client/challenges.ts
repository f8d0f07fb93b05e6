import t from 'tap'
import { bearerChallenge, parseChallenges, scopesIn } from '../../../src/auth/client/challenges.js'

const told = (header: string): unknown[] =>
  parseChallenges(header).map(({ scheme, parameters }) => [scheme, Object.fromEntries(parameters)])

t.test('challenges are read as RFC 9110 has them', async t => {
  t.same(told('Basic realm="a, b", Bearer scope="x y", resource_metadata="https://s.test/m"'), [
    ['basic', { realm: 'a, b' }],
    ['bearer', { scope: 'x y', resource_metadata: 'https://s.test/m' }],
  ])
  t.same(told('bEARER Error = "a \\"quoted\\" \\\\ word" ,realm=plain'), [
    ['bearer', { error: 'a "quoted" \\ word', realm: 'plain' }],
  ])
  t.same(told('Negotiate YWJj==, Bearer, Digest a="1"'), [
    ['negotiate', {}],
    ['bearer', {}],
    ['digest', { a: '1' }],
  ])
  t.same(told('Bearer resource_metadata=https://s.test/m?a=b, error=x'), [
    ['bearer', { resource_metadata: 'https://s.test/m?a=b', error: 'x' }],
  ])
  t.same(told('Bearer scope="a", scope="b"'), [['bearer', { scope: 'a' }]], 'the first one counts')
})

t.test('invalid challenges are skipped in linear time', async t => {
  for (const header of ['', ',,,', '"', '= x', '{"a":1}', 'Bearer scope="never ends', '\u0000']) {
    t.doesNotThrow(() => parseChallenges(header))
  }
  t.same(told('@@@, Bearer scope="x"').at(-1), ['bearer', { scope: 'x' }])
  const before = process.cpuUsage()
  for (const part of ['"\\', 'Bearer a="', 'a=,', ' ', 'x ']) parseChallenges(part.repeat(16_000))
  t.ok(process.cpuUsage(before).user < 1_000_000, 'of our time, whatever else the machine does')
})

t.test('of several challenges the one with metadata counts, and scopes are a set', async t => {
  t.match(bearerChallenge('Bearer realm="x", Bearer resource_metadata="/m", scope=" a  b a "'), {
    resourceMetadata: '/m',
    scopes: ['a', 'b'],
    error: undefined,
  })
  t.match(bearerChallenge('DPoP error="invalid_token"'), { error: 'invalid_token', scopes: undefined })
  t.equal(bearerChallenge('Basic realm="x"'), undefined)
  t.equal(bearerChallenge(undefined), undefined)
  t.equal(scopesIn(''), undefined)
})

t.test('invalid scopes are skipped, and the number of scopes is bounded', async t => {
  t.same(scopesIn('a \u001b[2J b"c d\\e é urn:x:y/.default'), ['a', 'urn:x:y/.default'])
  t.equal(scopesIn('\u202e "x"'), undefined)
  t.same(scopesIn(`${'x'.repeat(201)} y`), ['y'])
  const many = Array.from({ length: 999 }, (_, index) => `s${index}`).join(' ')
  t.equal(scopesIn(many)?.length, 200)
})
