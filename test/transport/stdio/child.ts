import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { systemClock } from '../../../src/kernel/async/clock.js'
import { inheritedEnv } from '../../../src/kernel/machine/inherited-env.js'
import type { DeathGuard } from '../../../src/transport/process/death-guard.js'
import { processTable } from '../../../src/transport/process/process-table.js'
import { processTree } from '../../../src/transport/process/process-tree.js'
import { type ChildChannel, type ChildOptions, spawnChild } from '../../../src/transport/stdio/child.js'
import { FakeClock } from '../../support/fake-clock.js'
import { isRunning, isWindows, KILLED, skipWithout, until } from '../../support/processes.js'
import { boundsOf } from '../../support/values.js'
import { Recorder, recordedLog } from '../../support/wire/channel-pair.js'

const skip = skipWithout.groups
/** Longer than anything takes: what is waited for comes, whatever the machine has to do. */
const patient = { closeMs: 60_000, termMs: 60_000, graceMs: 60_000, exitWaitMs: 60_000 }
/** For children that do not go by themselves. */
const quick = { ...patient, closeMs: 60, termMs: 60 }
const echo = "process.stdin.on('data', c => process.stdout.write(c)).on('end', () => process.exit(0));"

/** A guard that only remembers. */
function recordedGuard() {
  const watched: number[] = []
  const forgotten: number[] = []
  const guard: DeathGuard = {
    pid: undefined,
    watch: pid => void watched.push(pid),
    forget: pid => void forgotten.push(pid),
    close: () => undefined,
  }
  return { guard, watched, forgotten }
}

function start(t: Test, code: string, more: Partial<ChildOptions> = {}) {
  const { log, lines } = recordedLog()
  const guarded = recordedGuard()
  const child = spawnChild({
    command: process.execPath,
    args: ['-e', code],
    env: inheritedEnv(process.env, {}, process.platform),
    log,
    clock: systemClock,
    guard: guarded.guard,
    times: quick,
    ...more,
  })
  t.teardown(() => child.close())
  return { child, lines, listener: new Recorder(), ...guarded }
}

const send = (child: ChildChannel, text: string) => child.send(Buffer.from(text))

t.test('messages go to the child and come back, one line each, with any content', async t => {
  const { child, listener, watched, forgotten } = start(t, echo, { times: patient })
  child.listen(listener)
  const texts = ['{"a":"ä世界👩‍🚀"}', '[1,2]', ` {"big":"${'€'.repeat(100_000)}"}`, '{}']
  for (const text of texts) send(child, text)
  const body = Buffer.from('ü'.repeat(100_000))
  child.send({ head: '{"\xc3\xa4":"', body, tail: '"}' })
  send(child, '{"a":1}')
  const all = [...texts, `{"ä":"${body.toString()}"}`, '{"a":1}']
  await listener.hasMessages(all.length)
  t.same(listener.messages, all)
  t.same(watched, [child.pid])
  await child.close()
  t.same(listener.ends, [undefined])
  t.same(child.exit, { code: 0, signal: null })
  t.same(forgotten, [child.pid], 'forgotten once the group is gone')
  t.equal(send(child, '{}'), false, 'sending afterwards does nothing')
})

t.test('a character that is split over chunks stays whole', async t => {
  const { child, listener } = start(
    t,
    `const b = Buffer.from('{"x":"世"}\\r\\n'); let i = 0
     const next = () => { if (i < b.length) process.stdout.write(b.subarray(i, ++i), () => setImmediate(next)) }
     next(); process.stdin.resume()`,
  )
  child.listen(listener)
  await listener.hasMessages(1)
  t.same(listener.messages, ['{"x":"世"}'])
})

t.test('banners and other noise on stdout are not messages, and are logged once', async t => {
  const { child, listener, lines } = start(
    t,
    `console.log('\\u001b[32mServer ready\\u001b[0m ${'x'.repeat(500)}\\n\\n{"id":1}\\nnpm notice\\n  [2]\\nnull')`,
  )
  child.listen(listener)
  await listener.isClosed()
  t.same(listener.messages, ['{"id":1}', '  [2]'])
  const warned = lines.filter(([level]) => level === 'warn')
  t.equal(warned.length, 1)
  const { line } = (warned[0]?.[1] ?? {}) as { line?: string }
  t.match(line, /^Server ready x+ \[cut\]$/)
  t.equal(line?.length, 256)
  t.ok(lines.some(([level, facts]) => level === 'debug' && 'lines' in facts && facts.lines === 3))
})

t.test('a line over the limit is skipped and the next one arrives', async t => {
  const { child, listener } = start(
    t,
    `console.log('{' + 'x'.repeat(5000) + '}\\n{"id":1}'); process.stdin.resume()`,
    {
      times: quick,
      bounds: boundsOf({ message: 1000 }),
    },
  )
  child.listen(listener)
  await listener.hasMessages(1)
  t.same(listener.messages, ['{"id":1}'])
  t.same(listener.skips, [5002])
})

t.test('a child that writes 10 MiB to stderr is not held up, and its last words are kept', async t => {
  const { child, listener, lines } = start(
    t,
    `process.stderr.write('e'.repeat(1023).concat('\\n').repeat(10240), () => {
       process.stderr.write('the last words\\n', () => console.log('{}')) }); process.stdin.resume()`,
  )
  child.listen(listener)
  await listener.hasMessages(1)
  await until(() => child.lastStderr().at(-1) === 'the last words', 'the last words')
  t.equal(child.lastStderr().length, 20)
  t.ok(lines.length < 1000)
})

t.test('a child that does not read makes us wait, and drained tells when it reads again', async t => {
  const { child, listener } = start(t, `setTimeout(() => { ${echo} }, 300)`)
  child.listen(listener)
  const big = Buffer.from(`{"x":"${'y'.repeat(1_000_000)}"}`)
  t.equal(child.send(big), false)
  t.ok(child.queuedBytes > 900_000)
  t.equal(listener.drains, 0)
  await until(() => listener.drains > 0, 'drained')
  t.equal(child.queuedBytes, 0)
  await listener.hasMessages(1)
})

t.test('a listener that pauses is left alone until it resumes', async t => {
  const { child, listener } = start(
    t,
    `let n = 0; const line = JSON.stringify({ x: 'y'.repeat(65536) }) + '\\n'
     const more = () => { while (n < 100 && process.stdout.write(line)) n++; if (n < 100) process.stdout.once('drain', more) }
     process.stdin.resume(); process.stdin.once('data', more)`,
  )
  child.listen(listener)
  child.pause()
  send(child, '{}')
  await new Promise(resolve => setTimeout(resolve, 200))
  t.equal(listener.messages.length, 0)
  child.resume()
  await listener.hasMessages(100)
})

t.test('what a child says before anybody listens is not lost, even when it has exited', async t => {
  const { child, listener } = start(t, `console.log('{"early":1}'); process.exit(3)`)
  await until(() => child.exit !== undefined, 'the exit')
  await new Promise(resolve => setTimeout(resolve, 50))
  child.listen(listener)
  const fault = await listener.isClosed()
  t.same(listener.messages, ['{"early":1}'])
  t.match(fault, { code: 'disconnected', message: 'exited with code 3' })
})

t.test('the end of a child is told once, with how it ended and what it said last', async t => {
  const rows = [
    [`console.error('boom'); process.exit(1)`, 'exited with code 1'],
    [`console.error('boom'); process.kill(process.pid, 'SIGKILL')`, KILLED],
    [`console.error('boom')`, 'exited with code 0'],
  ] as const
  for (const [code, words] of rows) {
    const { child, listener, forgotten } = start(t, code)
    child.listen(listener)
    t.match(await listener.isClosed(), { code: 'disconnected', message: words })
    t.same(child.lastStderr(), ['boom'])
    await until(() => forgotten.length === 1, 'the guard forgets')
    send(child, '{}')
    await child.close()
    t.equal(listener.ends.length, 1)
  }
})

t.test('what cannot be started is told through the listener, with what to change', async t => {
  const dir = t.testdir({ 'not-executable': '', 'no-format': '' })
  writeFileSync(join(dir, 'no-format'), '\u0000\u0001', { mode: 0o755 })
  const rows: (readonly [Partial<ChildOptions>, RegExp])[] = [
    [
      { command: '/nonexistent/program' },
      /^could not be started: command not found \(ENOENT\): check "command"$/,
    ],
    [{ cwd: join(dir, 'missing') }, /working directory not found \(ENOENT\): check "cwd"/],
    [{ args: ['secret\u0000'] }, /^could not be started: "command", "args" and "env" must not hold NUL/],
    [{ env: { A: 'secret\u0000' } }, /NUL/],
  ]
  // Windows knows programs by their names, and has other limits.
  if (!isWindows) {
    rows.push(
      [{ command: join(dir, 'not-executable') }, /permission denied \(EACCES\)/],
      [{ args: ['x'.repeat(10_000_000)] }, /E2BIG/],
    )
  }
  for (const [more, words] of rows) {
    const { child, listener, watched } = start(t, '', more)
    t.equal(child.pid, undefined)
    send(child, '{}')
    child.listen(listener)
    t.same(listener.ends, [], 'not before listen has returned')
    const fault = await listener.isClosed()
    t.equal(fault?.code, 'unavailable')
    t.match(fault?.message, words)
    t.notMatch(fault?.message, /secret/)
    t.same(watched, [])
    await child.close()
    t.equal(listener.ends.length, 1)
  }
})

t.test('a start that failed before anybody listens is told all the same', { skip }, async t => {
  const { child, listener } = start(t, '', { command: '/nonexistent/program' })
  await new Promise(resolve => setTimeout(resolve, 50))
  child.listen(listener)
  t.same(listener.ends, [])
  t.match(await listener.isClosed(), { code: 'unavailable' })
})

t.test(
  'a child that exits while a grandchild holds its pipe is gone soon, and so is the grandchild',
  { skip },
  async t => {
    const { child, listener } = start(
      t,
      `const c = require('child_process').spawn('sleep', ['60'], { stdio: 'inherit' })
     console.log('[' + c.pid + ']'); process.exit(7)`,
      { times: { ...quick, exitWaitMs: 1000 } },
    )
    child.listen(listener)
    t.match(await listener.isClosed(), { message: 'exited with code 7' })
    const [grandchild = 0] = JSON.parse(listener.messages[0] ?? '[]') as number[]
    t.ok(grandchild > 1)
    await until(() => !isRunning(grandchild), 'the end of the grandchild')
  },
)

t.test('a child without its pipes counts as gone, and is ended', { skip }, async t => {
  const live = 'setInterval(() => {}, 1000);'
  const rows = [
    [`${live} process.stdin.resume(); require('fs').closeSync(1)`, 'closed its output and kept running'],
    [`${live} require('fs').closeSync(0); console.log('{}')`, 'closed its input and kept running'],
  ] as const
  for (const [code, words] of rows) {
    const { child, listener } = start(t, code, { times: { ...quick, exitWaitMs: 100 } })
    child.listen(listener)
    if (words.includes('input')) {
      await listener.hasMessages(1)
      send(child, '{}')
    }
    t.match(await listener.isClosed(), { code: 'disconnected', message: words })
    await until(() => !isRunning(child.pid ?? 0), 'the end of the child')
    await child.close()
    t.equal(listener.ends.length, 1)
  }
})

t.test('close ends a child and a grandchild that ignore everything, and is told once', { skip }, async t => {
  const { child, listener, forgotten } = start(t, '', {
    args: [fileURLToPath(new URL('../../fixtures/stubborn.mjs', import.meta.url))],
  })
  child.listen(listener)
  await listener.hasMessages(1)
  const pids = JSON.parse(listener.messages[0] ?? '[]') as number[]
  t.equal(child.close(), child.close(), 'one ladder for all callers')
  await child.close()
  t.same(pids.map(isRunning), [false, false])
  t.same(listener.ends, [undefined])
  t.same(forgotten, [child.pid])
})

t.test('an answer that a child gives after the end of its stdin still arrives', async t => {
  const { child, listener } = start(
    t,
    `process.stdin.resume().on('end', () => console.log('{"last":1}')); console.log('{}')`,
    { times: patient },
  )
  child.listen(listener)
  await listener.hasMessages(1)
  await child.close()
  t.same(listener.messages, ['{}', '{"last":1}'])
})

t.test('a child without a listener can be closed', async t => {
  const { child, forgotten } = start(t, `console.log('x'.repeat(1e6)); process.stdin.resume()`)
  await child.close()
  t.same(forgotten, [child.pid])
})

t.test('arguments reach the child unchanged: there is no shell', async t => {
  const dir = mkdtempSync(join(t.testdir(), 'a b'))
  const args = ['$(id)', '`id`', 'a b', '"', "'", '*', ';', '|', '%PATH%', '']
  const { child, listener } = start(t, '', {
    args: ['-e', 'console.log(JSON.stringify([process.argv.slice(1), process.cwd()]))', '--', ...args],
    cwd: dir,
  })
  child.listen(listener)
  await listener.isClosed()
  const [seen, cwd] = JSON.parse(listener.messages[0] ?? '[]') as [string[], string]
  t.same(seen, args)
  t.ok(cwd.endsWith(dir.slice(-8)))
})

const DEAF = 'setInterval(() => undefined, 1000)'

t.test(
  'a child that does not read its input for the stall limit is lost, so that it can be restarted',
  async t => {
    const clock = new FakeClock()
    const bounds = boundsOf({ stall: 30_000 }, clock)
    const { child, listener } = start(t, DEAF, { clock, bounds, times: patient })
    child.listen(listener)
    send(child, 'x'.repeat(3 * 1024 * 1024))
    clock.advance(29_000)
    t.same(listener.ends, [])
    clock.advance(2_000)
    t.match(listener.ends, [{ code: 'disconnected', message: 'did not read its input' }])
    t.equal(bounds.hits.stall?.hits, 1)
    child.resume()
    await until(() => {
      clock.advance(60_000)
      return child.exit !== undefined
    }, 'its end')
  },
)

t.test('a child with far more in front of it than it may have is lost at once', async t => {
  const bounds = boundsOf({ serverQueue: 100_000 })
  const { child, listener } = start(t, DEAF, { bounds })
  child.listen(listener)
  for (let message = 0; message < 20; message += 1) send(child, 'x'.repeat(100_000))
  await until(() => listener.ends.length > 0, 'the end')
  t.match(listener.ends, [{ code: 'disconnected', message: 'did not read its input' }])
  t.ok(bounds.hits.serverQueue)
})

t.test('a child leads a group of its own only where there are groups', { skip }, async t => {
  for (const [platform, isLeader] of [
    [process.platform, true],
    ['win32', false],
  ] as const) {
    const run = (_file: string, args: readonly string[]) =>
      Promise.resolve(void process.kill(Number(args[1]), 'SIGKILL'))
    const { child } = start(t, echo, { tree: processTree({ platform, run }) })
    const row = (await processTable().rows()).find(({ pid }) => pid === child.pid)
    t.ok(row)
    t.equal(row?.group === child.pid, isLeader)
    await child.close()
    t.equal(isRunning(child.pid ?? 0), false)
  }
})
