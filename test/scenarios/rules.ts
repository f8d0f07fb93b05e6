import t, { type Test } from 'tap'
import { createProxy } from '../../src/app/proxy.js'
import { parseConfig } from '../../src/config/parse.js'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { tiny } from '../support/proxy/start.js'

const MODERN = '2026-07-28'
const TYPES = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

const read = (rules: readonly object[]) => {
  const mcpServers = { shop: tiny() }
  const { config } = parseConfig(
    JSON.stringify({ mcpServers, rules, startupWait: '60s' }),
    'test.json',
    process.env,
  )
  if (config === undefined) throw new Error('bad configuration')
  return config
}

const start = async (t: Test, rules: readonly object[]) => {
  const proxy = createProxy(read(rules), { listWaitMs: 60_000 })
  t.teardown(() => proxy.close())
  const { url } = await proxy.listen({ port: 0 })
  const client = new RawClient(url)
  await client.initialize()
  await client.request('tools/list')
  return { proxy, url, client }
}

const modern = async (url: string, name: string): Promise<readonly [number, Loose]> => {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: {}, _meta },
  })
  const headers = { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/call', 'mcp-name': name }
  const response = await fetch(url, { method: 'POST', headers: { ...TYPES, ...headers }, body })
  const text = await response.text()
  return [response.status, JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text)]
}

const refused = (rule: string) => ({
  isError: true,
  content: [{ type: 'text', text: /^Denied by rule 2: No\. \([a-z0-9]+-[a-z0-9]+\)$/ }],
  _meta: { 'mcp-proxy/refused': { reason: 'denied', rule, errorId: /-/ } },
})

const RULES = [
  { tool: 'echo', when: { '/n': { above: 5 } }, then: 'deny' },
  { tool: 'fail', then: 'deny', reason: 'No.' },
]

t.test('a refused tool call is a result with HTTP 200, in every revision and in the control API', async t => {
  const { proxy, url, client } = await start(t, RULES)
  const legacy = await client.request('tools/call', { name: 'shop__fail', arguments: {} })
  t.match(legacy.last.message, { result: refused('#2') })
  const [status, answer] = await modern(url, 'shop__fail')
  t.equal(status, 200)
  t.match(answer, { result: { ...refused('#2'), resultType: 'complete' } })
  const api = await proxy.api()
  const body = JSON.stringify({ name: 'shop__fail' })
  const called = (await api.answer({
    method: 'POST',
    path: '/call',
    query: new URLSearchParams(),
    body,
  })) as Loose
  t.match(called.value, { result: refused('#2') })
  const { errorId } = called.value.result._meta['mcp-proxy/refused']
  const query = new URLSearchParams({ q: errorId })
  const why = (await api.answer({ method: 'GET', path: '/why', query, body: '' })) as Loose
  t.match(why.value, { verdict: 'error', causes: [{ verdict: 'rule', words: 'rule 2 decided' }] })
})

t.test('a reload changes the rules at once, and notifies clients whose lists change', async t => {
  const { proxy, client } = await start(t, RULES)
  const names = async (): Promise<string[]> =>
    (await client.request('tools/list')).last.message.result.tools.map((tool: Loose) => tool.name)
  t.notOk((await names()).includes('shop__fail'))
  proxy.reload(read([{ tool: 'echo', then: 'deny' }]))
  const list = await names()
  t.ok(list.includes('shop__fail'))
  t.notOk(list.includes('shop__echo'))
  t.match((await client.request('tools/call', { name: 'shop__fail', arguments: {} })).last.message, {
    result: { content: [{ text: 'it did not work' }] },
  })
  proxy.reload({ ...read([]), rules: undefined })
  t.ok((await names()).includes('shop__echo'))
})
