import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { formatProblem } from '../../../src/config/file/problem.js'
import { filesOf, parseConfig } from '../../../src/config/parse.js'
import { redactServer, secretsOf } from '../../../src/config/read/secrets.js'
import type { UrlTransport } from '../../../src/config/types.js'
import { createAuthority } from '../../support/certificates.js'

const read = (entry: object, { folder = '/etc', env = {}, more = {} } = {}) => {
  const text = JSON.stringify({ mcpServers: { a: entry }, ...more })
  const loaded = parseConfig(text, join(folder, 'mcp.json'), env)
  const transport = loaded.config?.servers[0]?.transport as UrlTransport | undefined
  return { loaded, transport, problems: loaded.problems.map(formatProblem).join('\n') }
}

const URL = 'https://h/mcp'

t.test('the proxy of a server precedes the one of the file, which precedes the environment', async t => {
  const env = { HTTPS_PROXY: 'http://env:1', NO_PROXY: 'x' }
  const more = { proxy: 'http://file:2' }
  const proxyOf = (entry: object, options: object) =>
    read({ url: URL, ...entry }, options).transport?.proxy?.https?.url
  t.equal(proxyOf({}, { env }), 'http://env:1')
  t.equal(proxyOf({}, { env, more }), 'http://file:2')
  t.equal(proxyOf({ proxy: 'http://${HOST}:3' }, { env: { ...env, HOST: 'own' }, more }), 'http://own:3')
  t.equal(proxyOf({ proxy: false }, { env, more }), undefined)
  t.equal(proxyOf({}, { env, more: { proxy: false } }), undefined)
  t.equal(proxyOf({}, {}), undefined)
  t.equal(read({ url: URL }, { env, more }).loaded.config?.proxy?.https?.url, 'http://file:2')
})

t.test('a password of a proxy is a secret', async t => {
  const { loaded } = read(
    { url: URL, proxy: 'http://u:proxypw1@p:1' },
    { more: { proxy: 'http://u:proxypw2@p:1' } },
  )
  const { config } = loaded
  if (config === undefined) throw new Error('no configuration')
  const secrets = secretsOf(config)
  for (const each of ['proxypw1', 'proxypw2']) t.ok(secrets.includes(each), each)
  t.notMatch(JSON.stringify(config.servers.map(redactServer)), /proxypw/)
})

t.test('wrong addresses of proxies are refused', async t => {
  for (const proxy of ['socks5://p:1', '', 'http://', true, 3])
    t.match(read({ url: URL, proxy }).problems, /mcpServers\.a\.proxy: .*/, String(proxy))
  t.match(read({ url: URL }, { more: { proxy: 'socks://p' } }).problems, /proxy: this is not.*SOCKS/s)
})

t.test('certificates are read from files or variables, and watched', async t => {
  const { ca, file, folder, issue } = createAuthority(t)
  const { cert, files, key } = issue('client')
  const tls = { ca: 'ca.pem', cert: files.cert, key: '${KEY}', servername: 'inner' }
  const { transport, problems, loaded } = read({ url: URL, tls }, { folder, env: { KEY: key } })
  t.equal(problems, '')
  t.match(transport?.tls, { ca, cert, key, servername: 'inner' })
  t.ok(filesOf(loaded).includes(file))
  const { config } = loaded
  t.ok(config && secretsOf(config).some(secret => secret.includes('PRIVATE KEY')))
  t.notMatch(JSON.stringify(config?.servers.map(redactServer)), /PRIVATE KEY/)
})

t.test('each unusable certificate or key is reported at its own key', async t => {
  const { folder, issue, openssl } = createAuthority(t)
  const { files } = issue('one')
  const other = issue('other')
  openssl('ec', '-in', files.key, '-out', 'locked.key', '-aes256', '-passout', 'pass:secret')
  writeFileSync(join(folder, 'text.pem'), 'no certificate')
  const rows: readonly (readonly [tls: object, expected: RegExp])[] = [
    [{ ca: 'gone.pem' }, /a\.tls\.ca: .*gone\.pem is not there/],
    [{ ca: 'text.pem' }, /a\.tls\.ca: this is not a certificate in PEM/],
    [{ cert: files.cert }, /a\.tls\.cert: the certificate lacks its key/],
    [{ key: files.key }, /a\.tls\.key: the key lacks its certificate/],
    [{ cert: files.cert, key: other.files.key }, /a\.tls\.key: this is not the key of "cert"/],
    [{ cert: files.cert, key: 'text.pem' }, /a\.tls\.key: this is not a private key/],
    [{ cert: files.cert, key: 'locked.key' }, /a\.tls\.key: .*passphrase is missing or wrong/],
    [{ cert: files.cert, key: 'locked.key', passphrase: 'wrong' }, /passphrase is missing or wrong/],
    [{ insecure: true }, /a\.tls\.insecure: any certificate is accepted/],
    [{ insecure: 'yes' }, /a\.tls\.insecure: /],
    [{ certificate: 'x' }, /a\.tls\.certificate: unknown key/],
  ]
  for (const [tls, expected] of rows) t.match(read({ url: URL, tls }, { folder }).problems, expected)
  const right = { cert: files.cert, key: 'locked.key', passphrase: '${PASS}' }
  t.equal(read({ url: URL, tls: right }, { folder, env: { PASS: 'secret' } }).problems, '')
  t.match(read({ url: 'http://h/', tls: {} }).problems, /a\.tls: ignored: this address is not encrypted/)
})

t.test('a user and password in an address become a header, without another login', async t => {
  const { transport, problems } = read({ url: 'http://us%C3%A9r:pa%20ss@h/mcp?a=1' })
  t.notMatch(problems, /error/)
  t.equal(transport?.url, 'http://h/mcp?a=1')
  const login = Buffer.from('usér:pa ss').toString('base64')
  t.match(transport, { headers: { Authorization: `Basic ${login}` }, hasUrlLogin: true })
  const env = { USER: 'a:b', PASSWORD: 'p@ss/w?#', DONE: 'pa%20ss' }
  for (const [url, login] of [
    ['http://${USER}:${PASSWORD}@h/mcp', 'a:b:p@ss/w?#'],
    ['http://u:${DONE}@h/mcp', 'u:pa ss'],
    ['http://u:${NONE:-x/y}@h/mcp', 'u:x/y'],
  ] as const) {
    const { transport } = read({ url }, { env })
    t.equal(transport?.url, 'http://h/mcp')
    t.match(transport?.headers, { Authorization: `Basic ${Buffer.from(login).toString('base64')}` })
  }
  const url = 'http://u:p@h/mcp'
  for (const [more, expected] of [
    [
      { headers: { authorization: 'Bearer x' } },
      /a\.url: this address has a user and password, and "headers"/,
    ],
    [{ oauth: { clientId: 'x' } }, /a\.oauth: the address of the server has a user and password/],
    [{ credentials: 'per-principal' }, /a\.credentials: the address of the server has a user and password/],
  ] as const) {
    const { loaded, problems } = read({ url, ...more })
    t.match(problems, expected)
    t.same(loaded.config?.servers, [])
  }
})

t.test('only harmless headers can be passed on, and only over HTTP', async t => {
  const { transport, problems } = read({ url: URL, forwardHeaders: ['X-Request-Id', 'X-Tenant-*'] })
  t.equal(problems, '')
  t.same(transport?.forwardHeaders, ['x-request-id', 'x-tenant-*'])
  for (const name of [
    ...[
      'Authorization',
      'authorization',
      'Cookie',
      'Host',
      'Connection',
      'Transfer-Encoding',
      'TE',
      'Upgrade',
    ],
    ...[
      'Proxy-Authorization',
      'Keep-Alive',
      'Content-Length',
      'Mcp-Session-Id',
      'Mcp-*',
      'mcp-x',
      '*',
      'A*',
      '*n',
    ],
  ])
    t.match(read({ url: URL, forwardHeaders: [name] }).problems, /forwardHeaders\.0: .*"credentials"/s, name)
  t.match(read({ url: URL, forwardHeaders: ['a b'] }).problems, /forwardHeaders/)
  t.match(read({ command: 'x', forwardHeaders: ['X-A'] }).problems, /forwardHeaders: ignored: programs/)
  t.match(read({ url: 'ws://h/', forwardHeaders: ['X-A'] }).problems, /forwardHeaders: ignored: a WebSocket/)
  const folder = mkdtempSync(join(tmpdir(), 'network-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  t.match(
    read({ command: 'x', proxy: 'http://p:1', tls: {} }).problems,
    /a program makes its own connections/,
  )
})
