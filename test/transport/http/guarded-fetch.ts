import type { LookupAddress } from 'node:dns'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { Fault } from '../../../src/kernel/faults.js'
import { createGuardedFetch, type GuardedFetchOptions } from '../../../src/transport/http/guarded-fetch.js'
import { FakeClock } from '../../support/fake-clock.js'
import { until } from '../../support/processes.js'

const LOCAL = 'http://127.0.0.1:1/mcp'
const PUBLIC = 'https://s.test/mcp'

const remote = async (t: Test, answer: RequestListener): Promise<string> => {
  const server = createServer(answer)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const rejection = async (work: Promise<unknown>): Promise<Fault> => {
  try {
    await work
  } catch (thrown) {
    return thrown as Fault
  }
  throw new Error('it was not refused')
}

/** A resolver that gives each time the next answer, and notes whether it was asked. */
const resolver = (...answers: readonly (readonly string[])[]) => {
  let asked = 0
  const lookup: GuardedFetchOptions['lookup'] = (_host, _options, done) => {
    const addresses = answers[Math.min(asked, answers.length - 1)] ?? []
    asked += 1
    done(
      null,
      addresses.map((address): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 })),
    )
  }
  return { lookup, asked: () => asked }
}

t.test('an address that is not https is visited on loopback alone, and only for servers there', async t => {
  const url = await remote(t, (_request, response) => response.end('{}'))
  t.equal((await createGuardedFetch({ trusted: [LOCAL] })(url)).status, 200)
  for (const [trusted, address] of [
    [PUBLIC, url],
    [PUBLIC, 'http://a.test/'],
    [LOCAL, 'http://a.test/'],
    ['http://10.0.0.5/mcp', 'http://10.0.0.5/'],
    [LOCAL, 'ftp://localhost/'],
  ] as const) {
    const { code, message } = await rejection(createGuardedFetch({ trusted: [trusted] })(address))
    t.same([code, /https/.test(message)], ['unavailable', true], `${address} for ${trusted}`)
  }
})

t.test('no way to write a private or special address leads there', async t => {
  const { lookup, asked } = resolver(['93.184.216.34'])
  const fetch = createGuardedFetch({ trusted: [PUBLIC], lookup })
  const hosts = [
    ...[
      '10.0.0.1',
      '0x7f.1',
      '2130706433',
      '127.1',
      '0177.0.0.1',
      '169.254.169.254',
      '100.64.0.1',
      '0.0.0.0',
    ],
    ...['224.0.0.1', '255.255.255.255', '192.168.1.1', '172.31.255.255', '198.18.0.1', '192.0.2.1'],
    ...['[::1]', '[::]', '[::ffff:169.254.169.254]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[64:ff9b::7f00:1]'],
    ...['[::ffff:0:7f00:1]', '[::ffff:0:a00:1]'],
    ...['[64:ff9b:1::a00:1]', '[2002:7f00:1::]', '[fe80::1]', '[fd00::1]', '[ff02::1]', '[2001:db8::1]'],
  ]
  for (const host of hosts) {
    const { code, message } = await rejection(fetch(`https://${host}/`))
    t.same([code, /private/.test(message)], ['unavailable', true], host)
  }
  t.equal(asked(), 0, 'no resolver is asked about an address')
})

t.test('each address that DNS gives a name is checked at the connection', async t => {
  for (const address of ['127.0.0.1', '10.0.0.1', '::1', 'fe80::1%eth0', '::ffff:10.0.0.1']) {
    const { lookup } = resolver(['93.184.216.34', address])
    const { message } = await rejection(createGuardedFetch({ trusted: [PUBLIC], lookup })('https://a.test/'))
    t.match(message, /a\.test is not visited/, address)
  }
  const { lookup, asked } = resolver(['93.184.216.34'], ['127.0.0.1'])
  lookup('a.test', { all: true }, () => undefined)
  const { message } = await rejection(createGuardedFetch({ trusted: [PUBLIC], lookup })('https://a.test/'))
  t.match(message, /a\.test is not visited/, 'a name that changed its address since it was checked')
  t.equal(asked(), 2)
})

t.test('the host of a configured address may be private, and allowPrivate lifts the rule', async t => {
  const { lookup } = resolver(['127.0.0.1'])
  const isRefused = async (options: Partial<GuardedFetchOptions>, url: string) =>
    /not visited/.test(
      (await rejection(createGuardedFetch({ trusted: [PUBLIC], lookup, ...options })(url))).message,
    )
  // Nothing listens there, so that what is allowed fails in another way.
  t.notOk(await isRefused({ trusted: ['https://127.0.0.1:9/mcp'] }, 'https://127.0.0.1:1/as'))
  t.notOk(await isRefused({ trusted: ['https://a.test:9/mcp'] }, 'https://a.test:1/as'))
  t.ok(await isRefused({ trusted: ['https://127.0.0.1:9/mcp'] }, 'https://a.test:1/as'))
  t.notOk(await isRefused({ trusted: ['http://localhost:9/mcp'] }, 'http://[::1]:1/as'))
  t.notOk(await isRefused({ allowPrivate: true }, 'https://127.0.0.1:1/'))
  t.notOk(await isRefused({ allowPrivate: true }, 'https://a.test:1/'))
})

t.test('a redirect is not followed', async t => {
  let requests = 0
  const url = await remote(t, (_request, response) => {
    requests += 1
    response.writeHead(302, { location: '/elsewhere' }).end()
  })
  t.equal((await createGuardedFetch({ trusted: [LOCAL] })(url)).status, 302)
  t.equal(requests, 1)
})

t.test('an answer is cut at 256 KiB, also one that never ends', async t => {
  const url = await remote(t, (_request, response) => {
    const write = (): void => {
      if (!response.destroyed) response.write('x'.repeat(65_536), write)
    }
    write()
  })
  const { code, message } = await rejection(createGuardedFetch({ trusted: [LOCAL] })(url))
  t.same([code, message], ['too-large', `the response of ${url} is longer than 256 KiB`])
})

t.test('a silent or endless server is abandoned after 10 s', async t => {
  const clock = new FakeClock()
  for (const begin of [false, true]) {
    let isThere = false
    const url = await remote(t, (_request, response) => {
      if (begin) response.write('{')
      isThere = true
    })
    const failure = rejection(createGuardedFetch({ trusted: [LOCAL], clock })(`${url}/secret?code=secret`))
    await until(() => isThere, 'the request')
    clock.advance(10_000)
    const { code, message } = await failure
    t.same([code, message], ['timeout', `${url} did not answer within 10 s`])
  }
})

t.test('a request arrives as it was made, and its response has status, headers and body', async t => {
  const url = await remote(t, (request, response) => {
    const { method, url, headers } = request
    request.setEncoding('utf8').once('data', (body: string) => {
      const type = headers['content-type']
      response
        .setHeader('set-cookie', ['a', 'b'])
        .writeHead(201)
        .end(JSON.stringify({ method, url, type, body }))
    })
  })
  const body = new URLSearchParams({ grant_type: 'x', code: 'a&b' })
  const response = await createGuardedFetch({ trusted: [LOCAL] })(`${url}/token?a=1`, {
    method: 'POST',
    body,
  })
  t.equal(response.status, 201)
  t.same(response.headers.getSetCookie(), [], 'cookies are dropped')
  t.same(await response.json(), {
    method: 'POST',
    url: '/token?a=1',
    type: 'application/x-www-form-urlencoded;charset=UTF-8',
    body: 'grant_type=x&code=a%26b',
  })
})

t.test('a caller may give up, and hears its own reason', async t => {
  const stop = new AbortController()
  const url = await remote(t, () => stop.abort(new Error('enough')))
  const { message } = await rejection(createGuardedFetch({ trusted: [LOCAL] })(url, { signal: stop.signal }))
  t.equal(message, 'enough')
})
