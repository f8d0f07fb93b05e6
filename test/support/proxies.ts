import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { createProxy, type Proxy, type ProxyOptions } from '../../src/app/proxy.js'
import { parseConfig } from '../../src/config/parse.js'

const RAW_SERVER = fileURLToPath(new URL('../fixtures/raw-server.mjs', import.meta.url))

/** A configured server that runs test/fixtures/raw-server.mjs with these arguments. */
export const rawServer = (...args: readonly string[]): object => ({
  command: process.execPath,
  args: [RAW_SERVER, ...args],
})

/** A proxy of these servers, as a configuration file would make it; closed with the test. */
export const startProxy = (
  t: Test,
  mcpServers: Readonly<Record<string, object>>,
  options: ProxyOptions & {
    readonly pageSize?: number
    readonly startupWait?: string
    readonly limits?: object
  } = {},
): Proxy => {
  // A machine that has much else to do must not make servers look sick.
  const { pageSize, limits, startupWait = '60s', ...rest } = { listWaitMs: 60_000, ...options }
  const text = JSON.stringify({ mcpServers, pageSize, limits, startupWait })
  const { config, problems } = parseConfig(text, 'test.json', process.env)
  if (config === undefined || problems.some(({ severity }) => severity === 'error')) {
    throw new Error(`bad test configuration: ${JSON.stringify(problems)}`)
  }
  const proxy = createProxy(config, rest)
  t.teardown(() => proxy.close())
  return proxy
}
