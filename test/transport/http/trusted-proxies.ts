import type { IncomingMessage } from 'node:http'
import t from 'tap'
import { TrustedProxies } from '../../../src/transport/http/trusted-proxies.js'

t.test('the client behind trusted proxies is a table', async t => {
  const proxies = new TrustedProxies([
    '127.0.0.1/32',
    '10.0.0.0/8',
    'fd00::/8',
    '::ffff:192.168.0.0/112',
    '::ffff:c633:6405',
    '::ffff:1.2.3.4/12',
    'nonsense',
  ])
  const rows: readonly (readonly [
    peer: string,
    forwarded: string | undefined,
    client: string | undefined,
  ])[] = [
    ['127.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['::ffff:127.0.0.1', '203.0.113.7', '203.0.113.7'],
    ['127.0.0.1', '198.51.100.1, 203.0.113.7', '203.0.113.7'],
    ['127.0.0.1', '203.0.113.7, 10.1.2.3', '203.0.113.7'],
    ['fd00::1', '2001:db8::7, fd00::2', '2001:db8::7'],
    ['127.0.0.1', '10.0.0.1, 10.0.0.2', '10.0.0.1'],
    ['127.0.0.1', '203.0.113.7:5000', '203.0.113.7'],
    ['127.0.0.1', '[2001:db8::7]:5000', '2001:db8::7'],
    ['192.168.3.4', '203.0.113.7, ::ffff:192.168.9.9', '203.0.113.7'],
    ['198.51.100.5', '203.0.113.7', '203.0.113.7'],
    ['198.51.100.6', '203.0.113.7', undefined],
    ['127.0.0.1', '::FFFF:cb00:7107', '203.0.113.7'],
    ['127.0.0.1', `203.0.113.7${', 10.0.0.1'.repeat(40)}`, '10.0.0.1'],
    ['127.0.0.1', ','.repeat(9000), undefined],
    ['127.0.0.1', 'evil, 203.0.113.7', '203.0.113.7'],
    ['127.0.0.1', '203.0.113.7, unknown', undefined],
    ['127.0.0.1', '', undefined],
    ['127.0.0.1', undefined, undefined],
    ['127.0.0.2', '203.0.113.7', undefined],
    ['192.0.2.1', '203.0.113.7', undefined],
  ]
  for (const [remoteAddress, forwarded, client] of rows) {
    const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
    const request = { headers, socket: { remoteAddress } } as unknown as IncomingMessage
    t.equal(proxies.clientOf(request), client, `${remoteAddress} with ${forwarded}`)
  }
})
