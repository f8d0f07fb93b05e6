import t from 'tap'
import { TextSeal } from '../../../../src/kernel/secrets/text-seal.js'
import { principalHash } from '../../../../src/mux/input-required/retry/request-states.js'
import { createSealer, type Sealer } from '../../../../src/mux/input-required/retry/sealed-state.js'

const OLD = { kid: 'k1', key: Buffer.alloc(32, 1) }
const NEW = { kid: 'k2', key: Buffer.alloc(32, 2) }
const NOW_MS = 1_790_000_000_000
const TASK = { server: 'a"é', id: 't\u0000"1', principal: principalHash('alice'), era: 'returned' } as const

const sealerWith = (nowMs: number, ...keys: (typeof OLD)[]): Sealer =>
  createSealer({ keys, nowMs: () => nowMs })
const sealer = sealerWith(NOW_MS, OLD)

t.test('an id comes back as it was, at any time, with any of the keys', async t => {
  const text = sealer.sealTask(TASK)
  t.match(text, /^t1\.v1\.k1\.[\w-]+$/)
  const years = 10 * 365 * 86_400_000
  for (const keys of [[OLD], [NEW, OLD]]) t.same(sealerWith(NOW_MS + years, ...keys).openTask(text), TASK)
  t.equal(sealerWith(NOW_MS, NEW).openTask(text), undefined)
  t.match(sealerWith(NOW_MS, NEW, OLD).sealTask(TASK), /^t1\.v1\.k2\./)
})

t.test('a changed id, or another text under the same key, opens nothing', async t => {
  const text = sealer.sealTask(TASK)
  for (let at = 0; at < text.length; at += 1) {
    const other = text[at] === 'A' ? 'B' : 'A'
    t.equal(sealer.openTask(text.slice(0, at) + other + text.slice(at + 1)), undefined, `character ${at}`)
  }
  t.equal(sealer.open(text), undefined)
  t.equal(sealer.open(text.slice(3)), undefined, 'it is no state')
  const binding = { server: 'a', method: 'tools/call', digest: 'd', principal: TASK.principal }
  const state = sealer.seal({ kind: 'url', ...binding, elicitations: [] }, 60_000)
  t.equal(sealer.openTask(`t1.${state}`), undefined, 'and a state is no task')
  const seal = new TextSeal([OLD], 'request-state')
  for (const plain of ['', 'no', '[]', '{"k":"task"}', '{"k":"task","sv":"a","id":"1","p":"p","e":"x"}'])
    t.equal(sealer.openTask(`t1.${seal.seal(Buffer.from(plain))}`), undefined, plain)
})

t.test('an id of 1 KiB is sealed, a longer one is not', async t => {
  const id = 'é'.repeat(512)
  t.equal(sealer.openTask(sealer.sealTask({ ...TASK, id }))?.id, id)
  t.throws(() => sealer.sealTask({ ...TASK, id: `${id}x` }), { code: 'internal' })
  t.equal(sealer.openTask(`t1.${'x'.repeat(1_000_000)}`), undefined)
})
