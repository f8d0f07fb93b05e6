import { createCipheriv, randomBytes } from 'node:crypto'
import t from 'tap'
import { rawText, readJson } from '../../../../src/kernel/json/text.js'
import { principalHash, requestDigest } from '../../../../src/mux/input-required/retry/request-states.js'
import { createSealer, type SealedState } from '../../../../src/mux/input-required/retry/sealed-state.js'

const OLD = { kid: 'k1', key: Buffer.alloc(32, 1) }
const NEW = { kid: 'k2', key: Buffer.alloc(32, 2) }
const NOW_MS = 1_790_000_000_000

const BINDING = {
  server: 'a',
  method: 'tools/call',
  digest: requestDigest('tools/call', rawText('{"name":"book","arguments":{"secret":"fri"}}')),
  principal: principalHash('alice'),
}
const TTL_MS = 600_000
const STATES: readonly SealedState[] = [
  {
    kind: 'park',
    ...BINDING,
    parkId: 'p',
    replica: 'r1',
    round: 3,
    asked: [{ key: '3-1', method: 'elicitation/create', question: 'q' }],
    history: [['h', rawText('{"action":"accept","content":{"n":1e400}}')]],
  },
  { kind: 'park', ...BINDING, parkId: 'p', replica: 'r1', round: 1, asked: [], history: [] },
  { kind: 'pre', ...BINDING, parkId: 'p', replica: 'r1' },
  { kind: 'relay', ...BINDING, inner: rawText('"S\\u00e9é\\ud800"') },
  { kind: 'relay', ...BINDING, inner: undefined },
  { kind: 'relay', ...BINDING, inner: rawText('"s"'), replica: 'r-1' },
  { kind: 'url', ...BINDING, elicitations: ['e1', 'e2'] },
]
const [PARK] = STATES as [SealedState]

const sealerAt = (nowMs = NOW_MS, ...keys: (typeof OLD)[]) =>
  createSealer({ keys: keys.length === 0 ? [OLD] : keys, nowMs: () => nowMs })

t.test('every kind of state comes back as it was, byte for byte', async t => {
  const sealer = sealerAt()
  for (const state of STATES) t.same(sealer.open(sealer.seal(state, TTL_MS)), state)
  t.match(sealer.seal(PARK, TTL_MS), /^v1\.k1\.[\w-]+$/)
})

t.test('no two seals of one state are alike, and none can be read', async t => {
  const sealer = sealerAt()
  const seals = [sealer.seal(PARK, TTL_MS), sealer.seal(PARK, TTL_MS)]
  t.not(seals[0], seals[1])
  const inside = Buffer.from(seals[0]?.split('.')[2] ?? '', 'base64url').toString('latin1')
  for (const word of ['park', 'tools', 'accept', BINDING.principal, BINDING.digest])
    t.notOk(inside.includes(word), word)
})

t.test('a state in which any character was changed is refused', async t => {
  const sealer = sealerAt(NOW_MS, OLD, NEW)
  for (const state of STATES) {
    const seal = sealer.seal(state, TTL_MS)
    const opened = [...seal].flatMap((char, index) => {
      const others = [
        String.fromCharCode(char.charCodeAt(0) ^ 1),
        char === 'A' ? 'B' : 'A',
        '.',
        '+',
        ' ',
        '',
      ]
      return others
        .filter(other => other !== char)
        .map(other => seal.slice(0, index) + other + seal.slice(index + 1))
        .filter(changed => sealer.open(changed) !== undefined)
    })
    t.same(opened, [])
  }
})

t.test('a second spelling of the same bytes is refused', async t => {
  const sealer = sealerAt()
  const seals = Array.from({ length: 3 }, (_, n) =>
    sealer.seal({ kind: 'url', ...BINDING, elicitations: ['e'.repeat(n + 1)] }, TTL_MS),
  )
  let found = 0
  for (const seal of seals) {
    const bytes = Buffer.from(seal.split('.')[2] ?? '', 'base64url')
    const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const twins = [...ALPHABET]
      .map(last => seal.slice(0, -1) + last)
      .filter(twin => twin !== seal && Buffer.from(twin.split('.')[2] ?? '', 'base64url').equals(bytes))
    found += twins.length
    for (const twin of [...twins, `${seal}=`, `${seal}\n`, ` ${seal}`, `${seal}.`])
      t.equal(sealer.open(twin), undefined)
  }
  t.ok(found > 0, 'the decoder does overlook some bits')
})

t.test('every foreign state is refused in the same way', async t => {
  const sealer = sealerAt()
  const foreign = createSealer({ keys: [{ kid: 'k1', key: randomBytes(32) }], nowMs: () => NOW_MS })
  const texts = [
    '',
    '.',
    '..',
    'v1.k1.',
    'v1.k1.AAAA',
    'v2.k1.AAAA',
    `v1.k1.${'A'.repeat(1_000_000)}`,
    foreign.seal(PARK, TTL_MS),
  ]
  for (const text of texts) t.equal(sealer.open(text), undefined, text.slice(0, 20))
})

t.test('bytes sealed under our key for another purpose are refused', async t => {
  const nonce = randomBytes(12)
  const plain = '{"k":"url","sv":"a","m":"m","d":"d","p":"p","x":9999999999,"e":[]}'
  const sealed = (aad: string): string => {
    const cipher = createCipheriv('aes-256-gcm', OLD.key, nonce).setAAD(Buffer.from(aad))
    const body = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
    return `v1.k1.${body.toString('base64url')}`
  }
  t.match(sealerAt().open(sealed('mcp-proxy/request-state/v1')), { kind: 'url', server: 'a' })
  t.equal(sealerAt().open(sealed('mcp-proxy/cursor/v1')), undefined)
})

t.test('a state of another version of us, with other members, is refused', async t => {
  const seal = (plain: string): string => {
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', OLD.key, nonce).setAAD(
      Buffer.from('mcp-proxy/request-state/v1'),
    )
    const body = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
    return `v1.k1.${body.toString('base64url')}`
  }
  const base = '"sv":"a","m":"m","d":"d","p":"p","x":9999999999'
  const plains = [
    `{"k":"new",${base}}`,
    `{${base}}`,
    `{"k":"park",${base}}`,
    `{"k":"pre",${base},"id":"p"}`,
    `{"k":"park",${base},"id":"p","i":"r"}`,
    '{"k":"url","sv":"a","m":"m","d":"d","p":"p","e":[]}',
    '{"k":"url"}',
    '[]',
    'x',
  ]
  for (const plain of plains) t.equal(sealerAt().open(seal(plain)), undefined, plain)
})

t.test('a state opens until it expires, to the second', async t => {
  const seal = sealerAt().seal(PARK, 1500)
  t.ok(sealerAt(NOW_MS + 1999).open(seal))
  t.equal(sealerAt(NOW_MS + 2000).open(seal), undefined)
})

t.test(
  'a key is replaced by putting the new one in front: the old one still opens, and seals no more',
  async t => {
    const old = sealerAt(NOW_MS, OLD).seal(PARK, TTL_MS)
    const rotated = sealerAt(NOW_MS, NEW, OLD)
    t.same(rotated.open(old), PARK)
    const fresh = rotated.seal(PARK, TTL_MS)
    t.match(fresh, /^v1\.k2\./)
    t.equal(sealerAt(NOW_MS, OLD).open(fresh), undefined)
    t.equal(sealerAt(NOW_MS, NEW).open(old), undefined)
    t.equal(rotated.open(old.replace('.k1.', '.k2.')), undefined)
  },
)

t.test('a server’s state that is too long is an error', async t => {
  const sealer = sealerAt()
  const large = (chars: number): SealedState => ({
    kind: 'relay',
    ...BINDING,
    inner: readJson(Buffer.from(`"${'x'.repeat(chars)}"`)),
  })
  t.ok(sealer.open(sealer.seal(large(250_000), TTL_MS)))
  t.throws(() => sealer.seal(large(300_000), TTL_MS), { code: 'too-large' })
})

t.test('keys are checked when the sealer is made', async t => {
  const made =
    (...keys: { kid: string; key: Uint8Array }[]) =>
    () =>
      createSealer({ keys, nowMs: () => 0 })
  t.throws(made(), /needs a key/)
  t.throws(made({ kid: 'a', key: Buffer.alloc(31) }), /32 bytes/)
  t.throws(made({ kid: 'a.b', key: Buffer.alloc(32) }), /kid/)
  t.throws(made(OLD, OLD), /same kid/)
})
