import t from 'tap'
import { textOf } from '../../../src/kernel/json/text.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { Lock } from '../../../src/mux/rules/lock.js'

const tool = (name: string) => textOf({ name, inputSchema: { type: 'object' } })

t.test('a server with many new items does not keep the change of another out of the audit', t => {
  const lines: Readonly<Record<string, unknown>>[] = []
  const rules = { onChange: 'warn', onNew: 'warn', ignore: [] } as const
  const lock = new Lock(
    { ...rules, servers: ['*'], locked: new Map() },
    { log: silentLogger, audit: facts => void lines.push(facts) },
  )
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
