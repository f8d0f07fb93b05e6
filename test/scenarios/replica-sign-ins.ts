import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createPersonalToken, tokenHash } from '../../src/kernel/secrets/personal-token.js'
import { startRoundRobin } from '../fixtures/round-robin.mjs'
import {
  allowWith,
  answerAt,
  askToken,
  authorizePath,
  Browser,
  exchange,
  register,
} from '../support/auth-server.js'
import { hello } from '../support/era/codec.js'
import { until } from '../support/processes.js'
import { configWith, JSON_HEADERS, startAuthorized } from '../support/proxy/authorized.js'
import { noRedis, startRedis } from '../support/redis.js'
import { LoginServer } from '../support/server/login-server.js'

const PUBLIC_URL = 'https://mcp.test'
const ALICE = createPersonalToken()

/** Three replicas with an authorization server, behind a balancer that goes round. */
const setUp = async (t: Test) => {
  const [redis, github] = await Promise.all([startRedis(t), LoginServer.start(t)])
  const home = t.testdir()
  const auth = {
    ...{ publicUrl: PUBLIC_URL, embedded: true, loopback: 'token' },
    people: { alice: { tokens: [{ hash: `sha256:${tokenHash(ALICE)}` }] } },
  }
  const more = {
    mcpServers: { github: { url: github.mcpUrl, credentials: 'per-principal' } },
    knownServers: false,
    cluster: {
      ...{ url: redis.url, keys: [randomBytes(32).toString('base64')], lease: '2s', linger: '0s' },
      peer: { listen: '127.0.0.1:0' },
    },
  }
  const all = []
  // One after the other: the first is the eldest.
  for (const name of ['a', 'b', 'c']) {
    const started = await startAuthorized(t, auth, { more, stateDir: join(home, name), listWaitMs: 5000 })
    all.push({ ...started, configured: { auth, more } })
  }
  for (const { proxy } of all)
    await until(() => proxy.status().cluster?.members.length === 3, 'three members')
  const balancer = await startRoundRobin(all.map(({ origin }) => new URL(origin)))
  t.teardown(() => balancer.close())
  const base = new URL(balancer.url).origin
  return { all, github, balancer, base, redis, browser: () => new Browser(base, PUBLIC_URL) }
}

t.test('people sign in, and clients get tokens, over any replica', { skip: noRedis }, async t => {
  const { all, base, balancer, browser, redis } = await setUp(t)
  const client = String((await register({ base })).body['client_id'])
  const page = await allowWith(browser(), authorizePath(client), ALICE)
  const { body } = await exchange({ base }, client, answerAt(page)['code'])
  const statuses = async (token: string): Promise<readonly number[]> =>
    (await Promise.all(all.map(one => one.initialize(token)))).map(({ status }) => status)
  t.same(await statuses(body.access_token), [200, 200, 200], 'a token is good at each of them')
  t.same(await statuses(`${body.access_token.slice(0, -2)}AA`), [401, 401, 401])

  const renew = (token: string) =>
    askToken({ base }, { grant_type: 'refresh_token', client_id: client, refresh_token: token })
  const four = await Promise.all([1, 2, 3, 4].map(() => renew(body.refresh_token)))
  t.equal(four.filter(({ status }) => status === 200).length, 1, 'a refresh token is good once')
  await until(
    async () => (await statuses(body.access_token)).every(each => each === 401),
    'the end of a grant',
  )

  const again = await allowWith(browser(), authorizePath(client), ALICE)
  const second = (await exchange({ base }, client, answerAt(again)['code'])).body
  await all[0]?.proxy.close()
  balancer.targets = balancer.targets.slice(1)
  all.shift()
  t.same(await statuses(second.access_token), [200, 200], 'it outlives the replica that gave it out')
  const { status, body: third } = await renew(second.refresh_token)
  t.equal(status, 200, 'and so does what was granted')
  t.same(await statuses(third.access_token), [200, 200])

  const keys = redis.ask('keys', '*').trim().split('\n')
  for (const secret of ['alice', client, third.access_token, third.refresh_token, 'AccessToken'])
    for (const key of keys) {
      const type = redis.ask('type', key).trim()
      const read = { hash: ['hgetall', key], zset: ['zrange', key, '0', '-1'] }[type] ?? ['get', key]
      if ((key + redis.ask(...read)).includes(secret)) t.fail(`${key} tells ${secret}`)
    }
})

t.test(
  'a grant that ends takes all of its access tokens with it, at every replica',
  { skip: noRedis },
  async t => {
    const { all, base, browser } = await setUp(t)
    const client = String((await register({ base })).body['client_id'])
    const signIn = async () => {
      const page = await allowWith(browser(), authorizePath(client), ALICE)
      return (await exchange({ base }, client, answerAt(page)['code'])).body
    }
    const statuses = async (token: string): Promise<readonly number[]> =>
      (await Promise.all(all.map(one => one.initialize(token)))).map(({ status }) => status)

    const first = await signIn()
    const tokens = [first.access_token]
    let refresh = first.refresh_token
    // More than the proxy keeps of one grant.
    for (let n = 0; n < 22; n += 1) {
      const params = { grant_type: 'refresh_token', client_id: client, refresh_token: refresh }
      const { body } = await askToken({ base }, params)
      refresh = body.refresh_token
      tokens.push(body.access_token)
    }
    t.same(await statuses(tokens.at(-1) ?? ''), [200, 200, 200])
    t.same(await statuses(tokens[0] ?? ''), [401, 401, 401], 'the oldest one has made room, at all of them')
    const form = new URLSearchParams({ client_id: client, token: refresh })
    t.equal((await fetch(`${base}/revoke`, { method: 'POST', body: form })).status, 200)
    const isOver = async (token: string): Promise<boolean> =>
      (await statuses(token)).every(status => status === 401)
    await until(() => isOver(tokens.at(-1) ?? ''), 'the end of the last token')
    for (const token of tokens.slice(1, 5)) t.ok(await isOver(token))

    const { access_token: hers } = await signIn()
    t.same(await statuses(hers), [200, 200, 200])
    const { auth, more } = all[1]?.configured ?? {}
    all[1]?.proxy.reload(configWith({ ...auth, people: { bob: {} } }, more))
    await until(() => isOver(hers), 'the end of the grants of a user who was removed at one replica')
  },
)

t.test('a user signs in at a server on the pages of any replica', { skip: noRedis }, async t => {
  const { balancer, browser, github } = await setUp(t)
  const post = (body: object, more: Readonly<Record<string, string>> = {}): Promise<Response> =>
    fetch(balancer.url, {
      method: 'POST',
      headers: { ...JSON_HEADERS, authorization: `Bearer ${ALICE}`, ...more },
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
    })
  const greeting = await post({ id: 0, method: 'initialize', params: hello('2025-11-25') })
  const session = { 'mcp-session-id': greeting.headers.get('mcp-session-id') ?? '' }
  const look = async (id: string): Promise<string> =>
    await (await post({ id, method: 'tools/call', params: { name: 'github__look' } }, session)).text()
  const link = /https:\S+\/oauth\/connect\/[\w-]+/.exec(await look('first'))?.[0] ?? ''
  t.not(link, '')
  const one = browser()
  const known = await one.press(await one.open(link), 'token', { token: ALICE })
  const away = await one.press(known, 'continue')
  const back = await fetch(away.url, { redirect: 'manual', headers: { cookie: 'account=zelda' } })
  const page = await one.open(back.headers.get('location') ?? '')
  t.match(page.text, /You are signed in to github/)
  t.match(await look('then'), /did look as zelda/)
  t.equal(github.to('/register').length, 1)
  t.equal((await browser().open(`${PUBLIC_URL}/oauth/connect/${'x'.repeat(22)}`)).status, 404)
})
