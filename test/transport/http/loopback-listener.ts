import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { listenLoopback } from '../../../src/transport/http/loopback-listener.js'

const listen = async (redirect: string) => {
  const listener = await listenLoopback(redirect)
  if (listener === undefined) throw new Error('its port is taken')
  t.teardown(() => listener.close())
  return listener
}

// Systems other than Linux have one address for themselves.
const others = process.platform === 'linux' ? ['http://127.0.0.2:0/back'] : []

t.test('it listens where the browser is sent, with any name of this machine', async t => {
  for (const redirect of ['http://127.0.0.1:0/callback', 'http://localhost:0/a/b?c=d', ...others]) {
    const listener = await listen(redirect)
    const url = new URL(listener.redirectUri)
    t.equal(url.href.replace(`:${url.port}`, ':0'), redirect, 'but for the port')
    const answer = listener.answerTo('s')
    url.searchParams.set('state', 's')
    url.searchParams.set('code', 'x')
    t.equal((await fetch(url)).status, 200, redirect)
    t.equal((await answer).get('code'), 'x')
  }
})

t.test('what has not the state of the login, once, changes nothing', async t => {
  const listener = await listen('http://127.0.0.1:0/callback')
  const { redirectUri } = listener
  t.equal((await fetch(`${redirectUri}?state=s&code=x`)).status, 400, 'nobody waits yet')
  const answer = listener.answerTo('s')
  for (const [query, status] of [
    ['?code=x', 400],
    ['?state=&code=x', 400],
    ['?state=other&code=x', 400],
    ['?state=s&state=s&code=x', 400],
    ['/more?state=s&code=x', 404],
  ] as const) {
    t.equal((await fetch(redirectUri + query)).status, status, query)
  }
  t.equal((await fetch(`${redirectUri}?state=s&code=y`)).status, 200)
  t.equal((await answer).get('code'), 'y')
})

t.test('a port that is taken is said to be', async t => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => other.close())
  const { port } = other.address() as AddressInfo
  for (const host of ['127.0.0.1', 'localhost'])
    t.equal(await listenLoopback(`http://${host}:${port}/callback`), undefined, host)
})
