import { spawnSync } from 'node:child_process'
import type { Test } from 'tap'
import { Engine } from '../../src/cluster/engine/engine.js'
import { systemClock } from '../../src/kernel/async/clock.js'
import { silentLogger } from '../../src/kernel/logger.js'
import { type Redis, startRedis as start } from '../fixtures/redis.mjs'
import { until } from './processes.js'

export type { Redis } from '../fixtures/redis.mjs'

/** Why tests that need an engine are skipped here; false where they are not. CI installs it (.ci/run). */
export const noRedis: string | false =
  spawnSync('redis-server', ['--version']).status === 0 ? false : 'redis-server is not installed here'

/** A Redis that ends with the test. */
export const startRedis = async (t: Test): Promise<Redis> => {
  const redis = await start()
  t.teardown(() => redis.child.kill('SIGKILL'))
  return redis
}

/** A connection to it, as a replica has one; it ends with the test. */
export const connectEngine = async (t: Test, { url }: Redis): Promise<Engine> => {
  const engine = new Engine({ url, clock: systemClock, log: silentLogger })
  t.teardown(() => engine.close())
  await until(() => engine.isUp, 'a connection to the engine')
  return engine
}
