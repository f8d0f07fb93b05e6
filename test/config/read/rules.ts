import t from 'tap'
import { parseConfig } from '../../../src/config/parse.js'
import { loadRules, rulesOf } from '../../support/rules.js'

t.test('every key of a rule arrives, and numbers keep their text', async t => {
  const text = `{ "mcpServers": { "shop": { "command": "x" } }, "rules": [
    { "id": "big", "who": { "people": "ann", "scopes": ["a"], "clients": ["c*"] }, "server": "shop", "tool": ["r*", "w*"],
      "annotations": { "destructiveHint": true }, "reason": "Why.",
      "when": { "/amount": { "above": 9007199254740993, "below": 1e30 }, "/a~1b/*": { "oneOf": [1.10, "x", { "y": [null] }] } },
      "then": "ask", "ask": { "of": { "people": "bob", "scopes": ["f"] }, "via": "page", "timeout": "90s", "remember": "8h" },
      "rate": ["60/1m", { "limit": "1000/1d", "burst": 10, "per": ["server", "tool"] }] },
    { "resource": "file:///*", "when": { "/x": { "equals": null } }, "then": "deny" },
    { "then": "ask" },
  ] }`
  const [big, second, third] = parseConfig(text, '/etc/mcp.json', {}).config?.rules ?? []
  t.same(big, {
    id: 'big',
    who: { people: ['ann'], scopes: ['a'], clients: ['c*'] },
    server: ['shop'],
    tool: ['r*', 'w*'],
    prompt: undefined,
    resource: undefined,
    annotations: { destructiveHint: true },
    when: [
      [
        '/amount',
        {
          ...{ equals: undefined, oneOf: undefined, glob: undefined, present: undefined },
          ...{ above: '9007199254740993', below: '1e30' },
        },
      ],
      [
        '/a~1b/*',
        {
          ...{ equals: undefined, glob: undefined, above: undefined, below: undefined, present: undefined },
          oneOf: ['1.10', '"x"', '{"y":[null]}'],
        },
      ],
    ],
    then: 'ask',
    ask: {
      of: { people: ['bob'], scopes: ['f'] },
      via: 'page',
      timeout: '90s',
      timeoutMs: 90_000,
      rememberMs: 28_800_000,
    },
    rates: [
      { limit: '60/1m', calls: 60, periodMs: 60_000, burst: 60, per: ['person'] },
      { limit: '1000/1d', calls: 1000, periodMs: 86_400_000, burst: 10, per: ['server', 'tool'] },
    ],
    reason: 'Why.',
  })
  t.match(second, { id: '#2', when: [['/x', { equals: 'null' }]], ask: undefined, rates: [] })
  t.match(third?.ask, {
    of: undefined,
    via: 'client',
    timeout: '5m',
    timeoutMs: 300_000,
    rememberMs: undefined,
  })
})

t.test('every mistake makes the file unusable, and is reported with its place and a fix', async t => {
  const deny = { then: 'deny' }
  const when = (tests: unknown, pointer = '/a') => ({ when: { [pointer]: tests }, ...deny })
  const cases: readonly (readonly [rule: unknown, key: string, message: RegExp])[] = [
    [{}, 'rules.0', /decides nothing/],
    [{ ...deny, thn: 1 }, 'rules.0.thn', /unknown key/],
    [{ then: 'allw' }, 'rules.0.then', /not allowed/],
    [{ ...deny, id: 'A' }, 'rules.0.id', /form/],
    [{ ...deny, ask: {} }, 'rules.0.ask', /does not ask/],
    [{ then: 'ask', ask: { timeout: '2h' } }, 'rules.0.ask.timeout', /out of range/],
    [{ then: 'ask', ask: { timeout: '10ms' } }, 'rules.0.ask.timeout', /out of range/],
    [{ then: 'ask', ask: { remember: '9h' } }, 'rules.0.ask.remember', /out of range/],
    [{ then: 'ask', ask: { via: 'mail' } }, 'rules.0.ask.via', /not allowed/],
    [{ ...deny, tool: 'a', prompt: 'b' }, 'rules.0.prompt', /match nothing/],
    [{ ...deny, prompt: 'b', annotations: {} }, 'rules.0.annotations', /only tools/],
    [{ ...deny, annotations: { destructivHint: true } }, 'rules.0.annotations.destructivHint', /unknown key/],
    [
      { ...deny, annotations: { destructiveHint: 'yes' } },
      'rules.0.annotations.destructiveHint',
      /true or false/,
    ],
    [{ ...deny, who: { persons: [] } }, 'rules.0.who.persons', /unknown key/],
    [{ ...deny, who: { people: [] } }, 'rules.0.who.people', /not allowed/],
    [{ ...deny, server: 7 }, 'rules.0.server', /./],
    [{ ...deny, tool: Array(101).fill('x') }, 'rules.0.tool', /not allowed/],
    [{ ...deny, tool: Array(60).fill('x'), server: Array(60).fill('x') }, 'rules.0', /100 patterns/],
    [{ ...deny, reason: 'x'.repeat(301) }, 'rules.0.reason', /too large/],
    [{ ...deny, when: {} }, 'rules.0.when', /no tests/],
    [when({}), 'rules.0.when./a', /no tests/],
    [when({ above: 1 }, 'a'), 'rules.0.when.a', /name is not allowed/],
    [when({ above: 1 }, '/~2'), 'rules.0.when./~2', /name is not allowed/],
    [when({ above: 1 }, '/a'.repeat(17)), `rules.0.when.${'/a'.repeat(17)}`, /16 levels/],
    [when({ above: '1' }), 'rules.0.when./a.above', /expected a number/],
    [when({ matches: 'x' }), 'rules.0.when./a.matches', /unknown key/],
    [when({ present: true }, '/a/*'), 'rules.0.when./a/*.present', /present values/],
    [when({ present: false, above: 1 }), 'rules.0.when./a', /no value passes/],
    [when({ above: 5, below: 5 }), 'rules.0.when./a', /no value passes/],
    [when({ above: 5, glob: 'x' }), 'rules.0.when./a', /no value passes/],
    [when({ equals: 5, above: 5 }), 'rules.0.when./a', /no value passes/],
    [when({ equals: 'x', oneOf: ['y'] }), 'rules.0.when./a', /no value passes/],
    [when({ oneOf: ['a1', 'b2'], glob: 'c*' }), 'rules.0.when./a', /no value passes/],
    [{ ...deny, rate: '60' }, 'rules.0.rate', /./],
    [{ ...deny, rate: '0/1m' }, 'rules.0.rate', /./],
    [{ ...deny, rate: { limit: '1/1w' } }, 'rules.0.rate.limit', /form/],
    [{ ...deny, rate: { limit: '1/1m', burst: 0 } }, 'rules.0.rate.burst', /too small/],
    [{ ...deny, rate: { limit: '1/1m', per: ['client'] } }, 'rules.0.rate.per.0', /not allowed/],
    [{ ...deny, rate: Array(5).fill('1/1m') }, 'rules.0.rate', /./],
  ]
  for (const [rule, key, message] of cases) {
    const { config, problems } = loadRules([rule])
    t.equal(config, undefined, JSON.stringify(rule))
    t.match(problems[0], { severity: 'error', key, message, line: 1, fix: /\.$/ }, JSON.stringify(rule))
  }
  t.match(
    loadRules([
      { id: 'a', ...deny },
      { id: 'a', ...deny },
    ]),
    {
      config: undefined,
      problems: [{ key: 'rules.1.id', message: 'an earlier rule has this id' }],
    },
  )
  t.match(loadRules({}), { config: undefined, problems: [{ key: 'rules' }] })
  t.match(loadRules(Array(501).fill(deny)), { config: undefined, problems: [{ key: 'rules' }] })
})

t.test('tests that a value can pass are accepted', async t => {
  for (const tests of [
    { above: 1, below: 2 },
    { equals: 5, above: 4.9 },
    { oneOf: ['a', 'b'], glob: 'b*' },
    { equals: { a: 1 }, oneOf: [{ a: 1.0 }] },
    { present: true, glob: '' },
  ])
    t.equal(rulesOf([{ when: { '/a': tests }, then: 'deny' }]).length, 1, JSON.stringify(tests))
})

t.test('a key that looks like "rules" makes the file unusable', async t => {
  const { config, problems } = parseConfig('{ "mcpServers": {}, "rule": [] }', 'f', {})
  t.equal(config, undefined)
  t.match(
    problems.find(({ severity }) => severity === 'error'),
    {
      key: 'rule',
      message: 'this key is unknown, and looks like "rules"',
    },
  )
})
