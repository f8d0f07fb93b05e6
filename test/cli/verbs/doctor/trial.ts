import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { readConfiguration } from '../../../../src/cli/configuration.js'
import { tryDaemon } from '../../../../src/cli/verbs/doctor/trial.js'
import type { ConfigFacts, DaemonFacts } from '../../../../src/doctor/facts.js'
import { isRunning, isWindows, until } from '../../../support/processes.js'
import { configFile, tiny } from '../../../support/proxy/start.js'

t.test('a daemon that hangs at its start is told, and killed', { skip: isWindows }, async t => {
  const file = configFile(t, { one: tiny() })
  const pids = join(dirname(file), 'pids')
  const node = join(dirname(file), 'node')
  writeFileSync(node, `#!/bin/sh\necho $$ >> '${pids}'\nexec sleep 3600\n`)
  chmodSync(node, 0o755)
  t.intercept(process, 'execPath', { value: node, configurable: true })
  const config = { loaded: { config: await readConfiguration(file) } } as ConfigFacts
  const daemon = { state: 'none' } as DaemonFacts
  t.match((await tryDaemon(file, config, daemon, 500))?.why, /\S/)
  t.ok(existsSync(pids), 'it was started')
  for (const pid of readFileSync(pids, 'utf8').trim().split('\n'))
    await until(() => !isRunning(Number(pid)), 'its end')
  t.equal(
    await tryDaemon(file, config, { state: 'serves' } as DaemonFacts),
    undefined,
    'one that runs is enough',
  )
})
