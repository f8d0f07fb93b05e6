import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createLazySealer } from '../../../src/app/state/sealer.js'
import { silentLogger } from '../../../src/kernel/logger.js'

const STATE = {
  kind: 'url',
  server: 'a',
  method: 'tools/call',
  digest: 'd',
  principal: 'p',
  elicitations: ['e'],
} as const
const key = (fill: number): string => Buffer.alloc(32, fill).toString('base64')

t.test('nothing is read or written until something is sealed', async t => {
  const dir = join(t.testdir(), 'mcp-proxy')
  const sealer = createLazySealer({ configured: [], dir, log: silentLogger })
  t.notOk(existsSync(dir))
  const seal = sealer.seal(STATE, 60_000)
  t.ok(existsSync(dir))
  t.same(sealer.open(seal), STATE)
  const later = createLazySealer({ configured: [], dir, log: silentLogger })
  t.same(later.open(seal), STATE, 'a restart does not invalidate what clients carry')
})

t.test(
  'with keys of one’s own nothing is kept; a new one in front seals, the old one still opens',
  async t => {
    const dir = join(t.testdir(), 'mcp-proxy')
    const sealerOf = (...configured: string[]) => createLazySealer({ configured, dir, log: silentLogger })
    const seal = sealerOf(key(1)).seal(STATE, 60_000)
    t.same(sealerOf(key(2), key(1)).open(seal), STATE)
    t.equal(sealerOf(key(2)).open(seal), undefined)
    t.equal(sealerOf(key(1)).open(sealerOf(key(2), key(1)).seal(STATE, 60_000)), undefined)
    t.notOk(existsSync(dir))
  },
)

t.test(
  'where no key can be kept there is one for this process, and one line in the log without it',
  async t => {
    const file = join(t.testdir(), 'file')
    writeFileSync(file, '')
    const lines: unknown[] = []
    const log = { ...silentLogger, warn: (...line: unknown[]) => lines.push(line) }
    const sealer = createLazySealer({ configured: [], dir: join(file, 'mcp-proxy'), log })
    const seal = sealer.seal(STATE, 60_000)
    t.same(sealer.open(seal), STATE)
    t.equal(lines.length, 1)
    t.match(lines[0], [{ dir: join(file, 'mcp-proxy') }, /cannot keep a key/])
    t.notMatch(JSON.stringify(lines), /[A-Za-z0-9+/]{43}=/)
  },
)
