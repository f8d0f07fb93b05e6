import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { type Balancer, startRoundRobin } from '../fixtures/round-robin.mjs'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { until } from '../support/processes.js'
import { type Daemon, rawServer, runHere, startDaemon } from '../support/proxy/start.js'
import { noRedis, type Redis, startRedis } from '../support/redis.js'

interface Replicas {
  readonly all: readonly [Daemon, Daemon, Daemon]
  readonly redis: Redis
  readonly balancer: Balancer
  /** A client that goes to another replica with each request. */
  client(): RawClient
  status(daemon: Daemon): Promise<Loose>
  /** The replica that has the only session. */
  owner(): Promise<Daemon>
  /** Resolves once nothing listens there any more. */
  kill(daemon: Daemon): Promise<void>
}

const KEY = randomBytes(32).toString('base64')

/** Three replicas behind a balancer that goes round; a lease is short, so that the dead are missed soon. */
const startReplicas = async (t: Test, more: object = {}, linger = '1s'): Promise<Replicas> => {
  const redis = await startRedis(t)
  const cluster = { url: redis.url, keys: [KEY], peer: { listen: '127.0.0.1:0' }, lease: '2s', linger }
  const start = (): Promise<Daemon> =>
    startDaemon(t, { s: rawServer('canary-server') }, { cluster, knownServers: false, ...more })
  const all = await Promise.all([start(), start(), start()] as const)
  t.teardown(async () => {
    const alive = all.filter(({ child }) => child.exitCode === null && child.signalCode === null)
    await Promise.all(alive.map(one => one.stop()))
  })
  const balancer = await startRoundRobin(all.map(({ url }) => new URL(url)))
  t.teardown(() => balancer.close())
  const status = async (daemon: Daemon): Promise<Loose> =>
    ((await (await fetch(new URL('/status', daemon.url))).json()) as Loose).cluster
  for (const one of all) await until(async () => (await status(one)).members.length === 3, 'three members')
  return {
    ...{ all, redis, balancer, status },
    client: () => new RawClient(balancer.url),
    async owner() {
      for (const daemon of all.filter(({ child }) => child.signalCode === null))
        if ((await status(daemon)).sessions > 0) return daemon
      throw new Error('nobody has a session')
    },
    async kill({ child }) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

const textOf = ({ last }: { last: { message: Loose } }): string => last.message.result?.content?.[0]?.text

t.test(
  'three replicas are one proxy for a client that each request takes to another',
  { skip: noRedis },
  async t => {
    const { all, redis, balancer, client, status } = await startReplicas(t)
    const raw = client()
    t.equal((await raw.initialize({ elicitation: {} })).status, 200)
    const before = redis.ask('info', 'commandstats')
    for (let n = 0; n < 12; n += 1) {
      const answer = await raw.call(n, 's__echo', `{"n":${n}}`)
      t.same([answer.status, textOf(answer)], [200, `{"n":${n}}`])
    }
    t.equal(balancer.chosen.size, 3)
    // Beats have no HMGET; whoever looks for a session does.
    const looks = (stats: string): string | undefined => /cmdstat_hmget:calls=(\d+)/.exec(stats)?.[1]
    t.equal(looks(redis.ask('info', 'commandstats')), looks(before), 'the engine is not asked about calls')

    await t.test('status --cluster shows them', async t => {
      const [{ url }] = all
      const { code, out } = await runHere(t, 'status', '--cluster', '--json', '--url', url)
      const { cluster } = JSON.parse(out)
      t.match([code, cluster.engine, cluster.members.length], [0, 'up', 3])
      t.same(Object.keys(cluster.members[0]), ['id', 'address', 'state'])
      const text = (await runHere(t, 'status', '--cluster', '--url', url)).out
      t.match(text, /^engine up, this replica is ready, /)
      t.match(text, /^[0-9a-f]{16} +127\.0\.0\.1:\d+ +ready +\S+ +this one *$/m)
    })

    await t.test('a question is answered through another replica than it came by', async t => {
      const open = await asking(raw, balancer)
      const asked = open.heard.find(({ method }) => method === 'elicitation/create')
      t.equal(
        (await raw.post({ id: asked.id, result: { action: 'accept', content: { a: 'yes' } } })).status,
        202,
      )
      await open.over
      t.match(open.heard.at(-1), { id: 'ask', result: { content: [{ text: /accept.*yes/ }] } })
    })

    await t.test('a call is cancelled through another replica', async t => {
      const waiting = raw.call('w', 's__wait', '{"key":"never"}')
      await until(
        async () => (await Promise.all(all.map(one => one.status()))).some(({ calls }) => calls > 0),
        'a call',
      )
      t.equal((await raw.post({ method: 'notifications/cancelled', params: { requestId: 'w' } })).status, 202)
      t.same(
        (await waiting).heard.filter(({ message }) => 'result' in message),
        [],
      )
      t.match(textOf(await raw.call('seen', 's__seen')), /notifications\/cancelled/)
    })

    await t.test('the standalone stream hears what happens, and is taken up elsewhere', async t => {
      await raw.listen()
      await raw.call('c', 's__change', '{"add":"young"}')
      const { message } = await raw.ambientIs(
        ({ message }) => message.method === 'notifications/tools/list_changed',
      )
      t.ok(message)
    })

    await t.test('other users cannot use the id, and a forged id is refused', async t => {
      const other = client()
      other.session = `${raw.session?.slice(0, -2)}AA`
      for (let n = 0; n < 3; n += 1) t.equal((await other.request('ping')).status, 404)
    })

    await t.test('the engine is told nothing that can be read', async t => {
      const keys = redis.ask('keys', '*').trim().split('\n')
      const kept = keys.filter(key => redis.ask('ttl', key).trim() === '-1')
      t.same(kept, ['mp:{m}:gen'], 'all else is forgotten where nobody renews it')
      const dump = keys
        .map(key => redis.ask(redis.ask('type', key).startsWith('hash') ? 'hgetall' : 'type', key) + key)
        .join('\n')
      t.match(dump, /mp:\{m\}:s:/)
      for (const word of [raw.session ?? '', 'canary-server', 'local', 'echo', 'initialize', 'raw', KEY])
        t.equal(dump.includes(word), false, word)
    })

    await t.test('it ends on all replicas when the client ends it', async t => {
      t.equal(await raw.end(), 200)
      const after = client()
      after.session = raw.session
      for (let n = 0; n < 3; n += 1) t.equal((await after.request('ping')).status, 404)
      t.equal(redis.ask('keys', '*:s:*').trim(), '')
      t.match(await status(all[0]), { engine: 'up', state: 'ready', held: 0 })
    })
  },
)

t.test('a client goes on when the replica that has its session is killed', { skip: noRedis }, async t => {
  const { all, redis, client, owner, kill, status, balancer } = await startReplicas(t)
  const raw = client()
  await raw.initialize()
  await raw.request('logging/setLevel', { level: 'error' })
  const dead = await owner()
  await until(() => redis.ask('keys', '*:s:*').trim() !== '', 'a record')
  const stuck = all
    .filter(one => one !== dead)
    .map(({ url }, n) => {
      const direct = new RawClient(url)
      direct.session = raw.session
      return direct.call(`stuck-${n}`, 's__wait', '{"key":"k"}')
    })
  const abroad = await opened(all.find(one => one !== dead)?.url ?? '', raw.session ?? '')
  await until(async () => (await dead.status()).calls === 2, 'calls under way')
  await new Promise(resolve => setTimeout(resolve, 300))
  await kill(dead)
  for (const answer of await Promise.all(stuck))
    t.match(answer.last.message, { error: { data: { reason: 'replica_lost', mayHaveRun: true } } })
  for (const n of [1, 2, 3]) {
    // A request on an open connection may have reached the dead one: nobody repeats it but the client.
    let answer = await raw.call(n, 's__echo', `{"n":${n}}`)
    while (answer.last.message.error?.data?.reason === 'replica_lost')
      answer = await raw.call(n, 's__echo', `{"n":${n}}`)
    t.equal(textOf(answer), `{"n":${n}}`, 'the same id works, and nobody initialized again')
  }
  const heir = await owner()
  t.match(await status(heir), { sessions: 1, adoptions: { record: 1 } })

  await t.test('its stream continues with the lists that may have changed', async t => {
    const [, id = ''] = /^id: (.*)$/m.exec(abroad.text()) ?? []
    t.match(id, /^1-\d+\.\d+$/)
    const again = await opened(balancer.url, raw.session ?? '', id)
    await until(
      () => again.text().includes('notifications/tools/list_changed'),
      'a list that may have changed',
    )
    again.cut()
  })

  await t.test('an answer that was due is told to be lost, under the id of its request', async t => {
    const lost = await opened(
      balancer.url,
      raw.session ?? '',
      `1-7.1~${Buffer.from('"x"').toString('base64url')}`,
    )
    await until(() => lost.text().includes('replica_lost'), 'an error')
    t.match(lost.text(), /id: over\n.*\ndata: .*"id":"x"/s)
    const over = await fetch(balancer.url, {
      headers: { accept: 'text/event-stream', 'mcp-session-id': raw.session ?? '', 'last-event-id': 'over' },
    })
    t.equal(over.status, 204)
  })
})

t.test('what runs goes on without the engine, and it is told', { skip: noRedis }, async t => {
  const { all, redis, client, status } = await startReplicas(t)
  const raw = client()
  await raw.initialize()
  redis.child.kill('SIGKILL')
  const ready = async (daemon: Daemon): Promise<readonly [number, Loose]> => {
    const response = await fetch(new URL('/readyz', daemon.url))
    return [response.status, await response.json()]
  }
  await until(async () => (await ready(all[0]))[1].status === 'degraded', 'a degraded replica')
  t.same(await ready(all[0]), [200, { status: 'degraded', engine: 'down' }])
  for (let n = 0; n < 6; n += 1) t.equal((await raw.call(n, 's__echo')).status, 200)
  const young = client()
  t.equal((await young.initialize()).status, 200, 'a new session')
  for (let n = 0; n < 6; n += 1) t.equal((await young.call(n, 's__echo')).status, 200)
  // Longer than a lease: nobody else could count it as over.
  await new Promise(resolve => setTimeout(resolve, 2500))
  for (let n = 0; n < 6; n += 1) t.equal((await raw.call(n, 's__echo')).status, 200)
  await redis.restart()
  await until(async () => (await status(all[0])).state === 'ready', 'a replica that is ready')
  await until(() => redis.ask('keys', '*:s:*').trim().split('\n').length === 2, 'what the engine lost')
  for (let n = 0; n < 6; n += 1) t.equal((await raw.call(n, 's__echo')).status, 200)
})

t.test('a rolling restart of all replicas is invisible to clients', { skip: noRedis }, async t => {
  const { all, redis, balancer, client, owner } = await startReplicas(t, { drain: '8s' }, '4s')
  const clients = await Promise.all(
    [1, 2, 3].map(async () => {
      const raw = client()
      await raw.initialize()
      return raw
    }),
  )
  await until(() => redis.ask('keys', '*:s:*').trim().split('\n').length === 3, 'three records')
  const leaving = await owner()
  const [raw] = clients
  if (raw === undefined) throw new Error('no client')
  const ready = async (): Promise<Response> => await fetch(new URL('/readyz', leaving.url))
  let isOver = false
  const stopped = leaving.stop().finally(() => {
    isOver = true
  })
  await until(async () => (await ready()).status === 503, 'a replica that is not ready')
  t.equal((await ready()).headers.get('connection'), 'close', 'connections to it are not kept')

  const young = new RawClient(leaving.url)
  t.equal((await young.initialize()).status, 200, 'a session that begins where none should be')
  young.vanish()
  for (let n = 0; n < 5 || !isOver; n += 1) {
    // By now a balancer has noticed; what is left has to be passed on until its very end.
    if (n === 2) balancer.targets = balancer.targets.filter(({ host }) => host !== new URL(leaving.url).host)
    for (const each of clients) {
      const answer = await each.call(n, 's__echo', '{}')
      t.equal(textOf(answer), '{}', `${answer.status}`)
    }
  }
  t.equal((await stopped).code, 0)
  const last = new RawClient(all.find(one => one !== leaving)?.url ?? '')
  last.session = young.session
  t.equal(textOf(await last.call('x', 's__echo', '{}')), '{}', 'it began at a replica that stays')
  for (const each of clients) t.equal(textOf(await each.call('y', 's__echo', '{}')), '{}')
})

t.test(
  "a replica that was frozen answers nothing that is another one's by now",
  { skip: noRedis },
  async t => {
    const { redis, client, owner, status, balancer } = await startReplicas(t)
    const raw = client()
    await raw.initialize()
    await until(() => redis.ask('keys', '*:s:*').trim() !== '', 'a record')
    const frozen = await owner()
    frozen.child.kill('SIGSTOP')
    balancer.targets = balancer.targets.filter(({ host }) => host !== new URL(frozen.url).host)
    const answers: Loose[] = []
    await until(async () => {
      answers.push((await raw.call(answers.length, 's__echo', '{}')).last.message)
      return answers.at(-1).result !== undefined
    }, 'an answer of another replica')
    for (const { error } of answers.slice(0, -1)) t.equal(error.data.reason, 'replica_lost')
    frozen.child.kill('SIGCONT')
    const direct = new RawClient(frozen.url)
    direct.session = raw.session
    t.equal(textOf(await direct.call('f', 's__echo', '{}')), '{}', 'it passes on what it had')
    t.match(await status(frozen), { sessions: 0 })
  },
)

/** A call that asks its client something; what it said so far. */
const asking = async (raw: RawClient, balancer: Balancer) => {
  const heard: Loose[] = []
  const response = await fetch(balancer.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-session-id': raw.session ?? '',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 'ask',
      method: 'tools/call',
      params: {
        name: 's__ask',
        arguments: {
          method: 'elicitation/create',
          params: { message: 'sure?', requestedSchema: { type: 'object', properties: {} } },
        },
      },
    }),
  })
  const over = (async () => {
    for await (const chunk of response.body ?? [])
      for (const [, data = ''] of Buffer.from(chunk as Uint8Array)
        .toString()
        .matchAll(/^data: (\{.*)$/gm))
        heard.push(JSON.parse(data))
  })()
  await until(() => heard.length > 0, 'a question')
  return { heard, over }
}

/** A stream that was opened with GET, and its text so far. */
const opened = async (url: string, session: string, lastEventId?: string) => {
  const abort = new AbortController()
  let text = ''
  const response = await fetch(url, {
    headers: {
      accept: 'text/event-stream',
      'mcp-session-id': session,
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    },
    signal: abort.signal,
  })
  void (async () => {
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk as Uint8Array).toString()
  })().catch(() => undefined)
  await until(() => text !== '' || response.status !== 200, 'the beginning of a stream')
  return { text: () => text, cut: () => abort.abort() }
}
