import t from 'tap'
import { Engine } from '../../../src/cluster/engine/engine.js'
import { createEngineStore } from '../../../src/cluster/engine/engine-store.js'
import { READ } from '../../../src/cluster/engine/scripts.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { FakeClock } from '../../support/fake-clock.js'
import { until } from '../../support/processes.js'
import { connectEngine, noRedis, startRedis } from '../../support/redis.js'
import { startTcpProxy } from '../../support/tcp-proxy.js'

t.test('an engine that stops answering, ends, and comes back', { skip: noRedis }, async t => {
  const redis = await startRedis(t)
  const engine = await connectEngine(t, redis)
  const run = (): Promise<unknown> => engine.run(READ, ['k'], [])

  t.same(await run(), [null, null, null], 'a script that it does not know is sent')
  t.match(redis.ask('info', 'commandstats'), /cmdstat_evalsha/)

  redis.child.kill('SIGSTOP')
  await t.rejects(run(), { code: 'unavailable', message: /does not answer/ })
  t.equal(engine.isUp, true, 'once may be chance')
  await t.rejects(run(), { code: 'unavailable' })
  t.equal(engine.isUp, false)
  redis.child.kill('SIGCONT')
  await until(
    () =>
      run().then(
        () => engine.isUp,
        () => false,
      ),
    'an engine that is up',
  )

  redis.child.kill('SIGKILL')
  await until(() => !engine.isUp, 'an engine that is down')
  await t.rejects(run(), { code: 'unavailable' })
  await redis.restart()
  await until(() => engine.isUp, 'an engine that is up')
  t.same(await run(), [null, null, null])
})

t.test('a process that was busy itself does not take the engine for lost', { skip: noRedis }, async t => {
  const redis = await startRedis(t)
  const engine = await connectEngine(t, redis)
  for (let n = 0; n < 3; n += 1) {
    const asked = engine.run(READ, ['k'], [])
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700)
    t.same(await asked, [null, null, null])
  }
  t.equal(engine.isUp, true)
})

t.test('requests sent together time out once', { skip: noRedis }, async t => {
  const redis = await startRedis(t)
  const engine = await connectEngine(t, redis)
  const run = (): Promise<unknown> => engine.run(READ, ['k'], [])
  redis.child.kill('SIGSTOP')
  t.teardown(() => redis.child.kill('SIGCONT'))
  await Promise.all([run(), run(), run()].map(asked => t.rejects(asked, { code: 'unavailable' })))
  t.equal(engine.isUp, true)
  await t.rejects(run(), { code: 'unavailable' })
  t.equal(engine.isUp, false)
})

t.test('a half-open connection is reopened', { skip: noRedis }, async t => {
  const redis = await startRedis(t)
  const proxy = await startTcpProxy(t, Number(new URL(redis.url).port))
  const clock = new FakeClock()
  const engine = new Engine({ url: `redis://127.0.0.1:${proxy.port}`, clock, log: silentLogger })
  t.teardown(() => engine.close())
  await until(() => engine.isUp, 'a connection')
  const fails = async (): Promise<void> => {
    const asked = engine.run(READ, ['k'], [])
    clock.advance(600)
    await t.rejects(asked, { code: 'unavailable' })
  }
  for (const mode of ['open', 'silent'] as const) {
    proxy.mode = mode
    proxy.forget()
    await fails()
    await fails()
    t.equal(engine.isUp, false)
    // One that is opened meanwhile is of no use either.
    clock.advance(5000)
    await t.rejects(engine.run(READ, ['k'], []), { code: 'unavailable' })
    proxy.mode = 'open'
    clock.advance(5000)
    await engine.run(READ, ['k'], []).catch(() => undefined)
    await until(() => engine.isUp, 'a connection')
    t.same(await engine.run(READ, ['k'], []), [null, null, null])
  }
})

t.test('an engine that refuses beats is of no use', { skip: noRedis }, async t => {
  const redis = await startRedis(t)
  const engine = await connectEngine(t, redis)
  const store = createEngineStore(engine, 'mp')
  const facts = { address: 'a:1', version: '1', keys: [], state: 'ready', sinceMs: 1 } as const
  const beat = () => store.beat('a', facts, 6000)
  await beat()
  redis.ask('config', 'set', 'maxmemory', '1')
  await t.rejects(beat(), /OOM/)
  t.equal(store.isUp, false)
  t.equal(await store.read('s'), undefined)
  t.equal(store.isUp, false, 'whatever else it answers')
  redis.ask('config', 'set', 'maxmemory', '0')
  await beat()
  t.equal(store.isUp, true)
})
