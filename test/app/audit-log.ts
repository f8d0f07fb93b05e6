import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openAudit } from '../../src/app/audit-log.js'
import { rawText } from '../../src/kernel/json-text.js'
import { silentLogger } from '../../src/kernel/logger.js'
import { resulted } from '../../src/model/outcome.js'
import { FakeClock } from '../support/fake-clock.js'
import { FakeReception } from '../support/fake-reception.js'
import { FakeCall, type FakeClient } from '../support/mux.js'

const around = { clock: new FakeClock(), log: silentLogger }
const withArguments = false

const callAt = (audit: ReturnType<typeof openAudit>, name: string): void => {
  const call = new FakeCall({ id: 1, principal: 'local' } as FakeClient, 'tools/call', { name }, false)
  audit.around(new FakeReception()).call(call)
  call.end(resulted(rawText('{}')))
}

t.test('audit lines are added to a file that only its user can read', async t => {
  const file = join(t.testdir(), 'audit.log')
  for (const name of ['first', 'second']) {
    const audit = openAudit({ to: { file }, withArguments }, around)
    callAt(audit, name)
    await audit.close()
  }
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  t.match(
    lines.map(line => JSON.parse(line)),
    [{ name: 'first' }, { name: 'second' }],
  )
  if (process.platform !== 'win32') t.equal(statSync(file).mode & 0o777, 0o600)
})

t.test('a file that cannot be written to is told at once', async t => {
  const file = join(t.testdir(), 'nowhere', 'audit.log')
  t.throws(() => openAudit({ to: { file }, withArguments }, around), {
    code: 'unavailable',
    message: `cannot write the audit file ${file} (ENOENT): check "audit"`,
  })
})

t.test(
  'a disk that fails later costs lines, and is told',
  { skip: process.platform !== 'linux' },
  async t => {
    const logged: string[] = []
    const log = { ...silentLogger, error: (_: object, words: string) => void logged.push(words) }
    const audit = openAudit({ to: { file: '/dev/full' }, withArguments }, { ...around, log })
    callAt(audit, 'first')
    await audit.close()
    callAt(audit, 'late')
    await audit.close()
    t.same(logged, [
      'the audit file cannot be written to any more',
      'audit lines were dropped: the disk does not keep up, or failed',
    ])
  },
)

t.test('lines can go to stderr, and nothing is in the way when they go nowhere', async t => {
  const said: string[] = []
  const mocked = await t.mockImport<typeof import('../../src/app/audit-log.js')>(
    '../../src/app/audit-log.js',
    {
      '../../src/app/stderr-sink.js': {
        createStderrSink: () => ({ write: (line: string) => void said.push(line) }),
      },
    },
  )
  callAt(mocked.openAudit({ to: 'stderr', withArguments }, around), 'seen')
  t.match(JSON.parse(said.join('')), { audit: 'call', name: 'seen' })
  const reception = new FakeReception()
  t.equal(openAudit(undefined, around).around(reception), reception)
})
