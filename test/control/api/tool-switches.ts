import t, { type Test } from 'tap'
import { createProxy, type ProxyOptions } from '../../../src/app/proxy.js'
import { parseConfig } from '../../../src/config/parse.js'
import type { Loose } from '../../support/client/raw-client.js'
import { startListing } from '../../support/server/listing-server.js'

const open = async (t: Test, tools: readonly string[], rules: object, options: ProxyOptions = {}) => {
  const web = await startListing(t, { tools: tools.map(name => ({ name, inputSchema: { type: 'object' } })) })
  const mcpServers = { web: { ...web, tools: rules, start: 'eager' } }
  const { config } = parseConfig(JSON.stringify({ mcpServers, knownServers: false }), 'test.json', {})
  if (config === undefined) throw new Error('bad configuration')
  const proxy = createProxy(config, { listWaitMs: 60_000, ...options })
  t.teardown(() => proxy.close())
  const api = await proxy.api()
  const ask = async (method: string, path: string): Promise<Loose> => {
    const answer = await api.answer({ method, path, query: new URLSearchParams(), body: '' })
    return answer !== undefined && 'value' in answer ? { status: answer.status, ...answer.value } : answer
  }
  await ask('POST', '/servers/web/restart')
  await api.answer({ method: 'POST', path: '/servers/web/probe', query: new URLSearchParams(), body: '' })
  return ask
}

t.test('a proxy without a configuration file offers no switch', async t => {
  const ask = await open(t, ['a'], {})
  t.match(await ask('GET', '/servers/web/tools'), { canSwitch: false })
  t.match(await ask('POST', '/servers/web/tools/a/disable'), { status: 400, error: /without a config/ })
})

t.test('each tool has its state, and the reason why it cannot be switched', async t => {
  const switched: unknown[] = []
  const switchTool: ProxyOptions['switchTool'] = async (...words) => void switched.push(words)
  const names = ['a', 'a b/c', 'a*', 'x1', 'y', 'z']
  const rules = { deny: ['x*', 'y', 'gone', 'away*'], allow: ['a*', 'x*', 'y', 'gone'] }
  const ask = await open(t, names, rules, { switchTool })
  const { tools } = await ask('GET', '/servers/web/tools')
  t.match(tools, [
    { own: 'a', name: 'web__a', isEnabled: true, why: undefined },
    { own: 'a b/c', isEnabled: true, why: undefined },
    { own: 'a*', isEnabled: true, why: /a\* is a pattern/ },
    { own: 'x1', isEnabled: false, why: /the pattern "x\*" in tools\.deny of web hides x1/ },
    { own: 'y', isEnabled: false, why: undefined },
    { own: 'z', isEnabled: false, why: /tools\.allow of web does not list z/ },
    { own: 'gone', isEnabled: false, why: undefined },
  ])
  t.equal(tools.length, 7)
  t.match(await ask('POST', `/servers/web/tools/${encodeURIComponent('a b/c')}/disable`), { status: 200 })
  t.match(await ask('POST', '/servers/web/tools/gone/enable'), { status: 200 })
  t.match(await ask('POST', '/servers/web/tools/other/enable'), { status: 400, error: 'Unknown tool: other' })
  t.same(switched, [
    [{ server: 'web', own: 'a b/c' }, false],
    [{ server: 'web', own: 'gone' }, true],
  ])
})
