import { createHash } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Fault } from '../../../src/kernel/faults.js'
import { rawText } from '../../../src/kernel/json/text.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { failed, succeeded } from '../../../src/model/outcome.js'
import { openAudit } from '../../../src/telemetry/audit/audit-log.js'
import { verifyAudit } from '../../../src/telemetry/audit/verify.js'
import { FakeCall, type FakeClient } from '../../support/client/fake-client.js'
import { FakeClock } from '../../support/fake-clock.js'
import { isWindows, skipWithout, until } from '../../support/processes.js'
import { begin } from '../../support/proxy/records.js'

/** The lines of a file except those that begin or continue a chain. */
const linesOf = (file: string): Record<string, unknown>[] =>
  chainedLines(file).filter(({ audit }) => audit !== 'chain')

const chainedLines = (file: string): Record<string, unknown>[] =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as Record<string, unknown>)

const around = { clock: new FakeClock(), log: silentLogger }
const withArguments = false

const callAt = (audit: ReturnType<typeof openAudit>, name: string): void => {
  const call = new FakeCall(
    { id: 1, principal: 'local', info: rawText('{}') } as FakeClient,
    'tools/call',
    { name },
    false,
  )
  begin(call, audit.calls?.interceptors ?? []).end(succeeded(rawText('{}')))
}

t.test('audit lines are added to a file that only its user can read', async t => {
  const file = join(t.testdir(), 'audit.log')
  for (const name of ['first', 'second']) {
    const audit = openAudit({ to: { file }, withArguments }, around)
    callAt(audit, name)
    await audit.close()
  }
  t.match(linesOf(file), [{ name: 'first' }, { name: 'second' }])
  if (!isWindows) t.equal(statSync(file).mode & 0o777, 0o600)
})

t.test('steps of sign-ins are written down, of one kind and address only so often', async t => {
  const file = join(t.testdir(), 'audit.log')
  const audit = openAudit({ to: { file }, withArguments }, around)
  const step = { client: 'c\u0007', redirectHost: 'app.test', scopes: ['mcp', 'x'], address: '192.0.2.1' }
  audit.onGrant?.({ event: 'allowed', principal: 'person alice', ...step })
  for (let at = 0; at < 50; at += 1) audit.onGrant?.({ event: 'refused', ...step, why: 'wrong' })
  await audit.close()
  const lines = linesOf(file)
  t.match(lines[0], {
    ...{ audit: 'grant', time: String, event: 'allowed', principal: 'person alice' },
    ...{ redirectHost: 'app.test', scopes: 'mcp x', address: '192.0.2.1' },
  })
  t.notMatch(readFileSync(file, 'utf8'), '\\u0007')
  t.ok(lines.length < 20, String(lines.length))
})

t.test('a file that cannot be written to is told at once', async t => {
  const file = join(t.testdir(), 'nowhere', 'audit.log')
  t.throws(() => openAudit({ to: { file }, withArguments }, around), {
    code: 'unavailable',
    message: `cannot write the audit file ${file} (ENOENT): check "audit"`,
  })
})

t.test('a disk that fails later costs lines, and is told', { skip: skipWithout.fullDevice }, async t => {
  const logged: string[] = []
  const log = { ...silentLogger, error: (_: object, words: string) => void logged.push(words) }
  const audit = openAudit({ to: { file: '/dev/full' }, withArguments }, { ...around, log })
  callAt(audit, 'first')
  await audit.close()
  callAt(audit, 'late')
  await audit.close()
  t.same(logged, [
    'cannot write to the audit file; trying again',
    'dropped audit lines: the disk failed or is too slow',
  ])
})

t.test(
  'a disk that fails for a while costs the lines of that time',
  { skip: skipWithout.fullDevice },
  async t => {
    const dir = t.testdir()
    const file = join(dir, 'audit.log')
    symlinkSync('/dev/full', file)
    const logged: object[] = []
    const log = { ...silentLogger, error: (facts: object) => void logged.push(facts) }
    const clock = new FakeClock()
    const audit = openAudit({ to: { file }, withArguments }, { clock, log })
    callAt(audit, 'lost')
    await until(() => logged.length === 1, 'the failure')
    rmSync(file)
    callAt(audit, 'too soon')
    t.notOk(existsSync(file))
    clock.advance(5000)
    callAt(audit, 'kept')
    await audit.close()
    t.match(linesOf(file), [{ name: 'kept', dropped: 2 }])
    t.match(logged, [{}, { dropped: 2 }])
    t.match(await verifyAudit([file]), { ok: true, lines: 2 })
  },
)

t.test('a file that others may write to is told', { skip: skipWithout.modes }, async t => {
  const file = join(t.testdir({ 'audit.log': '' }), 'audit.log')
  const told: object[] = []
  const log = { ...silentLogger, warn: (facts: object) => void told.push(facts) }
  for (const mode of [0o640, 0o666]) {
    chmodSync(file, mode)
    await openAudit({ to: { file }, withArguments }, { ...around, log }).close()
  }
  t.same(told, [{ file }])
})

t.test(
  'lines can go to stderr, and nothing is in the way when they go nowhere',
  { skip: skipWithout.mocks },
  async t => {
    const said: string[] = []
    const mocked = await t.mockImport<typeof import('../../../src/telemetry/audit/audit-log.js')>(
      '../../../src/telemetry/audit/audit-log.js',
      {
        '../../../src/telemetry/logs/logger.js': {
          createStderrSink: () => ({ write: (line: string) => void said.push(line) }),
        },
      },
    )
    callAt(mocked.openAudit({ to: 'stderr', withArguments }, around), 'seen')
    t.match(JSON.parse(said.join('')), { audit: 'call', name: 'seen' })
    t.equal(openAudit(undefined, around).calls, undefined)
  },
)

t.test('a file that was moved away is left, and a new one begun', async t => {
  const file = join(t.testdir(), 'audit.log')
  const audit = openAudit({ to: { file }, withArguments }, around)
  callAt(audit, 'first')
  renameSync(file, `${file}.1`)
  callAt(audit, 'second')
  audit.reopen()
  callAt(audit, 'third')
  await audit.close()
  const names = (path: string) => linesOf(path).map(({ name }) => name)
  t.same([names(`${file}.1`), names(file)], [['first', 'second'], ['third']])
  t.match(chainedLines(file)[0], { audit: 'chain', after: null, n: 3 })
  t.match(await verifyAudit([`${file}.1`, file]), {
    ok: true,
    files: 2,
    lines: 5,
    chains: [{ from: 0, to: 4 }],
  })
})

t.test('refused requests leave a line, and requests of one address are merged', async t => {
  const file = join(t.testdir(), 'audit.log')
  const audit = openAudit({ to: { file }, withArguments }, around)
  const refused = {
    status: 403,
    method: 'POST',
    path: '/s/0123456789abcdef0123/mcp',
    host: 'evil\u0007',
    origin: undefined,
  }
  for (let n = 0; n < 100; n += 1) audit.onRefused?.({ ...refused, remoteAddress: '10.0.0.1' }, 'anonymous')
  audit.onRefused?.({ ...refused, remoteAddress: '10.0.0.2' }, 'anonymous')
  around.clock.advance(60_000)
  audit.onRefused?.({ ...refused, remoteAddress: '10.0.0.1' }, 'anonymous')
  await audit.close()
  const lines = linesOf(file)
  t.equal(lines.length, 12)
  t.match(lines[11], { address: '10.0.0.1', unlogged: 90 }, 'how many were merged')
  t.match(lines[0], {
    audit: 'refused',
    principal: 'anonymous',
    address: '10.0.0.1',
    status: 403,
    method: 'POST',
    path: '/s/***/mcp',
    host: 'evil',
  })
})

const refuse = (audit: ReturnType<typeof openAudit>, name: string): void => {
  const client = { id: 1, principal: 'local', info: rawText('{}') } as FakeClient
  const call = new FakeCall(client, 'tools/call', { name }, false)
  begin(call, audit.calls?.interceptors ?? []).end(
    failed(new Fault('refused', 'No', { data: { reason: 'denied' } })),
  )
}

t.test(
  'refusals are written once the disk is back, and a strict audit refuses calls until then',
  { skip: skipWithout.fullDevice },
  async t => {
    const file = join(t.testdir(), 'audit.log')
    symlinkSync('/dev/full', file)
    const clock = new FakeClock()
    const errors: string[] = []
    const log = { ...silentLogger, error: (_: object, words: string) => void errors.push(words) }
    const audit = openAudit({ to: { file }, withArguments, isStrict: true }, { clock, log })
    const [strict] = audit.calls?.interceptors ?? []
    t.equal(strict?.run({} as never, undefined), 'next')
    await until(() => errors.length === 1, 'the failure')
    t.match(strict?.run({} as never, undefined), {
      kind: 'fault',
      fault: {
        ...{ code: 'refused', message: 'Calls are refused because the audit log cannot be written' },
        data: { reason: 'audit-unavailable' },
      },
    })
    refuse(audit, 'refused')
    rmSync(file)
    clock.advance(5000)
    await until(() => strict?.run({} as never, undefined) === 'next', 'the disk')
    await audit.close()
    t.match(linesOf(file), [{ name: 'refused', outcome: 'audit-unavailable' }])
  },
)

t.test('a torn line is ended, and the next run covers it', async t => {
  const file = join(t.testdir(), 'audit.log')
  for (const name of ['first', 'second']) {
    const audit = openAudit({ to: { file }, withArguments }, around)
    callAt(audit, name)
    await audit.close()
    appendFileSync(file, '{"audit":"call","na')
  }
  const lines = readFileSync(file, 'utf8').split('\n')
  t.equal(lines[2], '{"audit":"call","na')
  const torn = createHash('sha256').update('{"audit":"call","na').digest('base64url')
  t.match(JSON.parse(lines[3] ?? ''), { audit: 'chain', after: torn, n: 0, prev: null })
  t.match(await verifyAudit([file]), { ok: false, breaks: [{ line: 6, what: 'the line is not JSON' }] })
  await openAudit({ to: { file }, withArguments }, around).close()
  t.match(await verifyAudit([file]), { ok: true, breaks: [], chains: [{}, {}, {}] })
})

t.test('each line of a file names the line before it', async t => {
  const file = join(t.testdir(), 'audit.log')
  const audit = openAudit({ to: { file }, withArguments }, around)
  callAt(audit, 'first')
  await audit.close()
  const [one = '', other = ''] = readFileSync(file, 'utf8').split('\n')
  t.match(
    one,
    /^\{"audit":"chain","time":"[^"]+","version":"[^"]+","after":null,"chain":"\w{8}","n":0,"prev":null\}$/,
  )
  const hash = createHash('sha256').update(one).digest('base64url')
  t.ok(other.endsWith(`,"n":1,"prev":"${hash}"}`), other)
})
