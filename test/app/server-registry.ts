import t from 'tap'
import { ServerRegistry } from '../../src/app/server-registry.js'
import { parseConfig } from '../../src/config/parse.js'
import type { ServerConfig } from '../../src/config/types.js'

const read = (mcpServers: object): readonly ServerConfig[] =>
  parseConfig(JSON.stringify({ mcpServers }), '/x/mcp.json', {}).config?.servers ?? []

const X = { command: 'x' }

t.test('a server that stays is known by the same options, with other values in them', t => {
  const registry = new ServerRegistry(read({ a: X, b: X, c: X }))
  const [a, b, c] = registry.servers
  registry.reload(read({ d: X, b: { ...X, args: ['1'] }, a: { ...X, prefix: 'p', replay: true } }), ['b'])
  const [d, newB, sameA] = registry.servers
  t.equal(sameA, a)
  t.match(a, { name: 'a', alias: 'p', replay: true })
  t.not(newB, b)
  t.same([d?.name, newB?.name], ['d', 'b'])
  if (a === undefined || b === undefined || c === undefined || newB === undefined) throw new Error('missing')
  t.match(registry.configOf(newB)?.transport, { args: ['1'] })
  t.match(registry.configOf(b)?.transport, { args: [] }, 'who left is still known')
  t.ok(registry.configOf(c))
  t.same(registry.named(['a', 'c', 'nobody']), new Set([a]))
  t.match(registry.exposureOf({ options: a }), { prefix: true, uris: 'prefix' })
  t.end()
})

t.test('servers that could not be told apart are refused, and nothing has changed', t => {
  const [a] = read({ a: X })
  if (a === undefined) throw new Error('missing')
  const registry = new ServerRegistry([a])
  const before = registry.servers
  t.throws(() => registry.reload([a, { ...a }], []), {
    code: 'invalid-params',
    message: /the name a$/,
  })
  t.throws(() => registry.reload([a, { ...a, name: 'b', prefix: 'a' }], []), {
    message: 'Servers a and b have the same prefix, a',
  })
  t.throws(() => new ServerRegistry([a, a]))
  t.same(registry.servers, before)
  t.end()
})

t.test('the timeout of a tool is the first matching pattern, and follows the configuration', t => {
  const tools = (rules: object) => read({ a: { ...X, timeouts: { tools: rules } } })
  const registry = new ServerRegistry(tools({ 'get_*': '2m', '*_slow': '5m' }))
  const [server] = registry.servers
  const ms = (own: string) => server?.timeouts.toolMs?.(own)
  t.same(['get_slow', 'very_slow', 'other'].map(ms), [120_000, 300_000, undefined])
  registry.reload(tools({ other: 'off' }), [])
  t.same(['get_slow', 'other'].map(ms), [undefined, Number.POSITIVE_INFINITY])
  registry.reload(read({ a: X }), [])
  t.equal(server?.timeouts.toolMs, undefined)
  t.end()
})
