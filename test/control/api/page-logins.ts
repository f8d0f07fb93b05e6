import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { startAuthorized } from '../../support/proxy/authorized.js'

t.test(
  'wrong codes of pages are logged, counted, audited and limited; a valid one always passes',
  async t => {
    const audit = join(t.testdir(), 'audit.jsonl')
    const people = { alice: { tokens: [{ hash: `sha256:${'0'.repeat(64)}` }] } }
    const { proxy, origin, lines, ask } = await startAuthorized(t, { people }, { more: { audit } })
    const login = (code: string) =>
      ask('/api/v1/login', {
        method: 'POST',
        headers: { origin, 'x-mcp-proxy': '1' },
        body: JSON.stringify({ code }),
      })
    const wrong = []
    for (let at = 0; at < 30; at += 1) wrong.push(await login(`made-up-${at}`))
    t.same(
      wrong.map(({ status }) => status),
      [...Array<number>(20).fill(401), ...Array<number>(10).fill(429)],
    )
    t.match(wrong.at(-1)?.headers['retry-after'], /^[1-9]\d*$/)
    t.equal(proxy.status().auth?.refused, 20)
    t.ok(lines.some(([level, , words]) => level === 'warn' && words === 'refused a credential'))
    t.equal((await login(proxy.pageSessions().newCode())).status, 200)
    await proxy.close()
    const audited = readFileSync(audit, 'utf8')
    t.match(audited, /"event":"refused".*"address":"127\.0\.0\.1".*"client":"page"/)
    t.match(audited, /"event":"signed in".*"principal":"local".*"client":"page"/)
    t.notMatch(audited + JSON.stringify(lines), /made-up/)
  },
)

t.test('the page of a proxy without a port of its own limits wrong codes as well', async t => {
  const { proxy } = await startAuthorized(t, undefined)
  const origin = await proxy.pageOrigin()
  const statuses = new Set<number>()
  for (let at = 0; at < 21; at += 1) {
    const headers = { origin, 'x-mcp-proxy': '1' }
    const body = JSON.stringify({ code: 'made-up' })
    statuses.add((await fetch(`${origin}/api/v1/login`, { method: 'POST', headers, body })).status)
  }
  t.same([...statuses], [401, 429])
})
