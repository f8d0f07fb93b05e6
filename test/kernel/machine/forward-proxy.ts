import t from 'tap'
import { proxyFor, proxyRulesFor, proxyRulesOf, proxyUrl } from '../../../src/kernel/machine/forward-proxy.js'

const through = (env: Record<string, string>, url: string) => proxyFor(proxyRulesOf(env), url)

t.test('the scheme of a URL selects the variable, and the lower-case one takes precedence', t => {
  const env = { HTTP_PROXY: 'http://one:1', HTTPS_PROXY: 'http://two:2' }
  t.same(through(env, 'http://h/'), { url: 'http://one:1', from: 'HTTP_PROXY' })
  t.same(through(env, 'ws://h/'), { url: 'http://one:1', from: 'HTTP_PROXY' })
  t.same(through(env, 'https://h/'), { url: 'http://two:2', from: 'HTTPS_PROXY' })
  t.same(through(env, 'wss://h/'), { url: 'http://two:2', from: 'HTTPS_PROXY' })
  t.same(through({ ...env, http_proxy: 'low' }, 'http://h/'), { url: 'http://low', from: 'http_proxy' })
  t.equal(through({ ...env, http_proxy: '' }, 'http://h/')?.from, 'HTTP_PROXY', 'an empty one is absent')
  t.equal(through({ HTTP_PROXY: 'http://one:1' }, 'https://h/'), undefined)
  t.equal(proxyRulesOf({ NO_PROXY: '*' }), undefined)
  t.end()
})

t.test('NO_PROXY exempts hosts as in curl', t => {
  const rows: readonly (readonly [exempt: string, url: string, isExempt: boolean])[] = [
    ['*', 'http://h/', true],
    ['example.com', 'http://example.com/', true],
    ['example.com', 'http://EXAMPLE.com./', true],
    ['example.com', 'http://api.example.com/', true],
    ['.example.com', 'http://api.example.com/', true],
    ['.example.com', 'http://example.com/', true],
    ['*.example.com', 'http://api.example.com/', true],
    ['example.com', 'http://badexample.com/', false],
    ['example.com', 'http://example.com.evil/', false],
    ['a.b, example.com', 'http://example.com/', true],
    ['a.b example.com', 'http://example.com/', true],
    ['example.com:8080', 'http://example.com:8080/', true],
    ['example.com:8080', 'http://example.com/', false],
    ['example.com:80', 'http://example.com/', true],
    ['example.com:443', 'https://api.example.com/', true],
    ['localhost', 'http://localhost:3000/', true],
    ['localhost', 'http://127.0.0.1/', false],
    ['127.0.0.1', 'http://127.0.0.1:8/', true],
    ['127.0.0.1:8', 'http://127.0.0.1:9/', false],
    ['10.0.0.0/8', 'http://10.1.2.3/', true],
    ['10.0.0.0/8', 'http://11.1.2.3/', false],
    ['::1', 'http://[::1]:3000/', true],
    ['[::1]', 'http://[::1]/', true],
    ['[::1]:3000', 'http://[::1]:3000/', true],
    ['[::1]:3000', 'http://[::1]/', false],
    ['fd00::/8', 'http://[fd12::1]/', true],
    ['', 'http://h/', false],
    ['.', 'http://h/', false],
  ]
  for (const [exempt, url, isExempt] of rows) {
    const env = { HTTP_PROXY: 'http://p:1', HTTPS_PROXY: 'http://p:1', NO_PROXY: exempt }
    t.equal(through(env, url) === undefined, isExempt, `${exempt} and ${url}`)
  }
  const low = { HTTP_PROXY: 'http://p:1', NO_PROXY: 'h', no_proxy: 'other' }
  t.ok(through(low, 'http://h/'), 'the lower-case variable takes precedence')
  t.end()
})

t.test('an explicit proxy serves every URL, also of this machine', t => {
  const rules = proxyRulesFor('proxy:3128')
  for (const url of ['http://h/', 'https://h/', 'wss://h/', 'http://localhost/', 'http://127.0.0.1/'])
    t.same(proxyFor(rules, url), { url: 'http://proxy:3128', from: '"proxy"' }, url)
  t.equal(proxyFor(rules, 'not a URL'), undefined)
  t.end()
})

t.test('only addresses of HTTP proxies are accepted', t => {
  t.equal(proxyUrl('proxy:3128')?.href, 'http://proxy:3128/')
  t.equal(proxyUrl('https://u:p@proxy')?.host, 'proxy')
  for (const wrong of ['socks5://proxy:1080', 'ftp://proxy', 'http://', 'a b'])
    t.equal(proxyUrl(wrong), undefined, wrong)
  t.end()
})
