import { writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { RawClient } from '../../support/client/raw-client.js'
import { tracedImports, until } from '../../support/processes.js'
import { configFile, runHere, startBin, tiny } from '../../support/proxy/start.js'

const DIES = { command: process.execPath, args: ['-e', "console.error('out of luck'); process.exit(3)"] }

const start = async (
  t: Test,
  file = configFile(t, { one: { ...tiny(), tools: { deny: ['fa*'] } }, dies: DIES }, { startupWait: '60s' }),
) => {
  const proxy = startBin(t, ['serve', '--config', file, '--port', '0'])
  const url = (await proxy.line(/listening/)).split(' ').at(-1) ?? ''
  const client = new RawClient(url)
  await client.initialize()
  await client.request('tools/list')
  await until(async () => (await runHere(t, 'status', '--config', file)).code === 0, 'the record')
  return { proxy, file, client }
}

t.test('why explains a tool, a server and an error, with code 1 if a request would fail', async t => {
  const { proxy, file, client } = await start(t)
  const why = (name: string, ...more: string[]) => runHere(t, 'why', name, '--config', file, ...more)
  const shown = await why('one__echo')
  t.equal(shown.code, 0)
  t.match(
    shown.out,
    /^one__echo: shown, can be called\n {2}server +one, ready for \d+ s \(stdio, 2025-11-25\), listed \d+ s ago\n {2}own name +echo\n/,
  )
  const hidden = await why('one__fail')
  t.equal(hidden.code, 1)
  t.match(hidden.out, /^one__fail: not shown, cannot be called\n/)
  t.match(hidden.out, /deny.*fa\*.*\.json:\d+:\d+\)/s)
  t.match(JSON.parse((await why('one__fail', '--json')).out), {
    version: 1,
    query: 'one__fail',
    answered: false,
  })
  t.match(await why('one'), { code: 0, out: /^one: ready\n/ })
  // Now and then it is being started again.
  const dead = /^dies: (?!ready)\w+\n +\w+ +D031: exited with code 3\n[\s\S]*out of luck/
  await until(async () => dead.test((await why('dies')).out), 'its end')
  t.match(await why('nobody__knows'), { code: 1, out: /^nobody__knows: unknown/ })
  await client.call(1, 'one__nothing')
  const { last } = await client.request('tools/call', { name: 'one__nothing', arguments: {} })
  const id = (last.message.error as { data: { errorId: string } }).data.errorId
  const error = await why(id)
  t.equal(error.code, 0)
  t.match(
    error.out,
    new RegExp(`^${id}: an error of this run\\n +server +one\\n +called +one__nothing\\n +at +\\d`),
  )
  t.match(error.out, /message +Unknown tool: one__nothing/)
  t.match(await why('aaaa-1'), { code: 1, out: /^aaaa-1: not known/ })
  const other = startBin(t, ['bridge', '--port', '0', '--', process.execPath, '-e', '0'])
  await other.line(/http/)
  await until(async () => (await runHere(t, 'why', 'one')).code === 2, 'the second record')
  t.match((await runHere(t, 'why', 'one')).err, /several proxies run; choose one with --config/)
  for (const { child, exited } of [proxy, other]) {
    child.kill('SIGTERM')
    await exited
  }
})

t.test(
  'who asks a running proxy loads nothing that serves, reads the configuration or parses flags',
  async t => {
    const { proxy, file } = await start(t, configFile(t, { one: tiny() }, { startupWait: '60s' }))
    for (const words of [['why', 'one'], ['status'], ['logs']]) {
      const { nodeArgs, env, read } = tracedImports(t)
      const asked = startBin(t, [...words, '--config', file], { nodeArgs, env })
      t.equal(await asked.exited, 0)
      t.same(read(), ['picocolors'], words.join(' '))
    }
    proxy.child.kill('SIGTERM')
    await proxy.exited
  },
)

t.test('why goes by the configuration where no proxy runs, and starts nothing', async t => {
  const file = configFile(t, { one: { ...tiny(), tools: { deny: ['fa*'] } } })
  t.match(await runHere(t, 'why', 'one', '--config', file), { code: 0, out: /^one: / })
  t.match(await runHere(t, 'why', 'two', '--config', file), { code: 1, out: /^two: unknown/ })
  writeFileSync(file, '{')
  t.match(await runHere(t, 'why', 'one', '--config', file), { code: 3, err: /cannot be used/ })
})

t.test('logs print recent lines, filter them by server and time, and follow new ones', async t => {
  const { proxy, file } = await start(t)
  const logs = (...more: string[]) => runHere(t, 'logs', '--config', file, ...more)
  const all = await logs()
  t.equal(all.code, 0)
  t.match(all.out, /^\d\d:\d\d:\d\d info {2}one: server is ready/m)
  const dies = await logs('dies')
  t.match(dies.out, /dies: out of luck/)
  t.notMatch(dies.out, / one: /)
  const lines = (await logs('dies', '--json', '--since', '10m')).out.trim().split('\n')
  t.ok(lines.map(line => JSON.parse(line).server).every(server => server === 'dies'))
  t.notMatch((await logs('--level', 'error')).out, /server is ready/)
  t.match(await logs('nobody'), { code: 0, out: '', err: /no matching lines; mcp-proxy why nobody/ })
  t.match(await logs('--since', 'soon'), { code: 2, err: /--since must be a time such as 10m, not "soon"/ })
  const following = startBin(t, ['logs', '-f', '--config', file])
  await following.line(/server is ready/)
  proxy.child.kill('SIGTERM')
  await proxy.exited
  const { proxy: next, client } = await start(t, file)
  await client.call(1, 'one__echo')
  await until(() => following.out.match(/server is ready/g)?.length === 2, 'the lines of the next proxy')
  t.match(following.err, /continuing with the next proxy/)
  next.child.kill('SIGTERM')
  t.equal(await following.exited, 0, 'nobody came any more')
  t.match(following.err, /the proxy has ended/)
  t.match(await logs(), { code: 4, err: /no proxy of this user runs here/ })
})
