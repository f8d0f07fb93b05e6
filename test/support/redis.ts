import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { type AddressInfo, createServer } from 'node:net'
import type { Test } from 'tap'
import { Engine } from '../../src/cluster/engine/engine.js'
import { systemClock } from '../../src/kernel/async/clock.js'
import { silentLogger } from '../../src/kernel/logger.js'
import { until } from './processes.js'

/** Why tests that need an engine are skipped here; false where they are not. CI installs it (.ci/run). */
export const noRedis: string | false =
  spawnSync('redis-server', ['--version']).status === 0 ? false : 'redis-server is not installed here'

/** A Redis of a test: it keeps nothing, and ends with the test. */
export interface Redis {
  readonly url: string
  child: ChildProcess
  /** Another one at the same port, without data. */
  restart(): Promise<void>
  /** What a command of its own says, as text. */
  ask(...command: readonly string[]): string
}

const freePort = async (): Promise<number> => {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}

export const startRedis = async (t: Test): Promise<Redis> => {
  const port = await freePort()
  const url = `redis://127.0.0.1:${port}`
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const start = (): ChildProcess => spawn('redis-server', options, { stdio: 'ignore' })
  const redis: Redis = {
    url,
    child: start(),
    async restart() {
      redis.child = start()
      await ready()
    },
    ask: (...command) => spawnSync('redis-cli', ['-p', String(port), ...command]).stdout.toString(),
  }
  const ready = (): Promise<void> => until(() => redis.ask('ping').startsWith('PONG'), 'a Redis that answers')
  t.teardown(() => redis.child.kill('SIGKILL'))
  await ready()
  return redis
}

/** A connection to it, as a replica has one; it ends with the test. */
export const connectEngine = async (t: Test, { url }: Redis): Promise<Engine> => {
  const engine = new Engine({ url, clock: systemClock, log: silentLogger })
  t.teardown(() => engine.close())
  await until(() => engine.isUp, 'a connection to the engine')
  return engine
}
