import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { LoginShell } from '../../../src/control/environment/login-shell.js'
import { isRunning, skipWithout, until } from '../../support/processes.js'

/** A program that stands for the shell of the user; `$4` would be what follows its command. */
const shell = (t: Test, script: string): string => {
  const file = join(t.testdir(), 'shell')
  writeFileSync(file, `#!/bin/sh\n${script}\n`)
  chmodSync(file, 0o755)
  return file
}

const asked = async (env: Record<string, string>, limitMs = 30_000) => {
  const told: string[] = []
  const login = new LoginShell({ env, onProblem: wrong => told.push(wrong), limitMs })
  return { variables: await login.variables(), told, login }
}

t.test(
  'a login shell provides its variables, with any other output',
  { skip: skipWithout.modes },
  async t => {
    const SHELL = shell(
      t,
      `echo "Welcome to $0, $1"
     export FROM_SHELL='two
     lines=' PATH=/shell/bin:$PATH EMPTY=
     eval "$2"
     echo bye`,
    )
    const { variables, told } = await asked({
      SHELL,
      PATH: process.env['PATH'] ?? '',
      OUTSIDE: 'x',
      HOME: '/h',
    })
    t.match(variables, { FROM_SHELL: /^two\n +lines=$/, EMPTY: '', PATH: /^\/shell\/bin:/, HOME: '/h' })
    t.equal(variables['OUTSIDE'], undefined, 'it starts with what every program needs, and no more')
    t.match(told, [/^prints other text to stdout /], 'and that is told')
    const titled = shell(t, `printf '\\033]0;title\\007\\033[?2004h'\neval "$2"`)
    t.same((await asked({ SHELL: titled, PATH: process.env['PATH'] ?? '' })).told, [], 'but no sequences')
  },
)

t.test('a real shell reads the files of a login', { skip: skipWithout.modes }, async t => {
  const HOME = t.testdir({ '.profile': 'export FROM_PROFILE=yes\necho hello\n' })
  const { variables } = await asked({ SHELL: '/bin/bash', PATH: process.env['PATH'] ?? '', HOME })
  t.match(variables, { FROM_PROFILE: 'yes' })
})

t.test(
  'a shell that does not answer costs its time, and nothing else',
  { skip: skipWithout.modes },
  async t => {
    const file = join(t.testdir(), 'pid')
    writeFileSync(join(t.testdirName, 'shell'), `#!/bin/sh\necho $$ > '${file}'\nsleep 1000\n`, {
      mode: 0o755,
    })
    const { variables, told } = await asked(
      { SHELL: join(t.testdirName, 'shell'), PATH: '/usr/bin:/bin' },
      500,
    )
    t.same(variables, {})
    t.match(told, [/^did not answer in 0.5 s$/])
    const pid = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
    if (pid > 0) await until(() => !isRunning(pid), 'its end, with all that it started')
  },
)

t.test('a shell that fails or prints nothing useful is reported', { skip: skipWithout.modes }, async t => {
  const rows = [
    [undefined, /cannot be started/],
    ['exit 7', /ended with 7, without output/],
    ['yes 0123456789012345678901234567890123456789', /printed too much/],
  ] as const
  for (const [script, words] of rows) {
    const SHELL = script === undefined ? join(t.testdir(), 'nowhere') : shell(t, script)
    const { variables, told } = await asked({ SHELL, PATH: '/usr/bin:/bin' })
    t.same(variables, {})
    t.match(told, [words])
  }
})

t.test('it is asked once a day, or when its files may have changed', { skip: skipWithout.modes }, async t => {
  const count = join(t.testdir(), 'count')
  writeFileSync(join(t.testdirName, 'shell'), `#!/bin/sh\necho x >> '${count}'\neval "$2"\n`, { mode: 0o755 })
  let nowMs = 0
  const env = { SHELL: join(t.testdirName, 'shell'), PATH: '/usr/bin:/bin' }
  const login = new LoginShell({ env, onProblem: t.fail, nowMs: () => nowMs, limitMs: 30_000 })
  const times = async () => {
    await login.variables()
    return readFileSync(count, 'utf8').length / 2
  }
  t.same(await Promise.all([times(), times()]), [1, 1])
  nowMs = 24 * 3_600_000 - 1
  t.equal(await times(), 1)
  nowMs += 1
  t.equal(await times(), 2)
  login.forget()
  t.equal(await times(), 3)
})
