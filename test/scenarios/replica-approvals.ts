import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createPersonalToken, tokenHash } from '../../src/kernel/secrets/personal-token.js'
import { startRoundRobin } from '../fixtures/round-robin.mjs'
import { Browser } from '../support/auth-server.js'
import { EraClient } from '../support/client/era-client.js'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { until } from '../support/processes.js'
import { startAuthorized } from '../support/proxy/authorized.js'
import { tiny } from '../support/proxy/start.js'
import { noRedis, startRedis } from '../support/redis.js'

const PUBLIC_URL = 'https://mcp.test'
const [ALICE = '', BOB = ''] = [createPersonalToken(), createPersonalToken()]
const ONCE = { action: 'accept', content: { decision: 'once' } }
const ARGS = { name: 'shop__echo', arguments: { n: 9 } }

/** Three replicas behind a balancer that goes round. */
const setUp = async (t: Test, rules: readonly object[]) => {
  const redis = await startRedis(t)
  const home = t.testdir()
  const hashes = { alice: ALICE, bob: BOB }
  const people = Object.fromEntries(
    Object.entries(hashes).map(([name, token]) => [
      name,
      { tokens: [{ hash: `sha256:${tokenHash(token)}` }] },
    ]),
  )
  const cluster = {
    ...{ url: redis.url, keys: [randomBytes(32).toString('base64')], lease: '2s', linger: '0s' },
    peer: { listen: '127.0.0.1:0' },
  }
  const more = { mcpServers: { shop: tiny() }, knownServers: false, startupWait: '60s', rules, cluster }
  const auth = { publicUrl: PUBLIC_URL, people }
  const all = []
  for (const name of ['a', 'b', 'c'])
    all.push(await startAuthorized(t, auth, { more, stateDir: join(home, name), listWaitMs: 60_000 }))
  for (const { proxy } of all)
    await until(() => proxy.status().cluster?.members.length === 3, 'three members')
  const balancer = await startRoundRobin(all.map(({ origin }) => new URL(origin)))
  t.teardown(() => balancer.close())
  const base = new URL(balancer.url).origin
  return { all, balancer, base, browser: () => new Browser(base, PUBLIC_URL) }
}

const headers = { authorization: `Bearer ${ALICE}` }
const refusalOf = (message: Loose): Loose => message.result?._meta?.['mcp-proxy/refused']

t.test('an approval is asked at one replica and given at any other', { skip: noRedis }, async t => {
  const rules = [{ id: 'a', tool: 'echo', then: 'ask' }]
  const { all, balancer, base, browser } = await setUp(t, rules)
  const declared = { elicitation: { form: {}, url: {} } }
  const clients = await Promise.all(
    all.map(({ origin }) => EraClient.connect(t, `${origin}/mcp`, 'modern', { headers, declared })),
  )
  const [one, ...others] = clients
  if (one === undefined) throw new Error('no client')

  await t.test('by the form of a client without a session', async t => {
    const { result } = await one.send('tools/call', ARGS)
    t.equal(result.resultType, 'input_required')
    const retry = { ...ARGS, requestState: result.requestState, inputResponses: { approval: ONCE } }
    const answers = await Promise.all(clients.map(client => client.send('tools/call', retry)))
    const ran = answers.filter(answer => answer.result?.content?.[0].text === '{"n":9}')
    t.equal(ran.length, 1, 'it runs once')
    t.equal(answers.filter(({ error }) => error?.code === -32602).length, 2)
    for (const client of others) t.match(await client.send('tools/call', retry), { error: { code: -32602 } })
  })

  await t.test('on the page, for a call in a session', async t => {
    const client = new RawClient(`${base}/mcp`)
    client.headers = headers
    await client.initialize()
    await client.request('tools/list')
    const { url } = refusalOf((await client.request('tools/call', ARGS)).last.message).approval
    t.match(url, /^https:\/\/mcp\.test\/approvals\//)
    const bob = await browser().open(url)
    t.match(bob.text, 'Who are you?')
    t.equal((await browser().press(bob, 'token', { token: BOB })).status, 403, 'a form of another browser')
    const alice = browser()
    const question = await alice.press(await alice.open(url), 'token', { token: ALICE })
    t.match(question.text, '{&quot;n&quot;:9}')
    t.match((await alice.press(question, 'allow')).text, 'The call is allowed')
    t.match((await client.request('tools/call', ARGS)).last.message, {
      result: { content: [{ text: '{"n":9}' }] },
    })
    t.match(refusalOf((await client.request('tools/call', ARGS)).last.message), { reason: 'approval-needed' })
    t.equal((await alice.open(url)).status, 404)
    t.equal((await alice.open(`${PUBLIC_URL}/approvals/${'0'.repeat(32)}`)).status, 404)
  })

  await t.test('and is asked again once that replica is gone', async t => {
    const { result } = await one.send('tools/call', ARGS)
    const url = `${PUBLIC_URL}/approvals/`
    await all[0]?.proxy.close()
    balancer.targets = balancer.targets.slice(1)
    const [other] = others
    await until(() => all[1]?.proxy.status().cluster?.members.length === 2, 'its end')
    const retry = { ...ARGS, requestState: result.requestState, inputResponses: { approval: ONCE } }
    const again = await other?.send('tools/call', retry)
    t.match(again, { result: { resultType: 'input_required' } })
    t.equal((await browser().open(`${url}${'0'.repeat(32)}`)).status, 404)
    const next = { ...retry, requestState: again?.result.requestState }
    t.match(await others[1]?.send('tools/call', next), { result: { content: [{ text: '{"n":9}' }] } })
  })
})
