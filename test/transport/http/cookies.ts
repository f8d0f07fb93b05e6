import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { fetchReply } from '../../../src/rpc/http/fetch-reply.js'
import { createHttpClient } from '../../../src/transport/http/client.js'
import { CookieJar } from '../../../src/transport/http/cookies.js'

const URL_OF = 'https://api.example.com/a/mcp'

const sent = (jar: CookieJar, url = URL_OF, headers = {}): string | undefined =>
  jar.addTo(headers, url)['cookie']

t.test('cookies go back to their origin, below their path, until they expire', t => {
  let nowMs = 1_000_000
  const jar = new CookieJar(() => nowMs)
  const rows: readonly (readonly [header: string, url: string, expected: string | undefined])[] = [
    ['id=1', URL_OF, 'id=1'],
    ['id=1', 'https://api.example.com/a/other', 'id=1'],
    ['id=1', 'https://api.example.com/b', undefined],
    ['id=1; Path=/', 'https://api.example.com/b', 'id=1'],
    ['id=1; Path=/a/m', 'https://api.example.com/a/mcp', undefined],
    ['id=1; Path=/', 'https://other.example.com/', undefined],
    ['id=1; Path=/', 'https://api.example.com:8443/', undefined],
    ['id=1; Path=/', 'http://api.example.com/', undefined],
    ['id=1; Domain=example.com; Path=/', URL_OF, 'id=1'],
    ['id=1; Domain=example.com; Path=/', 'https://other.example.com/', undefined],
    ['id=1; Domain=evil.com', URL_OF, undefined],
    ['id=1; Secure; HttpOnly; SameSite=Strict', URL_OF, 'id=1'],
    ['id="a b"; Max-Age=10', URL_OF, 'id="a b"'],
    ['id=1; Max-Age=0', URL_OF, undefined],
    ['id=1; Expires=Thu, 01 Jan 1970 00:00:01 GMT', URL_OF, undefined],
    ['id=1; Expires=Thu, 01 Jan 2099 00:00:01 GMT', URL_OF, 'id=1'],
    ['no name', URL_OF, undefined],
    [`id=${'x'.repeat(5000)}`, URL_OF, undefined],
  ]
  for (const [header, url, expected] of rows) {
    const one = new CookieJar(() => nowMs)
    one.store(URL_OF, header)
    t.equal(sent(one, url), expected, `${header} at ${url}`)
  }
  const plain = new CookieJar()
  plain.store('http://h/mcp', ['a=1; Secure', 'b=2'])
  t.equal(sent(plain, 'http://h/mcp'), 'b=2', 'without TLS, none is secure')
  for (const url of ['http://127.0.0.1:8080/mcp', 'http://localhost/mcp', 'http://[::1]/mcp']) {
    const local = new CookieJar()
    local.store(url, 'a=1; Secure; Path=/')
    t.equal(sent(local, url), 'a=1', `${url} stays on this machine`)
  }
  jar.store(URL_OF, 'id=1; Max-Age=10')
  nowMs += 11_000
  t.equal(sent(jar), undefined, 'it expires')
  t.end()
})

t.test('a new value replaces the old one, and the configured one', t => {
  const jar = new CookieJar()
  jar.store(URL_OF, ['lb=1; Path=/', 'other=2; Path=/a'])
  jar.store(URL_OF, 'lb=3; Path=/')
  t.equal(sent(jar), 'other=2; lb=3', 'the longer path comes first')
  t.equal(sent(jar, URL_OF, { Cookie: 'mine=x; lb=0' }), 'mine=x; other=2; lb=3')
  jar.store(URL_OF, ['lb=; Max-Age=-1; Path=/', 'other=; Path=/a; Max-Age=0'])
  t.equal(sent(jar), undefined)
  t.same(jar.addTo({ Cookie: 'mine=x' }, URL_OF), { Cookie: 'mine=x' })
  t.end()
})

t.test('a server cannot make a connection keep more than 50 cookies or 16 KiB', t => {
  const jar = new CookieJar()
  for (let i = 0; i < 1000; i += 1) jar.store(URL_OF, `c${i}=1`)
  t.equal(sent(jar)?.split('; ').length, 50)
  t.match(sent(jar), /c999=1/)
  for (let i = 0; i < 100; i += 1) jar.store(URL_OF, `d${i}=${'x'.repeat(4000)}`)
  t.ok((sent(jar) ?? '').length <= 16 * 1024)
  t.end()
})

t.test('each connection has its own cookies, and a redirect sets some too', async t => {
  const seen: (string | undefined)[] = []
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    seen.push(request.headers.cookie)
    if (request.url === '/from')
      response.writeHead(307, { location: '/to', 'set-cookie': 'r=1; Path=/' }).end()
    else response.writeHead(200, { 'set-cookie': ['a=1', `n=${seen.length}`] }).end()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const http = createHttpClient()
  t.teardown(() => http.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const get = async (client: ReturnType<typeof http.forConnection>, path: string): Promise<void> => {
    const request = { method: 'GET', url: url + path, headers: {} } as const
    const reply = await fetchReply(client, request, new AbortController().signal)
    reply.discard()
  }
  const [one, other] = [http.forConnection(), http.forConnection()]
  await get(one, '/from')
  await get(one, '/to')
  await get(other, '/to')
  await get(http, '/to')
  t.same(seen, [undefined, 'r=1', 'r=1; a=1; n=2', undefined, undefined])
})
