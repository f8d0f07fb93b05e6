import { randomBytes } from 'node:crypto'
import t from 'tap'
import { type CheckOptions, checkCluster } from '../../src/cluster/check.js'
import { createEngineStore } from '../../src/cluster/engine/engine-store.js'
import { engineFindings } from '../../src/cluster/engine/suitability.js'
import { KeyRing } from '../../src/cluster/key-ring.js'
import { systemClock } from '../../src/kernel/async/clock.js'
import { Fault } from '../../src/kernel/faults.js'
import type { HttpClient } from '../../src/wire/http.js'
import { configFile, rawServer, runHere, startDaemon } from '../support/proxy/start.js'
import { connectEngine, noRedis, startRedis } from '../support/redis.js'

const newKey = (): string => randomBytes(32).toString('base64')
const NOTHING = { pause() {}, resume() {}, discard() {}, abort() {} }

/** The replicas answer with this status, and say this; 0: they do not. */
const answering = (status: number, engine = 'up'): HttpClient => ({
  send(_, listener) {
    queueMicrotask(() => {
      if (status > 0) listener.head(status, {})
      if (status > 0) listener.data(Buffer.from(engine))
      listener.ended(status > 0 ? undefined : new Fault('unavailable', 'nobody'))
    })
    return NOTHING
  },
  close: () => Promise.resolve(),
})

const options = (url: string, more: Partial<CheckOptions> = {}): CheckOptions => ({
  ...{ url, prefix: 'mp', keys: [newKey()], http: answering(200), scheme: 'https', digest: '' },
  ...{ clock: systemClock, wallMs: Date.now, ...more },
})

t.test('an unreachable engine is reported with its fix', async t => {
  const { engine, findings } = await checkCluster(options('redis://127.0.0.1:1'))
  t.equal(engine, undefined)
  t.match(findings, [
    {
      level: 'error',
      subject: 'engine',
      message: /cannot connect to the engine: .*REFUSED/,
      fix: /"cluster\.url"/,
    },
  ])
})

t.test('unsuitable engines are reported', async t => {
  const good = { name: 'redis', version: '7.0.15', policy: 'noeviction', roundTripMs: 1, clockMs: 0 } as const
  const of = (more: object) => engineFindings({ ...good, ...more }).map(({ message }) => message)
  t.same(of({}), [])
  t.same(of({ policy: 'volatile-lru', clockMs: -5000, name: 'valkey', version: '7.2.0' }), [])
  t.match(of({ version: '6.2.1' }), [/redis 6\.2\.1 is too old/])
  t.match(of({ name: 'valkey', version: '7.1.9' }), [/valkey 7\.1\.9 is too old/])
  t.match(of({ version: '?' }), [/too old or unknown/])
  t.match(of({ policy: 'allkeys-lru' }), [/evicts sessions when it is full \(allkeys-lru\)/])
  t.match(of({ policy: undefined }), [/does not report its eviction policy/])
  t.match(of({ clockMs: 6000 }), [/local clock is 6 s behind/])
  t.match(of({ clockMs: -6000 }), [/local clock is 6 s ahead/])
  t.match(of({ roundTripMs: 200 }), [/200 ms to answer/])
})

const RIGHTS =
  '~mp:* +@connection +info +time +eval +evalsha +get +set +del +pexpire +hget +hset +hmget +hdel ' +
  '+incr +hgetall +zadd +zrem +zscore +zrange +zrangebyscore +zremrangebyrank'

t.test('with a real engine', { skip: noRedis }, async t => {
  const redis = await startRedis(t)
  const messages = async (more: Partial<CheckOptions> = {}, url = redis.url): Promise<readonly string[]> =>
    (await checkCluster(options(url, more))).findings.map(({ subject, message }) => `${subject}: ${message}`)
  const { port } = new URL(redis.url)

  t.same(await messages(), [], 'one that is as it should be')
  t.equal(redis.ask('dbsize').trim(), '0', 'nothing is left in it')
  t.match(await messages({ wallMs: () => Date.now() - 60_000 }), [/local clock is 60 s behind/])

  redis.ask('acl', 'setuser', 'few', 'on', '>pw', '~mp:*', '+@connection', '+info', '+time')
  t.match(await messages({}, `redis://few:pw@127.0.0.1:${port}`), [/user lacks permissions.*evalsha/])
  redis.ask('acl', 'setuser', 'right', 'on', '>pw', ...RIGHTS.split(' '))
  t.same(await messages({}, `redis://right:pw@127.0.0.1:${port}`), [], 'with the rights in docs/cluster.md')
  t.match(await messages({}, `redis://right:no@127.0.0.1:${port}`), [/login failed: WRONGPASS/])

  redis.ask('config', 'set', 'maxmemory-policy', 'allkeys-lru')
  t.match(await messages(), [/evicts sessions/])
  redis.ask('config', 'set', 'maxmemory-policy', 'noeviction')

  await t.test('its replicas are asked', async t => {
    const [key, other] = [newKey(), newKey()]
    const store = createEngineStore(await connectEngine(t, redis), 'mp')
    const facts = { address: '127.0.0.1:7', version: '1', keys: new KeyRing([key]).names } as const
    await store.beat('0'.repeat(16), { ...facts, state: 'ready', sinceMs: 0 }, 60_000)
    t.same(await messages({ keys: [key] }), [])
    t.match((await checkCluster(options(redis.url, { keys: [key] }))).members, [
      { id: '0'.repeat(16), address: '127.0.0.1:7', state: 'ready', link: 'up' },
    ])
    const digest = new KeyRing([key]).nameOf('configuration a')
    await store.beat('0'.repeat(16), { ...facts, digest, state: 'ready', sinceMs: 0 }, 60_000)
    t.same(await messages({ keys: [key], digest: 'a' }), [])
    t.match(await messages({ keys: [key], digest: 'b' }), [/127\.0\.0\.1:7: its configuration differs/])
    await store.beat('0'.repeat(16), { ...facts, state: 'ready', sinceMs: 0 }, 60_000)
    await store.beat('0'.repeat(16), { ...facts, digest, state: 'ready', sinceMs: 0 }, 60_000)
    for (const keys of [[other], [other, key]])
      t.notMatch((await messages({ keys, digest: 'a' })).join(), /configuration differs/, 'with other keys')
    t.match(await messages({ keys: [other, key] }), [
      /127\.0\.0\.1:7: it lacks the first key of "cluster\.keys"/,
    ])
    t.match(await messages({ keys: [other] }), [/lacks the first/, /seals with a key that is not/])
    const says = (status: number, engine?: string) =>
      messages({ keys: [key], http: answering(status, engine) })
    t.match(await says(0), [/cannot be reached from here/])
    t.match(await says(410), [/another process/])
    t.match(await says(401), [/rejects signatures/])
    t.match(await says(404), [/answers with HTTP 404/])
    t.match(await says(200, 'down'), [/cannot reach the engine/])
    await store.leave('0'.repeat(16))
  })

  await t.test('the command line says it, with and without a proxy that runs', async t => {
    const cluster = { url: redis.url, keys: [newKey()], peer: { listen: '127.0.0.1:0' } }
    const servers = { s: rawServer('s') }
    const config = configFile(t, servers, { cluster })
    t.match(await runHere(t, 'cluster', 'check', '--config', config), {
      ...{ code: 0, out: /^engine \w+ [\d.]+, answers in /, err: /^0 replicas, 0 errors, 1 warning$/m },
    })
    await startDaemon(t, servers, { cluster, knownServers: false })
    const { code, out } = await runHere(t, 'cluster', 'check', '--json', '--config', config)
    t.equal(code, 0)
    t.match(JSON.parse(out), {
      version: 1,
      ok: true,
      members: [{ state: 'ready', link: 'up' }],
      findings: [
        { level: 'warn', message: /configuration differs/ },
        { level: 'warn', subject: 'auth', message: /all clients are one principal/ },
      ],
    })
    const others = configFile(t, { ...servers, more: rawServer('more') }, { cluster, knownServers: false })
    t.match(await runHere(t, 'cluster', 'check', '--config', others), {
      ...{ code: 0, out: /^warning 127\S+: its configuration differs from this file; /m },
    })
    const wrong = configFile(t, servers, { cluster: { ...cluster, keys: [newKey()] } })
    const found = await runHere(t, 'cluster', 'check', '--config', wrong)
    t.match(found, { code: 1, out: /^error 127\S+: it rejects signatures from here; give all/m })
    t.notMatch(found.out, cluster.keys[0])
    const none = await runHere(t, 'cluster', 'check', '--config', configFile(t, servers))
    t.match(none, { code: 3, err: /has no "cluster"/ })
  })
})
