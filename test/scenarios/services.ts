import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { ShimClient } from '../support/client/shim-client.js'
import { endWith, OWN_GROUP, skipWithout, until } from '../support/processes.js'
import { asked, configured, installed, pidAt, placeFor } from '../support/proxy/shared-daemon.js'
import { runHere } from '../support/proxy/start.js'

const MANAGER = fileURLToPath(new URL('../fixtures/service-manager.mjs', import.meta.url))

/** Has a manager of services keep a proxy, of the installation that a shim is part of. */
const service = async (t: Test, file: string, shim: string) => {
  const log = join(dirname(file), 'ends')
  writeFileSync(log, '')
  const script = resolve(shim, '../mcp-proxy.js')
  const words = [process.execPath, script, 'serve', '--config', file, '--service']
  const env = { ...process.env, FAKE_LOG: log, FAKE_START: JSON.stringify(words) }
  const child = spawn(process.execPath, [MANAGER, 'keep'], { ...OWN_GROUP, stdio: 'ignore', env })
  endWith(t, child)
  const { socket } = placeFor(file)
  await until(async () => (await pidAt(socket)) !== undefined, 'the service')
  t.teardown(async () => {
    child.kill('SIGTERM')
    await until(async () => (await pidAt(socket)) === undefined, 'its end')
  })
  return { socket, ends: () => readFileSync(log, 'utf8') }
}

const CONFIG = { listen: { port: 0 } }

t.test(
  'a service that is still old after it has handed over serves newer clients',
  { skip: skipWithout.links },
  async t => {
    const file = configured(t, undefined, CONFIG)
    const [older, newer] = [installed(t, '0.1.0'), installed(t, '0.2.0')]
    const { socket, ends } = await service(t, file, older)
    const before = new ShimClient(t, file, { bin: older })
    await before.initialize()
    t.match((await asked(socket, '/v1/status'))?.body, { version: '0.1.0', kept: 'systemd' })
    const client = new ShimClient(t, file, { bin: newer })
    t.match(await client.initialize(), { result: { serverInfo: { version: '0.1.0' } } })
    t.match(
      client.running.err,
      /^mcp-proxy: D043: served by mcp-proxy 0\.1\.0, .*; fix: mcp-proxy service install\n$/,
    )
    t.match(
      await before.call('w__wait', { note: 1 }),
      { note: 1 },
      'as it goes on with those that were there',
    )
    t.equal(ends(), 'ended with 75\n', 'it was asked once, and nobody else has started a daemon')
    t.equal((await asked(socket, '/v1/status'))?.body.kept, 'systemd')
  },
)

t.test('clients of a service that is killed wait for it to come back', async t => {
  const file = configured(t, undefined, CONFIG)
  const { socket, ends } = await service(t, file, installed(t, '0.1.0'))
  const client = new ShimClient(t, file)
  await client.initialize()
  process.kill((await pidAt(socket)) ?? 0, 'SIGKILL')
  t.match(await client.answer(client.ask('tools/list')), { result: { tools: [{ name: 'w__wait' }] } })
  t.match(await client.call('w__wait', { note: 1 }), { note: 1 })
  t.equal((await asked(socket, '/v1/status'))?.body.kept, 'systemd')
  t.equal(ends(), 'ended with SIGKILL\n')
  t.equal(client.running.err, '')
  await client.leave()
  const before = await pidAt(socket)
  const { out } = await runHere(t, 'daemon', 'restart', '--config', file)
  t.equal(out, `mcp-proxy runs, pid ${await pidAt(socket)}\n`)
  t.not(await pidAt(socket), before)
  t.equal(ends(), 'ended with SIGKILL\nended with 75\n', 'it is the manager who starts it again')
})
