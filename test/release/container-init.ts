import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { endWith, OWN_GROUP, skipWithout } from '../support/processes.js'

const INIT = fileURLToPath(new URL('../../bin/container-init.sh', import.meta.url))
const ECHO = 'process.stdin.pipe(process.stdout)'

t.test(
  'the first process of the images passes input and exit codes on',
  { skip: skipWithout.signals },
  async t => {
    const node = (code: string, input = '') =>
      spawnSync('sh', [INIT, process.execPath, '-e', code], { input, encoding: 'utf8' })
    t.match(node(ECHO, 'a line\n'), { status: 0, stdout: 'a line\n' })
    t.match(node('process.exit(3)'), { status: 3 })
    t.match(spawnSync('sh', [INIT, 'no-such-program']), { status: 127 })
  },
)

t.test(
  'the first process of the images passes signals on, and waits for the proxy',
  { skip: skipWithout.signals },
  async t => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
      const code = `process.on('${signal}', () => setTimeout(process.exit, 100, 4)); console.log('ready'); setInterval(() => {}, 1e6)`
      const child = spawn('sh', [INIT, process.execPath, '-e', code], OWN_GROUP)
      endWith(t, child)
      await once(child.stdout, 'data')
      child.kill(signal)
      t.same(await once(child, 'exit'), [4, null], signal)
    }
  },
)
