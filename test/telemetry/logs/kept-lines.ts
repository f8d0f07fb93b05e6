import t from 'tap'
import { KeptLines } from '../../../src/telemetry/logs/kept-lines.js'

const line = (facts: object): string => `${JSON.stringify({ level: 30, time: 1, ...facts })}\n`

const setUp = () => {
  const lines = new KeptLines()
  const passed: string[] = []
  const sink = lines.over({ write: text => passed.push(text) })
  return { lines, sink, passed }
}

t.test('a server that writes much drowns neither the log nor another server', async t => {
  const { lines, sink } = setUp()
  sink.write(line({ msg: 'ours' }))
  sink.write(line({ server: 'quiet', stderr: 'one word' }))
  for (let n = 0; n < 40; n++) sink.write(line({ server: 'loud', stderr: 'x'.repeat(50_000) }))
  t.equal(lines.matching({ server: 'quiet' }).length, 1)
  t.match(lines.matching({}).join(''), '"ours"')
  const loud = lines.matching({ server: 'loud' })
  t.ok(loud.length > 10 && loud.join('').length <= 1024 * 1024, 'a mebibyte of each')
})

t.test('all servers together have a bound, at which those with most lose', async t => {
  const { lines, sink } = setUp()
  for (let n = 0; n < 40; n++)
    for (let m = 0; m < 20; m++) sink.write(line({ server: `s${n}`, stderr: 'x'.repeat(50_000) }))
  const chars = lines.matching({}).reduce((sum, { length }) => sum + length, 0)
  t.ok(chars <= 32 * 1024 * 1024, String(chars))
})

t.test('lines keep their order and their numbers', async t => {
  const { lines, sink, passed } = setUp()
  for (const facts of [{ msg: 'a' }, { server: 's', stderr: 'b' }, { msg: 'c' }]) sink.write(line(facts))
  t.same(
    lines.numbered({}).map(({ n }) => n),
    [1, 2, 3],
  )
  t.same(
    lines.numbered({}, 1).map(({ n }) => n),
    [2, 3],
  )
  t.equal(passed.length, 3)
  const heard: number[] = []
  const stop = lines.follow({ server: 's' }, (_, n) => heard.push(n))
  sink.write(line({ server: 's', stderr: 'd' }))
  sink.write(line({ msg: 'e' }))
  stop?.()
  sink.write(line({ server: 's', stderr: 'f' }))
  t.same(heard, [4])
})

t.test('each principal may follow eight times, independently of others', async t => {
  const { lines } = setUp()
  const follow = (principal: string) => lines.follow({}, () => undefined, principal)
  const [stop] = Array.from({ length: 8 }, () => follow('person carol'))
  t.equal(follow('person carol'), undefined)
  t.ok(follow('local'))
  stop?.()
  t.ok(follow('person carol'))
})
