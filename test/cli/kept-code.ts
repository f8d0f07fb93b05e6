import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import { installed } from '../support/proxy/shared-daemon.js'
import { INITIALIZE, startBin, TINY } from '../support/proxy/start.js'

// Coverage is counted in code that was compiled for it, and keeps none.
const env = { NODE_V8_COVERAGE: '' }
t.test('a service starts with the code that V8 made of it in an earlier start', async t => {
  t.testdir()
  const root = resolve(installed(t, '1.0.0'), '../..')
  const codes = () =>
    readdirSync(join(root, 'dist'))
      .filter(name => name.endsWith('.code'))
      .map(name => join(root, 'dist', name))
  const bin = join(root, 'bin/mcp-proxy.js')
  const serve = async (...words: string[]): Promise<void> => {
    const argv = ['bridge', '--to', 'stdio', '--', process.execPath, TINY]
    const proxy = startBin(t, argv, { bin, env })
    proxy.send(INITIALIZE)
    await proxy.line(/"id":1/)
    proxy.send({ method: 'notifications/initialized' }, { id: 2, method: 'tools/list' })
    t.match(await proxy.line(/"id":2/), '"name":"echo"')
    if (words.length > 0) {
      proxy.send({ id: 3, method: 'tools/call', params: { name: 'echo', arguments: { words } } })
      t.match(await proxy.line(/"id":3/), words.join())
    }
    proxy.child.stdin?.end()
    t.equal(await proxy.exited, 0)
    t.equal(proxy.err.includes('Error'), false, proxy.err)
  }
  for (const file of codes()) rmSync(file)

  await t.test('that ended without a call', async t => {
    await serve()
    const kept = codes()
    t.ok(kept.length > 2, kept.join())
    const writtenMs = kept.map(file => statSync(file).mtimeMs)
    await serve()
    t.same(codes(), kept)
    t.same(
      kept.map(file => statSync(file).mtimeMs),
      writtenMs,
      'it is written once',
    )
  })

  await t.test('that was called', async t => {
    const kept = codes()
    for (const file of kept) rmSync(file)
    await serve('hello')
    t.same(codes(), kept)
  })

  await t.test('which loads more when it is needed', async t => {
    for (const [argv, code] of [
      [['--version'], 0],
      [['serve', '--config', join(root, 'missing.json')], 3],
    ] as const) {
      const command = startBin(t, argv, { bin, env })
      t.equal(await command.exited, code, command.err)
      t.notMatch(command.err, /\.cjs|Warning/)
    }
  })

  await t.test('and without it, if that is damaged, which it fixes', async t => {
    const [file = ''] = codes()
    const { size } = statSync(file)
    const damages = [
      (file: string) => truncateSync(file),
      (file: string) => truncateSync(file, 1000),
      (file: string) => writeFileSync(file, Buffer.alloc(100_000)),
      (file: string) => writeFileSync(file, readFileSync(file).fill(0, 20_000)),
      (file: string) => writeFileSync(file, 'x'.repeat(100_000)),
    ]
    for (const damage of damages) {
      codes().forEach(damage)
      await serve()
      t.ok(statSync(file).size > size / 2)
    }
  })
})

t.test('commands that only read load none of the code that serves', async t => {
  const watch = `
const fs = require('node:fs')
const read = fs.readFileSync
let bytes = 0
fs.readFileSync = (file, ...more) => {
  const text = read(file, ...more)
  if (/part-\\w+\\.cjs$/.test(file)) bytes += text.length
  return text
}
process.on('exit', () => fs.writeSync(2, '\\nloaded ' + bytes + ';'))
`
  const NODE_OPTIONS = `--require ${JSON.stringify(join(t.testdir({ 'watch.cjs': watch }), 'watch.cjs'))}`
  for (const word of ['--version', 'status']) {
    const command = startBin(t, [word], { env: { ...env, NODE_OPTIONS } })
    await command.exited
    const [, bytes = ''] = /loaded (\d+);/.exec(command.err) ?? []
    t.ok(Number(bytes) > 100_000 && Number(bytes) < 600_000, `${word}: ${bytes} bytes`)
  }
})
