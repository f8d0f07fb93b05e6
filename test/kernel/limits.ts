import { readFileSync } from 'node:fs'
import t from 'tap'
import { LIMIT_NAMES, LIMIT_TABLE, shownLimit } from '../../src/kernel/limits.js'

t.test('no limit is without an end, and each default can be set', async t => {
  for (const name of LIMIT_NAMES) {
    const { fallback, least, most } = LIMIT_TABLE[name]
    t.ok(least >= 1 && least <= fallback && fallback <= most && Number.isSafeInteger(most), name)
  }
})

t.test('a limit is shown as one would write it', async t => {
  t.equal(shownLimit('calls', 4096), '4096')
  t.equal(shownLimit('body', 16 * 2 ** 20), '16MiB')
  t.equal(shownLimit('body', 1_500_000), '1500000B')
  t.equal(shownLimit('stall', 30_000), '30s')
  t.equal(shownLimit('stall', 1234), '1234ms')
})

t.test('the documents name every limit with its default', async t => {
  const text = readFileSync(new URL('../../docs/limits.md', import.meta.url), 'utf8')
  for (const name of LIMIT_NAMES) {
    const row = text.split('\n').find(line => line.includes(`\`${name}\``))
    t.ok(row?.includes(shownLimit(name, LIMIT_TABLE[name].fallback)), name)
  }
})
