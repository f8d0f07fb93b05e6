import t from 'tap'
import { READ } from '../../../src/cluster/engine/scripts.js'
import { until } from '../../support/processes.js'
import { connectEngine, noRedis, startRedis } from '../../support/redis.js'

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
