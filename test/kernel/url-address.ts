import t from 'tap'
import { bareHost, portOf } from '../../src/kernel/url-address.js'

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
