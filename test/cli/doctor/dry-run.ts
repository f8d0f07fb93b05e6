import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { tryDaemon } from '../../../src/cli/doctor/dry-run.js'
import { readConfiguration } from '../../../src/cli/shared/configuration.js'
import type { ConfigFacts, DaemonFacts } from '../../../src/doctor/facts.js'
import { isRunning, isWindows, skipWithout, until } from '../../support/processes.js'
import { configFile, startBin, tiny } from '../../support/proxy/start.js'

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

t.test('Ctrl-C in doctor ends the daemon that it tries', { skip: skipWithout.proc }, async t => {
  const file = configFile(t, { one: tiny() })
  const folder = join(dirname(file), 'tmp')
  mkdirSync(folder)
  const daemons = (): readonly number[] =>
    readdirSync('/proc')
      .filter(name => /^\d+$/.test(name))
      .filter(pid => commandOf(pid).includes(`--config\0${file}\0--daemon`))
      .map(Number)
  const doctor = startBin(t, ['doctor', '--config', file], { env: { TMPDIR: folder } })
  await until(() => daemons().length > 0, 'the daemon')
  doctor.child.kill('SIGINT')
  t.equal(await doctor.exited, 130)
  await until(() => daemons().length === 0, 'the end of the daemon')
  t.same(readdirSync(folder), [])
})

const commandOf = (pid: string): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    return ''
  }
}
