import t from 'tap'
import { textOf } from '../../../src/kernel/json/text.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { Lock } from '../../../src/mux/rules/lock.js'

const tool = (name: string) => textOf({ name, inputSchema: { type: 'object' } })

type Line = Readonly<Record<string, unknown>>

/** Returns an empty lock file, which reports to `lines`. */
const lockOf = (lines: Line[]): Lock => {
  const rules = { onChange: 'warn', onNew: 'warn', ignore: [] } as const
  const audit = (facts: Line) => void lines.push(facts)
  return new Lock({ ...rules, servers: ['*'], locked: new Map() }, { log: silentLogger, audit })
}

t.test('a server with many new items does not keep the change of another out of the audit', t => {
  const lines: Line[] = []
  const lock = lockOf(lines)
  const read = (server: string, names: readonly string[]) =>
    lock.of(server)?.read('tools', names.map(tool))?.wasRead(true)
  const many = Array.from({ length: 1200 }, (_, at) => `tool${at}`)
  read('loud', many)
  t.equal(lines.length, 1000, 'a bound per reading')
  read('quiet', ['wipe'])
  t.match(lines.at(-1), { server: 'quiet', name: 'wipe', change: 'added' })
  read('quiet', ['wipe'])
  t.equal(lines.length, 1001, 'it is reported once')
  t.equal(lock.of('loud')?.count, 1200)
  t.equal(lock.of('loud')?.differences.length, 1000)
  t.end()
})

t.test('the differences of one principal stay while another has the locked list', t => {
  const lock = lockOf([])
  const [bad, good] = [['wipe'], []].map(names => lock.of('shop')?.read('tools', names.map(tool)))
  bad?.wasRead(true)
  good?.wasRead(true)
  t.match(lock.of('shop')?.differences, [{ name: 'wipe', change: 'added' }])
  lock
    .of('shop')
    ?.read('tools', [tool('wipe')])
    ?.wasRead(true)
  t.equal(lock.of('shop')?.count, 1, 'the same difference of a third')
  bad?.released()
  t.equal(lock.of('shop')?.count, 1)
  t.end()
})
