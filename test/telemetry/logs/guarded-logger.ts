import t from 'tap'
import { silentLogger } from '../../../src/kernel/logger.js'
import { addSecrets } from '../../../src/kernel/secrets/mask.js'
import { GuardedLogger, guardLogger } from '../../../src/telemetry/logs/guarded-logger.js'
import { FakeClock } from '../../support/fake-clock.js'
import { recordedLog } from '../../support/wire/channel-pair.js'

const guarded = () => {
  const { log: behind, lines } = recordedLog()
  const clock = new FakeClock()
  return { log: guardLogger(behind, clock), lines, clock }
}

t.test(
  'what a peer can cause a line for again and again is merged, and it is said how often it was',
  async t => {
    const { log, lines, clock } = guarded()
    const flood = (count: number) => {
      for (let n = 0; n < count; n += 1) log.warn({ why: `reason ${n}` }, 'dropped a message')
    }
    flood(1000)
    t.equal(lines.length, 10)
    clock.advance(10_000)
    flood(1000)
    t.equal(lines.length, 11, 'one in ten seconds from then on')
    t.match(lines.at(-1), ['warn', { why: 'reason 0', unlogged: 990 }, 'dropped a message'])
    clock.advance(1_000_000)
    flood(1)
    t.match(lines.at(-1)?.[1], { unlogged: 999 })
    flood(1)
    t.notOk('unlogged' in (lines.at(-1)?.[1] ?? {}), 'what was said is not said again')
  },
)

t.test('one kind of line does not keep another from being written', async t => {
  const { log, lines } = guarded()
  for (const server of ['a', 'b']) {
    const child = log.child({ server })
    for (let n = 0; n < 20; n += 1) {
      child.warn({}, 'lost')
      log.warn({ server }, 'lost')
      log.warn({ server, limit: 'items' }, 'a limit was reached')
      log.warn({ server, limit: 'pages' }, 'a limit was reached')
      log.info({ stderr: `line ${n}` }, 'server wrote to stderr')
      log.debug({}, 'every single one')
    }
  }
  const count = (words: string) => lines.filter(([, , said]) => said === words).length
  t.equal(count('lost'), 20, 'ten for each server, whoever says its name')
  t.equal(count('a limit was reached'), 40)
  t.equal(count('server wrote to stderr'), 40, 'they have a limit of their own')
  t.equal(count('every single one'), 40)
})

t.test('nothing secret, endless or invisible is written', async t => {
  const { log, lines } = guarded()
  const release = addSecrets(['correct horse'])
  const cause = Object.assign(new Error('at correct horse'), { code: 'ECONNRESET' })
  const facts = {
    why: `\u001b[31mcorrect horse\u0007 ${'x'.repeat(5000)}`,
    stderr: 'y'.repeat(5000),
    list: ['correct horse', { deep: { deeper: { deepest: { down: 'here' } } } }],
    env: { A: 'a' },
    token: 12,
    count: 3,
    bytes: Buffer.from('correct horse'),
    err: new Error('no correct horse', { cause }),
  }
  log.warn(facts, 'said correct horse')
  release()
  const [level, shown, words] = lines[0] ?? []
  t.equal(level, 'warn')
  t.equal(words, 'said ***')
  t.match(shown, {
    why: /^\*\*\* x{1000,1020} \[cut\]$/,
    stderr: facts.stderr,
    list: ['***', { deep: { deeper: { deepest: '[more]' } } }],
    env: '***',
    token: '***',
    count: 3,
    bytes: '[13 bytes]',
    err: { type: 'Error', message: 'no ***', stack: /\n/, cause: { message: 'at ***', code: 'ECONNRESET' } },
  })
  t.notMatch(JSON.stringify(lines), /correct|\\u001b|\\u0007/)
})

t.test('a logger that is guarded already, or writes nothing, is taken as it is', async t => {
  const { log, clock } = guarded()
  t.ok(log instanceof GuardedLogger)
  t.equal(guardLogger(log, clock), log)
  t.equal(guardLogger(silentLogger, clock), silentLogger)
})
