import fc from 'fast-check'
import t from 'tap'
import {
  hostAllowed,
  originAllowed,
  resolveHosts,
  resolveOrigins,
} from '../../../src/transport/http/guards.js'
import { runs } from '../../support/property.js'

const hosts = resolveHosts({
  host: '127.0.0.1',
  port: 8808,
  configured: ['MCP.example.com', 'other.example:9000', 'tls.example:443', 'fd00::1', '[fd00::2]:8443', ' '],
})

t.test('a request reaches us only under a name that is ours', async t => {
  const rows: readonly (readonly [string | undefined, boolean])[] = [
    ['localhost:8808', true],
    ['LOCALHOST:8808', true],
    ['127.0.0.1:8808', true],
    ['[::1]:8808', true],
    ['localhost', true],
    ['[::1]', true],
    ['mcp.example.com', true],
    ['mcp.example.com:8808', true],
    ['mcp.example.com:443', true],
    ['other.example:9000', true],
    ['tls.example', true],
    ['[fd00::1]:8808', true],
    ['[fd00::2]:8443', true],
    [undefined, false],
    ['', false],
    [' ', false],
    [':8808', false],
    ['evil.example', false],
    ['evil.example:8808', false],
    ['localhost:8809', false],
    ['localhost.evil.example:8808', false],
    ['evil-localhost:8808', false],
    ['localhost:8808.evil.example', false],
    ['localhost@evil.example', false],
    ['evil.example#localhost:8808', false],
    ['localhost:8808, evil.example', false],
    ['localhost:8808/', false],
    ['localhost:', false],
    ['localhost.:8808', false],
    ['127.1:8808', false],
    ['2130706433:8808', false],
    ['0.0.0.0:8808', false],
    ['::1', false],
    ['other.example', false],
    ['mcp.example.com:1', false],
    ['\u212aelvin', false],
  ]
  for (const [i, [header, expected]] of rows.entries()) {
    t.equal(hostAllowed(header, hosts), expected, `row ${i}: ${JSON.stringify(header)}`)
  }
})

t.test('the address that we listen on is ours, unless it stands for all addresses', async t => {
  const at = (host: string) => resolveHosts({ host, port: 80, configured: [] })
  t.equal(hostAllowed('192.168.1.5', at('192.168.1.5')), true)
  t.equal(hostAllowed('[fe80::1]:80', at('fe80::1')), true)
  for (const host of ['0.0.0.0', '::']) {
    t.equal(hostAllowed('0.0.0.0', at(host)), false)
    t.equal(hostAllowed('[::]', at(host)), false)
    t.equal(hostAllowed('localhost', at(host)), true)
  }
})

t.test('a web page may talk to us from this machine or from a configured origin', async t => {
  const origins = resolveOrigins([
    'https://App.example/',
    'http://x.example:80',
    'chrome-extension://abc',
    'nonsense',
    'null',
  ])
  const rows: readonly (readonly [string | undefined, boolean])[] = [
    [undefined, true],
    ['http://localhost', true],
    ['http://localhost:6274', true],
    ['https://127.0.0.1:1', true],
    ['http://[::1]:3000', true],
    ['https://app.example', true],
    ['HTTPS://APP.EXAMPLE:443', true],
    ['http://x.example', true],
    ['chrome-extension://abc', true],
    ['null', false],
    ['', false],
    ['chrome-extension://other', false],
    ['file://', false],
    ['file://localhost', false],
    ['ftp://localhost', false],
    ['http://app.example', false],
    ['https://app.example:8443', false],
    ['https://app.example.evil.example', false],
    ['http://localhost.evil.example', false],
    ['http://localhost@evil.example', false],
    ['http://evil.example#localhost', false],
    ['http://evil.example\\@localhost', false],
    ['http://evil.example/http://localhost', false],
    ['http://localhost http://evil.example', false],
    ['http://localhost, http://evil.example', false],
    ['http://[::1', false],
    ['localhost', false],
    ['//localhost', false],
  ]
  for (const [i, [header, expected]] of rows.entries()) {
    t.equal(originAllowed(header, origins), expected, `row ${i}: ${JSON.stringify(header)}`)
  }
})

t.test('no header text makes a guard throw, or lets a stranger in', async t => {
  const origins = resolveOrigins(['https://app.example'])
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.webUrl()), text => {
      hostAllowed(text, hosts)
      if (originAllowed(text, origins)) {
        const { hostname } = new URL(text)
        return ['localhost', '127.0.0.1', '[::1]', 'app.example'].includes(hostname)
      }
      return true
    }),
    runs(2000),
  )
  t.pass()
})
