import t from 'tap'
import { bareHost, bracketedHost, localUrlHost, portOf } from '../../src/kernel/url-address.js'

t.test('a URL has a host and a port that sockets take', t => {
  const cases = [
    ['https://a.test/', 'a.test', 443],
    ['wss://a.test/', 'a.test', 443],
    ['http://[::1]/', '::1', 80],
    ['ws://127.0.0.1:8080/', '127.0.0.1', 8080],
    ['http://a.test:443/', 'a.test', 443],
  ] as const
  for (const [text, host, port] of cases) {
    const url = new URL(text)
    t.same([bareHost(url.hostname), portOf(url)], [host, port], text)
  }
  t.end()
})

t.test('an address to listen on becomes a host for URLs', t => {
  for (const [host, inUrl] of [
    ['127.0.0.1', '127.0.0.1'],
    ['proxy.test', 'proxy.test'],
    ['::1', '[::1]'],
    ['[::1]', '[::1]'],
    ['fd00::7', '[fd00::7]'],
    ['0.0.0.0', '127.0.0.1'],
    ['::', '127.0.0.1'],
    ['[::]', '127.0.0.1'],
    ['', '127.0.0.1'],
  ] as const)
    t.equal(localUrlHost(host), inUrl, host)
  t.equal(bracketedHost('::'), '[::]')
  t.end()
})
