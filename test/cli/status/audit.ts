import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { LineChain } from '../../../src/telemetry/audit/chain.js'
import { runHere } from '../../support/proxy/start.js'

/** Returns the lines of one run. */
const run = (calls: number): string[] => {
  const start = JSON.stringify({ audit: 'chain', after: null })
  const lines = Array.from({ length: calls }, (_, n) => JSON.stringify({ audit: 'call', call: n }))
  return new LineChain().seal([start, ...lines]).map(({ text }) => text)
}

t.test('a run that was removed as a whole shows only with its head, and the output says so', async t => {
  const file = join(t.testdir(), 'audit.jsonl')
  const write = (...runs: string[][]): void => writeFileSync(file, `${runs.flat().join('\n')}\n`)
  const [kept, cut] = [run(2), run(3)]
  write(kept, cut)
  const whole = await runHere(t, 'audit', 'verify', file)
  t.match(whole, { code: 0, err: /^1 file, 7 lines, 2 chains, 0 breaks\nnot verified: whether whole runs/ })
  const head = /lines 0 to 3, head (\S+)/.exec(whole.out)?.[1] ?? ''
  t.equal((await runHere(t, 'audit', 'verify', file, '--head', head)).err.includes('not verified'), false)
  write(kept)
  t.match(await runHere(t, 'audit', 'verify', file), { code: 0, err: /not verified: whether whole runs/ })
  t.match(await runHere(t, 'audit', 'verify', file, '--head', head), { code: 1, out: /lines were removed/ })
  t.match(JSON.parse((await runHere(t, 'audit', 'verify', file, '--json')).out), { version: 1, ok: true })
})
