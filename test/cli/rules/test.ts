import t from 'tap'
import { configFile, runHere, tiny } from '../../support/proxy/start.js'

const RULES = [
  { id: 'dev', when: { '/env': { equals: 'dev' } }, then: 'allow' },
  { id: 'big', tool: 'refund', when: { '/amount': { above: 500 } }, then: 'ask' },
  { who: { people: ['intern-*'] }, tool: 'deploy*', then: 'deny' },
  { id: 'pace', rate: '60/1m' },
]

t.test('rules test shows the decision about a call, and --expect sets the exit code', async t => {
  const file = configFile(t, { shop: tiny() }, { rules: RULES })
  const test = (...words: string[]) => runHere(t, 'rules', 'test', ...words, '--config', file)
  t.match(await test('shop__refund', '--args', '{"amount":900}'), {
    code: 0,
    out: /^shop__refund: ask, by big \(line \d+\)\n {2}\/amount is above 500\n {2}not by dev: \/env does not equal "dev"\n$/,
  })
  const json = async (...words: string[]) => JSON.parse((await test(...words, '--json')).out) as unknown
  t.same(await json('shop/refund', '--args', '{"amount":"9"}'), {
    version: 1,
    decision: 'ask',
    rule: 'big',
    line: 1,
    hidden: false,
    tests: [{ pointer: '/amount', test: 'may be above 500', holds: null }],
    passed: [{ rule: 'dev', because: '/env does not equal "dev"' }],
    rates: [],
  })
  t.match(await json('shop/deploy', '--as', 'intern-bob'), { decision: 'deny', rule: '#3', hidden: false })
  t.match(await json('shop/deploy', '--as', 'ann'), {
    decision: 'allow',
    rule: 'default',
    line: null,
    hidden: false,
    passed: [
      {},
      { because: 'it is about other items' },
      { because: 'it is about other callers' },
      { because: 'it only counts' },
    ],
    rates: [{ rule: 'pace', limit: '60/1m' }],
  })
  t.equal((await test('shop/deploy', '--expect', 'allow')).code, 0)
  t.equal((await test('shop/deploy', '--as', 'intern-bob', '--expect', 'ask')).code, 1)
  t.match(await test('shop/x', '--args', '[1]'), { code: 2, err: /must be a JSON object/ })
  t.match(await test('nothing__x'), { code: 2, err: /no server has nothing__x/ })
})

t.test('an unusable configuration ends rules test with 3', async t => {
  const file = configFile(t, { shop: tiny() }, { rules: [{ then: 'dny' }] })
  t.equal((await runHere(t, 'rules', 'test', 'shop/x', '--config', file)).code, 3)
})
