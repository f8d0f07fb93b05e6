import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseConfig } from '../../../src/config/parse.js'
import type { ProxyConfig } from '../../../src/config/types.js'
import { ProxyEnvironment, variablesOf, wantedBy } from '../../../src/control/environment/environment.js'
import { skipWithout, until } from '../../support/processes.js'

const text = (env: Record<string, string>, more: object = {}): string =>
  JSON.stringify({ mcpServers: { s: { command: 'x', env }, ok: { command: 'x' } }, ...more })

const read = async (
  environment: ProxyEnvironment,
  config: string,
): Promise<{ config: ProxyConfig; env: Record<string, string> | undefined }> => {
  const found = await environment.load((env, later) => parseConfig(config, '/nowhere/mcp.json', env, later))
  if (found.config === undefined) throw new Error('unusable')
  const transport = found.config.servers.find(({ name }) => name === 's')?.transport
  return { config: found.config, env: transport?.kind === 'stdio' ? { ...transport.env } : undefined }
}

const shellOf = (t: Test, script: string): string => {
  const file = join(t.testdir(), 'shell')
  writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return file
}

const told: string[] = []
const tell = (words: string) => void told.push(words)
const PATH = '/usr/bin:/bin'

t.test('a server that lacks variables waits for them, and only for them', async t => {
  const environment = new ProxyEnvironment({ env: {}, isPersons: true, tell })
  const { config } = await read(
    environment,
    text({ A: '${A}${A}', B: '${B:-b}', C: '${C}' }, { daemon: { shellEnv: false } }),
  )
  t.same(config.waiting, [{ name: 's', transport: 'stdio', lacks: ['A', 'C'] }])
  t.same(
    config.servers.map(({ name }) => name),
    ['ok'],
  )
  t.same(wantedBy(config), ['A', 'C'])
  t.ok(environment.bring({ A: 'a', X: 'x' }, 'cursor\n\u001b[1m', config))
  t.notOk(environment.bring({ A: 'again' }, 'zed', config), 'the first counts')
  t.ok(environment.bring({ C: 'c' }, 'zed', config))
  const after = await read(
    environment,
    text({ A: '${A}${A}', B: '${B:-b}', C: '${C}' }, { daemon: { shellEnv: false } }),
  )
  t.same(after.env, { A: 'aa', B: 'b', C: 'c' })
  t.same(variablesOf(after.config), [
    { name: 'A', from: 'client cursor ', waiting: [] },
    { name: 'B', from: 'default', waiting: [] },
    { name: 'C', from: 'client zed', waiting: [] },
  ])
})

t.test('a client that joins with another value replaces the value of the client before', async t => {
  const environment = new ProxyEnvironment({ env: {}, isPersons: true, tell })
  const written = text({ A: '${A}' }, { daemon: { shellEnv: false } })
  environment.bring({ A: 'old' }, 'one', (await read(environment, written)).config)
  const { config, env } = await read(environment, written)
  t.same(env, { A: 'old' })
  t.same(wantedBy(config), ['A'], 'clients are still asked for it')
  t.notOk(environment.bring({ A: 'old' }, 'two', config))
  t.notOk(environment.bring({}, 'three', config), 'one that lacks it changes nothing')
  t.ok(environment.bring({ A: 'new' }, 'four', config))
  t.same((await read(environment, written)).env, { A: 'new' })
})

t.test('the variables of clients, and the variables requested from them, are bounded', async t => {
  const environment = new ProxyEnvironment({ env: {}, isPersons: true, tell })
  const names = Array.from({ length: 1000 }, (_, at) => `NAME_OF_A_VARIABLE_${at}`)
  const env = Object.fromEntries(names.map(name => [name, `\${${name}}`]))
  const { config } = await read(environment, text(env, { daemon: { shellEnv: false } }))
  const wanted = wantedBy(config)
  t.ok(JSON.stringify(wanted).length <= 4096 + 2)
  t.throws(
    () => environment.bring(Object.fromEntries(wanted.map(name => [name, 'x'.repeat(60_000)])), 'c', config),
    { code: 'too-large', message: 'the variables of clients exceed 262144 bytes' },
  )
})

t.test('an editor’s own variables are not accepted from clients', async t => {
  const environment = new ProxyEnvironment({ env: {}, isPersons: true, tell })
  const { config } = await environment.load((env, later) =>
    parseConfig(text({ A: '${pathSeparator}' }), '/nowhere/mcp.json', env, later),
  )
  t.same(config?.waiting, [])
})

t.test(
  'a daemon takes what the shell says before what it was started with',
  { skip: skipWithout.modes },
  async t => {
    const SHELL = shellOf(t, 'export LANG=of-shell PATH=/of/shell:$PATH; eval "$2"')
    const environment = new ProxyEnvironment({
      env: { SHELL, PATH, LANG: 'x', ONLY: 'o' },
      isPersons: false,
      tell,
    })
    const { env } = await read(environment, text({ LANG: '${LANG}', ONLY: '${ONLY}' }))
    t.same(env, { LANG: 'of-shell', ONLY: 'o' })
    t.match(await environment.forPrograms(), { PATH: `/of/shell:${PATH}`, LANG: 'x', ONLY: 'o' })
    const own = new ProxyEnvironment({ env: { SHELL, PATH, LANG: 'x' }, isPersons: true, tell })
    t.match((await read(own, text({ LANG: '${LANG}' }))).env, { LANG: 'x' })
    t.match(await own.forPrograms(), { PATH }, 'a terminal has its PATH already')
  },
)

t.test('a shell that takes long is heard when it has answered', { skip: skipWithout.modes }, async t => {
  const go = join(t.testdir(), 'go')
  const SHELL = join(t.testdirName, 'shell')
  writeFileSync(
    SHELL,
    `#!/bin/sh\nwhile ! test -e '${go}'; do sleep 0.05; done\nexport LATE=late\neval "$2"\n`,
    { mode: 0o755 },
  )
  const environment = new ProxyEnvironment({ env: { SHELL, PATH }, isPersons: false, tell, shellWaitMs: 10 })
  let isLate = false
  environment.onLate = () => {
    isLate = true
  }
  t.same((await read(environment, text({ LATE: '${LATE}' }))).config.waiting.length, 1)
  writeFileSync(go, '')
  await until(() => isLate, 'the answer')
  t.same((await read(environment, text({ LATE: '${LATE}' }))).env, { LATE: 'late' })
})
