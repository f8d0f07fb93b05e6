import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { ShimClient } from '../support/client/shim-client.js'
import { skipWithout, until } from '../support/processes.js'
import { asked, configured, placeFor, WAITING } from '../support/proxy/shared-daemon.js'
import { runHere, setEnv, startBin } from '../support/proxy/start.js'

const SKIP = { skip: skipWithout.modes }

/** Servers that answer with what their variable `KEY` holds. */
const keyed = (keys: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(keys).map(([name, KEY]) => [
      name,
      { command: process.execPath, args: [WAITING], sharing: 'all', env: { KEY } },
    ]),
  )

/** Has a program stand for the login shell of the user. */
const loginShell = (t: Test, file: string, script: string): void => {
  const shell = join(dirname(file), 'shell')
  writeFileSync(shell, `#!/bin/sh\n${script}\neval "$2"\n`, { mode: 0o755 })
  setEnv(t, { SHELL: shell })
}

const comesFrom = async (file: string): Promise<Record<string, string | undefined>> => {
  const { variables } = (await asked(placeFor(file).socket, '/v1/env'))?.body ?? {}
  return Object.fromEntries(variables.map(({ name, from }: Record<string, string>) => [name, from]))
}

const keyOf = async (client: ShimClient, server: string): Promise<unknown> =>
  (await client.call(`${server}__wait`))['key']

t.test(
  'a variable comes from envFile, then the login shell, then the latest client that has it',
  SKIP,
  async t => {
    const file = configured(t, keyed({ one: '${ONE}', two: '${TWO}', three: '${THREE}', four: '${FOUR:-d}' }))
    writeFileSync(join(dirname(file), 'secrets.env'), 'ONE=one-of-file\n')
    loginShell(t, file, 'export ONE=one-of-shell TWO=two-of-shell')
    const env = { ONE: 'one-of-client', TWO: 'two-of-client', THREE: 'three-of-client' }
    const client = new ShimClient(t, file, { env, args: ['--client', 'zed'] })
    await client.initialize()
    t.same(await Promise.all(['one', 'two', 'three', 'four'].map(name => keyOf(client, name))), [
      'one-of-file',
      'two-of-shell',
      'three-of-client',
      'd',
    ])
    const later = new ShimClient(t, file, { env: { THREE: 'three-of-another' } })
    await later.initialize()
    t.equal(await keyOf(later, 'three'), 'three-of-another', 'a client that joins later may bring a new key')
    t.match(await comesFrom(file), {
      ONE: 'envFile',
      TWO: 'login shell',
      THREE: 'client unknown',
      FOUR: 'default',
    })
    const shown = await runHere(t, 'status', '--env', '--config', file)
    t.match(shown, { code: 0, out: /^NAME +FROM.*^THREE +client unknown/ms })
    const all = [
      await runHere(t, 'status', '--env', '--json', '--config', file),
      await runHere(t, 'status', '--json', '--config', file),
      await runHere(t, 'daemon', 'logs', '--config', file),
    ]
    t.notMatch(JSON.stringify([shown, ...all]), /-of-(?:file|shell|client|another)/, 'no value is shown')
    t.match(await runHere(t, 'status', '--env', '--url', 'http://127.0.0.1:1'), { code: 2 })
    await Promise.all([client.leave(), later.leave()])
  },
)

t.test('a server that waits for a variable starts when a client brings it (D020)', SKIP, async t => {
  const file = configured(t, {
    ...keyed({ ready: 'x', later: '${LATER}' }),
    remote: { url: 'http://127.0.0.1:9/${NEVER}' },
  })
  loginShell(t, file, '')
  const { socket } = placeFor(file)
  const first = new ShimClient(t, file)
  await first.initialize()
  const status = (await asked(socket, '/v1/status'))?.body
  t.match(status?.servers, [
    { name: 'ready' },
    { name: 'later', state: 'waiting', why: /^D020: not set: LATER/ },
    { name: 'remote', state: 'waiting', transport: 'http', why: /D020/ },
  ])
  t.match((await runHere(t, 'status', '--config', file)).out, /^later +waiting .*D020: not set: LATER/m)
  t.match(await first.answer(first.ask('tools/list')), { result: { tools: [{ name: 'ready__wait' }] } })
  const second = new ShimClient(t, file, { env: { LATER: 'brought' } })
  await second.initialize()
  t.equal(await keyOf(second, 'later'), 'brought')
  await until(
    () => first.heard.some(({ method }) => method === 'notifications/tools/list_changed'),
    'the news for those who were there',
  )
  t.equal(await keyOf(first, 'later'), 'brought')
  t.match((await asked(socket, '/v1/status'))?.body.servers, [{}, { name: 'later', state: 'ready' }, {}])
  await Promise.all([first.leave(), second.leave()])
})

t.test('variables of clients are bounded, and only requested ones are accepted', SKIP, async t => {
  const file = configured(t, keyed({ a: '${A}', b: '${B}' }))
  loginShell(t, file, '')
  const client = new ShimClient(t, file)
  await client.initialize()
  const { socket } = placeFor(file)
  const post = async (body: unknown) =>
    await asked(socket, '/v1/env', 'POST', typeof body === 'string' ? body : JSON.stringify(body))
  for (const body of ['', '[]', '"A"', '{"A":1}', '{"A":"x\\u0000"}'])
    t.match(await post(body), { status: 400, body: { error: String } }, body)
  t.equal((await post({ A: 'x'.repeat(64 * 1024) }))?.status, 413)
  t.equal((await post({ PATH: '/evil', NODE_OPTIONS: '--evil', A: '' }))?.status, 200)
  t.match(await comesFrom(file), { A: undefined, B: undefined, PATH: undefined, NODE_OPTIONS: undefined })
  t.equal((await post({ A: 'a', B: 'b' }))?.status, 200)
  t.equal((await post({ A: 'other' }))?.status, 200)
  t.same(await Promise.all([keyOf(client, 'a'), keyOf(client, 'b')]), ['other', 'b'])
  await client.leave()
})

t.test('programs of a daemon are found on the PATH of the login shell', SKIP, async t => {
  const file = configured(t, { w: { command: 'only-there', args: [WAITING], sharing: 'all' } })
  writeFileSync(join(dirname(file), 'only-there'), `#!/bin/sh\nexec '${process.execPath}' "$@"\n`, {
    mode: 0o755,
  })
  loginShell(t, file, `PATH='${dirname(file)}':$PATH`)
  const client = new ShimClient(t, file)
  await client.initialize()
  t.match(await client.call('w__wait', { note: 1 }), { note: 1 })
  await client.leave()
})

t.test('without shellEnv no shell is asked', SKIP, async t => {
  const file = configured(t, keyed({ one: '${ONE:-none}' }), { daemon: { shellEnv: false } })
  loginShell(t, file, `export ONE=shell; : > '${join(dirname(file), 'asked')}'`)
  const client = new ShimClient(t, file)
  await client.initialize()
  t.equal(await keyOf(client, 'one'), 'none')
  t.notOk(existsSync(join(dirname(file), 'asked')))
  await client.leave()
})

t.test('serve in a terminal looks into its own environment first', SKIP, async t => {
  const file = configured(t, keyed({ one: '${ONE}', two: '${TWO}' }))
  writeFileSync(join(dirname(file), 'secrets.env'), 'ONE=file\n')
  loginShell(t, file, 'export ONE=shell TWO=shell')
  const serve = startBin(t, ['serve', '--config', file, '--port', '0'], { env: { ONE: 'terminal' } })
  await serve.line(/listening/)
  const client = new ShimClient(t, file)
  await client.initialize()
  t.same(await Promise.all([keyOf(client, 'one'), keyOf(client, 'two')]), ['terminal', 'shell'])
  t.match(await comesFrom(file), { ONE: 'environment', TWO: 'login shell' })
  await client.leave()
})
