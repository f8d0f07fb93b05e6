import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { answerPage, isPage } from '../../../src/control/api/page-files.js'

const serve = async (t: Test, isFromHere: boolean, hasToken = false) => {
  const server = createServer((request, response) => {
    // As the gate leaves it for a page of this machine.
    response.setHeader('access-control-allow-origin', '*')
    void answerPage(request, response, {
      isFromHere: () => isFromHere,
      hasToken: hasToken ? async () => undefined : undefined,
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return (path: string, options: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${port}${path}`, { redirect: 'manual', ...options })
}

t.test('every file of the page comes with headers that let nothing else in', async t => {
  const get = await serve(t, true)
  const types = {
    '': 'text/html',
    'app.js': 'text/javascript',
    'app.css': 'text/css',
    'icon.svg': 'image/svg+xml',
  }
  for (const [name, type] of Object.entries(types)) {
    const response = await get(`/ui/${name}?x=1`)
    t.equal(response.status, 200, name)
    const { headers } = response
    t.ok(headers.get('content-type')?.startsWith(type))
    t.equal(
      headers.get('content-security-policy'),
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    )
    t.equal(headers.get('x-content-type-options'), 'nosniff')
    t.equal(headers.get('referrer-policy'), 'no-referrer')
    t.equal(headers.get('cross-origin-opener-policy'), 'same-origin')
    t.equal(headers.get('cross-origin-resource-policy'), 'same-origin')
    t.equal(headers.get('access-control-allow-origin'), null, 'pages of other ports may not read it')
    const text = await response.text()
    if (name === '')
      t.notMatch(text, /<script>|<style|style=|https?:/, 'nothing inline, nothing of elsewhere')
    if (name === 'app.js') t.ok(text.length <= 90_000, `${text.length} bytes`)
  }
})

t.test('a path that is not a file of the page is refused', async t => {
  const get = await serve(t, true)
  t.equal((await get('/ui')).headers.get('location'), 'ui/')
  t.equal((await get('/ui/../package.json')).status, 404)
  t.equal((await get('/ui/%2e%2e/package.json')).status, 404)
  t.equal((await get('/ui/app.js.map')).status, 404)
  t.equal((await get('/ui/', { method: 'POST' })).status, 405)
  const head = await get('/ui/', { method: 'HEAD' })
  t.equal(head.status, 200)
  t.equal(await head.text(), '')
  t.same(['/ui', '/ui/', '/ui/x', '/uix', '/'].map(isPage), [true, true, true, false, false])
})

t.test('other machines get the page only where users can authenticate', async t => {
  t.equal((await (await serve(t, false))('/ui/')).status, 403)
  t.equal((await (await serve(t, false, true))('/ui/')).status, 200)
})
