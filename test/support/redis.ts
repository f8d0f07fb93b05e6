import { spawnSync } from 'node:child_process'
import type { Test } from 'tap'
import { Engine } from '../../src/cluster/engine/engine.js'
import { systemClock } from '../../src/kernel/async/clock.js'
import { silentLogger } from '../../src/kernel/logger.js'
import { type Redis, startRedis as start } from '../fixtures/redis.mjs'
import { until } from './processes.js'

export type { Redis } from '../fixtures/redis.mjs'

/** Reason to skip tests that need an engine; false if there is one. CI installs it (.ci/run). */
export const noRedis: string | false =
  spawnSync('redis-server', ['--version']).status === 0 ? false : 'redis-server is not installed here'

/** Starts a Redis that ends with the test. */
export const startRedis = async (t: Test): Promise<Redis> => {
  const redis = await start()
  t.teardown(() => redis.child.kill('SIGKILL'))
  return redis
}

/** Connects to it as a replica does, until the test ends. */
export const connectEngine = async (t: Test, { url }: Redis): Promise<Engine> => {
  const engine = new Engine({ url, clock: systemClock, log: silentLogger })
  t.teardown(() => engine.close())
  await until(() => engine.isUp, 'a connection to the engine')
  return engine
}
