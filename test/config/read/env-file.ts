import { join } from 'node:path'
import t, { type Test } from 'tap'
import { filesOf, parseConfig } from '../../../src/config/parse.js'
import { secretsOf } from '../../../src/config/read/secrets.js'
import type { StdioTransport } from '../../../src/config/types.js'

const load = (t: Test, entry: object, files: Readonly<Record<string, string>> = {}) => {
  const folder = t.testdir(files)
  const file = join(folder, 'mcp.json')
  const text = JSON.stringify({ mcpServers: { s: { command: 'x', ...entry } } })
  const loaded = parseConfig(text, file, { HOME: '/home/a', TOKEN: 't0ken', DIR: 'sub' })
  const transport = loaded.config?.servers[0]?.transport as StdioTransport | undefined
  return { folder, loaded, env: { ...transport?.env }, unset: transport?.unsetEnv, transport }
}

t.test('a program gets the variables of its envFile, and its own env takes precedence', async t => {
  const text =
    '# comment\nA=1 # one\nexport B="two\\nlines"\nC=\'${TOKEN}-#\' \nD=over\nE = spaced\nF=gone\nG.h=`i`\n'
  const { env, unset } = load(t, { envFile: '.env', env: { D: 'own', F: null } }, { '.env': text })
  t.same(env, { A: '1', B: 'two\nlines', C: 't0ken-#', D: 'own', E: 'spaced', 'G.h': 'i' })
  t.same(unset, ['F'])
})

t.test('values may name variables of earlier lines and of the proxy; other text stays', async t => {
  const text =
    'A=one\r\nB=${A}-${TOKEN}\r\nTOKEN=mine\r\nC=${TOKEN}\r\nD=${NOPE}\r\nE=${NOPE:-d}\r\nF=$A\r\nG=${cwd}\r\n'
  const { env, transport } = load(t, { envFile: '.env' }, { '.env': text })
  t.match(env, { B: 'one-t0ken', C: 'mine', D: '${NOPE}', E: 'd', F: '$A' })
  t.match(transport, { env: { G: '$${cwd}' }, cwd: /./ }, 'a folder of a client is not meant')
})

t.test('its path is relative to the configuration, and may hold variables', async t => {
  const { folder, loaded, env } = load(t, { envFile: '${DIR}/x.env' }, { sub: { 'x.env': 'A=1' } as never })
  t.same(env, { A: '1' })
  t.ok(filesOf(loaded).includes(join(folder, 'sub', 'x.env')), 'it is watched')
})

t.test('a file that cannot be read leaves its server out, and the error names file and key', async t => {
  const { folder, loaded } = load(t, { envFile: 'gone.env' })
  const path = join(folder, 'gone.env')
  t.match(loaded.problems, [
    { severity: 'error', id: 'D023', key: 'mcpServers.s.envFile', message: `the file ${path} is not there` },
  ])
  t.same(loaded.config?.servers, [])
  t.ok(filesOf(loaded).includes(path), 'a file that is created later is noticed')
  for (const envFile of ['', 5, ['a.env'], '${NOPE}/a.env', '${workspaceFolder}/.env'])
    t.match(load(t, { envFile }).loaded.problems, [{ severity: 'error', key: 'mcpServers.s.envFile' }])
  const wrong: [string, unknown, RegExp][] = [
    ['a folder', {}, /\.env is not a file$/],
    ['a long file', `A=${'x'.repeat(70_000)}`, /\.env is longer than 64 KiB$/],
    ['binary data', 'A=\0', /\.env contains a NUL character$/],
  ]
  for (const [name, content, message] of wrong)
    t.match(load(t, { envFile: '.env' }, { '.env': content as string }).loaded.problems, [{ message }], name)
})

t.test('all values of the file are secret, except those of the system', async t => {
  const { loaded } = load(t, { envFile: '.env' }, { '.env': 'A=plainword\nHOME=/home/b\nPORT=3000\n' })
  const secrets = loaded.config && secretsOf(loaded.config)
  t.ok(secrets?.includes('plainword'))
  t.notOk(secrets?.includes('/home/b') || secrets?.includes('3000'))
})

t.test('a remote server ignores envFile and inheritEnv, with a warning', async t => {
  const entry = { command: undefined, url: 'http://127.0.0.1:1/', envFile: '.env', inheritEnv: true }
  t.match(load(t, entry).loaded.problems, [
    { severity: 'warning', key: 'mcpServers.s.envFile', message: 'ignored: only a program has this' },
    { severity: 'warning', key: 'mcpServers.s.inheritEnv' },
  ])
})

t.test('inheritEnv arrives only where it is true', async t => {
  t.equal(load(t, { inheritEnv: true }).transport?.inheritEnv, true)
  t.notOk('inheritEnv' in (load(t, { inheritEnv: false }).transport ?? {}))
  t.match(load(t, { inheritEnv: 'yes' }).loaded.problems, [{ key: 'mcpServers.s.inheritEnv' }])
})
