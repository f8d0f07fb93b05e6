import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { until } from '../../support/processes.js'
import { logInPage } from '../../support/proxy/page-login.js'
import { configFile, runHere, setEnv, startBin, tiny } from '../../support/proxy/start.js'
import { canBrowse } from '../../support/server/login-server.js'

t.test('the page of a proxy without a port is on a loopback port of its own', async t => {
  const file = configFile(t, { one: tiny() })
  const proxy = startBin(t, ['stdio', '--config', file])
  const before = await runHere(t, 'status', '--config', file)
  t.match(before, { code: 0 })
  let shown = await runHere(t, 'ui', '--print', '--config', file)
  for (let n = 0; shown.code !== 0 && n < 50; n += 1)
    shown = await runHere(t, 'ui', '--print', '--config', file)
  const page = new URL(shown.out.trim())
  t.match(page, { hostname: '127.0.0.1', pathname: '/ui/' })
  t.equal((await fetch(page)).status, 200)
  const api = new URL('/api/v1/status', page)
  const headers = { 'x-mcp-proxy': '1' }
  t.equal((await fetch(api, { headers })).status, 401, 'the API is closed without a code')
  const login = await logInPage(page.origin, page.hash.slice(1))
  t.equal((await fetch(api, { headers: login.headers })).status, 200)
  t.equal((await fetch(new URL('/mcp', page), { method: 'POST' })).status, 404, 'nothing else is there')
  const again = new URL((await runHere(t, 'ui', '--print', '--config', file)).out.trim())
  t.equal(again.origin, page.origin)
  proxy.child.stdin?.end()
  await proxy.exited
})

t.test('the browser gets the code in a file, not as an argument', { skip: !canBrowse }, async t => {
  const file = configFile(t, { one: tiny() })
  const proxy = startBin(t, ['stdio', '--config', file])
  const folder = t.testdirName
  const [browser, seen] = [join(folder, 'browser.cjs'), join(folder, 'seen.json')]
  const program = `require('fs').writeFileSync('${seen}', JSON.stringify(process.argv.slice(2)))`
  writeFileSync(browser, `#!${process.execPath}\n${program}\n`, { mode: 0o700 })
  setEnv(t, { BROWSER: browser, TMPDIR: folder })
  let shown = await runHere(t, 'ui', '--config', file)
  for (let n = 0; shown.code !== 0 && n < 50; n += 1) shown = await runHere(t, 'ui', '--config', file)
  const page = shown.out.trim()
  t.match(page, /\/ui\/#[\w-]{32}$/)
  await until(async () => existsSync(seen) && readFileSync(seen, 'utf8').endsWith(']'), 'the browser')
  const args = JSON.parse(readFileSync(seen, 'utf8'))
  t.match(args, [/open\.html$/])
  t.ok(readFileSync(args[0], 'utf8').includes(`location.replace("${page}")`))
  proxy.child.stdin?.end()
  await proxy.exited
})
