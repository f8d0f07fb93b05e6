import t from 'tap'
import { ShimClient } from '../../support/client/shim-client.js'
import { skipWithout } from '../../support/processes.js'
import { asked, configured, placeFor, waiting } from '../../support/proxy/shared-daemon.js'
import { runHere, tiny } from '../../support/proxy/start.js'

t.test('call and list use the servers of the running daemon', async t => {
  const file = configured(t)
  const client = new ShimClient(t, file)
  await client.initialize()
  const { pid } = await client.call('w__wait')
  const run = (...words: string[]) => runHere(t, ...words, '--config', file)
  t.match(JSON.parse((await run('call', 'w__wait', 'note=here')).out), { pid, note: 'here' })
  const { out, code } = await run('list', '--json')
  t.equal(code, 0)
  t.match(JSON.parse(out), { servers: [{ name: 'w', state: 'ready' }], tools: [{ name: 'w__wait' }] })
  t.match(await run('list', '--tokens'), { code: 0, out: /^w +1 /m })
  t.not(JSON.parse((await run('call', 'w__wait', '--alone')).out).pid, pid, 'or a copy')
  t.match(await run('call', 'w__wai'), { code: 2, err: /no tool w__wai; did you mean w__wait\?/ })
  const { body } = (await asked(placeFor(file).socket, '/v1/sessions')) ?? {}
  t.equal(body?.sessions.length, 1, 'and leave')
  await client.leave()
})

t.test('tools of a server that rests in the daemon are listed and called', async t => {
  const file = configured(t)
  const run = (...words: string[]) => runHere(t, ...words, '--config', file)
  await run('daemon', 'start')
  t.match(await run('call', 'w__wait'), { code: 0 })
  await run('daemon', 'restart')
  t.match(await run('list'), { code: 0, out: /w__wait/ })
  t.match(await run('call', 'w__wait', 'note=again'), { code: 0, out: /again/ })
})

t.test('a server that the daemon cannot start is told with the reason', async t => {
  const file = configured(t, { ...waiting(), dead: tiny('--die') })
  const run = (...words: string[]) => runHere(t, ...words, '--config', file)
  await run('daemon', 'start')
  t.match(await run('list'), { code: 0, out: /dead +failed.*exited with code 3/ })
  t.match(await run('call', 'dead__x'), { code: 4, err: /exited with code 3/ })
})

t.test('a daemon that hangs is told, and no copy is started', { skip: skipWithout.signals }, async t => {
  const file = configured(t)
  const run = (...words: string[]) => runHere(t, ...words, '--config', file)
  const { pid } = JSON.parse((await run('daemon', 'start', '--json')).out)
  process.kill(pid, 'SIGSTOP')
  t.teardown(() => process.kill(pid, 'SIGCONT'))
  t.match(await run('call', 'w__wait'), { code: 4, out: '', err: /does not answer \(D042\)[\s\S]*--alone/ })
})
