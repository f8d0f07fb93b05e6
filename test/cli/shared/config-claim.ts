import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import t from 'tap'
import { createProxy } from '../../../src/app/proxy.js'
import { openPlace } from '../../../src/cli/shared/config-claim.js'
import { parseConfig } from '../../../src/config/parse.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { StartLock } from '../../../src/shim/lock.js'
import { KeptLines } from '../../../src/telemetry/logs/kept-lines.js'
import { newPlace } from '../../support/proxy/place.js'

t.test('a client that reaches a daemon finds it started, and its record written', async t => {
  const place = newPlace(t)
  const lock = StartLock.take(place.lock)
  const { config } = parseConfig('{"mcpServers":{}}', 'test.json', {})
  if (lock === undefined || config === undefined) throw new Error('no lock, or no configuration')
  const proxy = createProxy(config)
  t.teardown(() => proxy.close())
  const reached = new Promise<object>(resolve => {
    const tryIt = (): void => {
      const socket = connect(place.socket)
      socket.once('error', () => setImmediate(tryIt))
      socket.once('connect', () => {
        resolve({ isLocked: existsSync(place.lock), hasFacts: existsSync(place.facts) })
        socket.destroy()
      })
    }
    tryIt()
  })
  const lines = new KeptLines()
  const claim = { place, lock, isDaemon: true, kept: undefined, isService: false, sink: undefined }
  const opened = { claim, proxy, config, file: '/mcp.json', lines, log: silentLogger, end: () => undefined }
  const control = await openPlace(opened)
  t.teardown(() => control?.close())
  t.same(await reached, { isLocked: false, hasFacts: true })
})
