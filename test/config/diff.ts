import t from 'tap'
import { type ConfigDiff, diffConfigs, isNothing, isSameSetting } from '../../src/config/diff.js'
import { parseConfig } from '../../src/config/parse.js'
import type { ProxyConfig } from '../../src/config/types.js'

const read = (mcpServers: object, more: object = {}, env = {}): ProxyConfig => {
  const { config, problems } = parseConfig(JSON.stringify({ mcpServers, ...more }), '/x/mcp.json', env)
  if (config === undefined) throw new Error(`bad configuration: ${JSON.stringify(problems)}`)
  return config
}

const NOTHING: ConfigDiff = {
  added: [],
  removed: [],
  replaced: [],
  reshown: [],
  retuned: [],
  isReordered: false,
  settings: [],
  needRestart: [],
}

const ONE = { command: 'x', args: ['-y'], env: { A: '1' } }
const URL = { url: 'https://example.com/mcp', headers: { A: '1' } }

t.test('what a change of one server comes to is a table', async t => {
  const table: readonly (readonly [string, object, object, Partial<ConfigDiff>])[] = [
    ['nothing', ONE, ONE, {}],
    ['only what it looks like', ONE, { ...ONE, type: 'stdio', disabled: false }, {}],
    ['the command', ONE, { ...ONE, command: 'y' }, { replaced: ['s'] }],
    ['an argument', ONE, { ...ONE, args: ['-n'] }, { replaced: ['s'] }],
    ['one argument more', ONE, { ...ONE, args: ['-y', ''] }, { replaced: ['s'] }],
    ['no arguments', ONE, { ...ONE, args: [] }, { replaced: ['s'] }],
    ['the environment', ONE, { ...ONE, env: { A: '2' } }, { replaced: ['s'] }],
    ['another variable', ONE, { ...ONE, env: { B: '1' } }, { replaced: ['s'] }],
    ['a variable that goes', ONE, { ...ONE, env: { A: null } }, { replaced: ['s'] }],
    ['the folder', ONE, { ...ONE, cwd: '/y' }, { replaced: ['s'] }],
    ['the address', URL, { ...URL, url: 'https://example.com/other' }, { replaced: ['s'] }],
    ['a header', URL, { ...URL, headers: { A: '2' } }, { replaced: ['s'] }],
    ['the transport', URL, { ...URL, type: 'http' }, { replaced: ['s'] }],
    ['another kind of server', ONE, URL, { replaced: ['s'] }],
    ['who shares it', ONE, { ...ONE, sharing: 'all' }, { replaced: ['s'] }],
    ['its era', ONE, { ...ONE, era: 'legacy' }, { replaced: ['s'] }],
    ['its revision', ONE, { ...ONE, protocolVersion: '2025-06-18' }, { replaced: ['s'] }],
    ['its prefix', ONE, { ...ONE, prefix: 'p' }, { reshown: ['s'] }],
    ['no prefix', ONE, { ...ONE, prefix: false }, { reshown: ['s'] }],
    ['its tools', ONE, { ...ONE, tools: { deny: ['x'] } }, { reshown: ['s'] }],
    ['its URIs', ONE, { ...ONE, uris: 'preserve' }, { reshown: ['s'] }],
    ['a time limit', ONE, { ...ONE, timeouts: { call: '5m' } }, { retuned: ['s'] }],
    ['a time limit of a tool', ONE, { ...ONE, timeouts: { tools: { x: '5m' } } }, { retuned: ['s'] }],
    [
      'no time limit',
      { ...ONE, timeouts: { total: '5m' } },
      { ...ONE, timeouts: { total: 'off' } },
      { retuned: ['s'] },
    ],
    ['when it starts', ONE, { ...ONE, start: 'eager' }, { retuned: ['s'] }],
    ['replay', ONE, { ...ONE, replay: true }, { retuned: ['s'] }],
    ['turns', ONE, { ...ONE, serialize: true }, { retuned: ['s'] }],
    ['two things', ONE, { ...ONE, prefix: 'p', replay: true }, { reshown: ['s'], retuned: ['s'] }],
    [
      'whatever else, if it is replaced',
      ONE,
      { command: 'y', prefix: 'p', replay: true },
      { replaced: ['s'] },
    ],
  ]
  for (const [what, before, after, expected] of table) {
    const diff = diffConfigs(read({ s: before, other: ONE }), read({ s: after, other: ONE }))
    t.strictSame(diff, { ...NOTHING, ...expected }, what)
    t.equal(isNothing(diff), Object.keys(expected).length === 0, what)
  }
})

t.test('servers come, go and stand in another order', async t => {
  const table: readonly (readonly [string[], string[], Partial<ConfigDiff>])[] = [
    [['a', 'b'], ['a', 'b'], {}],
    [['a', 'b'], ['b', 'a'], { isReordered: true }],
    [['a', 'b'], ['a', 'c', 'b'], { added: ['c'] }],
    [['a', 'b', 'c'], ['a', 'c'], { removed: ['b'] }],
    [['a', 'b'], ['a', 'B'], { added: ['B'], removed: ['b'] }],
    [['a', 'b', 'c'], ['d', 'c', 'a'], { added: ['d'], removed: ['b'], isReordered: true }],
  ]
  const of = (names: readonly string[]) => read(Object.fromEntries(names.map(name => [name, ONE])))
  for (const [before, after, expected] of table) {
    t.strictSame(diffConfigs(of(before), of(after)), { ...NOTHING, ...expected }, `${before} ${after}`)
  }
})

t.test('a server that is called like a member of every object is one like any other', async t => {
  const names = ['__proto__', 'constructor', 'toString']
  const text = (entry: string) => `{"mcpServers":{${names.map(name => `"${name}":${entry}`).join()}}}`
  const of = (entry: string) => parseConfig(text(entry), '/x/mcp.json', {}).config as ProxyConfig
  t.strictSame(diffConfigs(of('{"command":"x"}'), of('{"command":"x"}')), NOTHING)
  t.strictSame(diffConfigs(of('{"command":"x"}'), of('{"command":"y"}')), { ...NOTHING, replaced: names })
})

t.test('the value of a variable counts, not how it is written', async t => {
  const env = { env: { A: '${V}' }, command: 'x' }
  const [one, two] = [read({ s: env }, {}, { V: '1' }), read({ s: env }, {}, { V: '2' })]
  t.match(diffConfigs(one, two), { replaced: ['s'] })
  t.ok(isNothing(diffConfigs(one, read({ s: { command: 'x', env: { A: '1' } } }))))
})

t.test('settings hold at once or after a restart, and are called as in the file', async t => {
  const table: readonly (readonly [object, Partial<ConfigDiff>])[] = [
    [{ pageSize: 5 }, { settings: ['pageSize'] }],
    [{ startupWait: '1s' }, { settings: ['startupWait'] }],
    [{ drain: '1s' }, { settings: ['drain'] }],
    [{ log: { level: 'debug' } }, { settings: ['log.level'] }],
    [{ limits: { calls: 7 } }, { settings: ['limits'] }],
    [{ listen: { port: 1 } }, { needRestart: ['listen'] }],
    [{ listen: { allowedHosts: ['x'] } }, { needRestart: ['listen'] }],
    [{ audit: 'stderr' }, { needRestart: ['audit'] }],
    [
      { requestState: { keys: [Buffer.alloc(32).toString('base64')] } },
      { needRestart: ['requestState.keys'] },
    ],
  ]
  const plain = read({ s: ONE })
  for (const [more, expected] of table) {
    const diff = diffConfigs(plain, read({ s: ONE }, more))
    t.strictSame(diff, { ...NOTHING, ...expected }, JSON.stringify(more))
    t.equal(
      isNothing(diff),
      expected.settings === undefined,
      'what only a restart brings changes nothing now',
    )
  }
  const given = read({ s: ONE }, { listen: {} })
  t.equal(isSameSetting('listen', given, read({ s: ONE }, { listen: { port: 8808 } })), true)
  t.equal(isSameSetting('listen', plain, given), false, 'a daemon listens only then')
  t.equal(isSameSetting('listen', plain, read({ s: ONE }, { listen: { port: 1 } })), false)
  t.equal(isSameSetting('listen', undefined, plain), false)
})
