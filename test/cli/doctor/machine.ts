import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readDocker } from '../../../src/cli/doctor/machine.js'
import { restartedUnlessServed } from '../../../src/cli/doctor/restart.js'
import { isWindows } from '../../support/processes.js'
import { configFile, tiny } from '../../support/proxy/start.js'

const docker = (t: Test, script: string) => {
  const path = join(t.testdir(), 'docker')
  writeFileSync(path, `#!/bin/sh\n${script}\n`)
  chmodSync(path, 0o755)
  return [{ server: 's', command: 'docker', args: ['run'], path, searched: 'PATH' }]
}

t.test('a Docker that does not answer is told in its own words', { skip: isWindows }, async t => {
  t.same(await readDocker(docker(t, 'echo 27.1')), { why: undefined })
  t.match(await readDocker(docker(t, 'echo "Cannot connect to the daemon" >&2; exit 1')), {
    why: /docker version fails: Cannot connect to the daemon$/,
  })
  t.match(await readDocker(docker(t, 'exit 1')), { why: /version fails: it does not answer$/ })
})

t.test('Docker is not queried if no server needs it', async t => {
  const path = process.execPath
  t.equal(await readDocker([{ server: 's', command: 'node', args: [], path, searched: 'PATH' }]), undefined)
})

t.test('what a person runs in a terminal is not restarted under their hands', async t => {
  await t.rejects(restartedUnlessServed(configFile(t, { one: tiny() }), 'serve'), {
    message: 'a person runs this proxy in a terminal',
    fix: 'end it where it runs, and start it again',
  })
})
