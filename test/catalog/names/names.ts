import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { aliasOf, exposedName } from '../../../src/catalog/names/names.js'

const ALIAS = /^[A-Za-z][A-Za-z0-9_-]{0,23}$/
const EXPOSED = /^[A-Za-z0-9_-]{1,46}$/

/** RFC 4648 section 6 in lower case, written another way than in the source. */
const base32 = (text: string): string => {
  const bits = [...createHash('sha256').update(text).digest().subarray(0, 4)]
    .map(byte => byte.toString(2).padStart(8, '0'))
    .join('')
  const digits = 'abcdefghijklmnopqrstuvwxyz234567'
  return [0, 1, 2, 3, 4, 5].map(i => digits.charAt(Number.parseInt(bits.slice(5 * i, 5 * i + 5), 2))).join('')
}

t.test('a server whose key is a plain word is called by it', async t => {
  for (const key of ['gh', 'G', 'a-b_c9', 'a'.repeat(24), 'a-', 'x_y_z'])
    t.equal(aliasOf(key, undefined), key)
})

t.test('a configured prefix goes before the key', async t => {
  t.equal(aliasOf('github', 'gh'), 'gh')
  t.equal(aliasOf('Ω', 'omega'), 'omega')
  t.match(aliasOf('github', 'g__h'), /^g_h-[a-z2-7]{6}$/, 'and is held to the same rules')
})

t.test('any other key is cleaned, cut and told apart by its hash', async t => {
  const cases: [string, string][] = [
    ['my server', 'my-server'],
    ['a__b', 'a_b'],
    ['a____b', 'a_b'],
    ['a_', 'a'],
    ['9lives', 's-9lives'],
    ['_x', 's-_x'],
    ['', 's'],
    ['漢字', 's'],
    ['a😀b', 'a-b'],
    [`${'a'.repeat(16)}_${'b'.repeat(20)}`, 'a'.repeat(16)],
    ['a'.repeat(25), 'a'.repeat(17)],
  ]
  for (const [key, head] of cases) {
    t.equal(aliasOf(key, undefined), `${head}-${base32(key)}`)
    t.match(aliasOf(key, undefined), ALIAS)
  }
})

t.test('the exposed name is plain where it can be', async t => {
  t.equal(exposedName('github', 'create_issue'), 'github__create_issue')
  t.equal(exposedName('a', '__x'), 'a____x')
  t.equal(exposedName('a', ''), 'a__')
  t.equal(exposedName('a', 'x'.repeat(43)), `a__${'x'.repeat(43)}`, '46 characters fit')
})

t.test('a longer or stranger name is cut and told apart by its hash', async t => {
  const cases: [string, string][] = [
    ['a b', 'a__a_b_'],
    ['a/b', 'a__a_b_'],
    ['a.b', 'a__a_b_'],
    ['é', 'a____'],
    ['😀', 'a____'],
    ['x'.repeat(44), `a__${'x'.repeat(36)}_`],
    ['y'.repeat(300), `a__${'y'.repeat(36)}_`],
  ]
  for (const [name, head] of cases) {
    t.equal(exposedName('a', name), head + base32(`a\0${name}`))
    t.match(exposedName('a', name), EXPOSED)
  }
})

t.test('texts that UTF-8 cannot tell apart get different names', async t => {
  const names = ['\ud800', '\ud801', '\udc00', '\ufffd', 'a\ud800', 'a\ufffd', '\ufeff\ud800'].map(name =>
    exposedName('a', name),
  )
  t.equal(new Set(names).size, names.length)
  t.not(aliasOf('\ud800', undefined), aliasOf('\udbff', undefined))
})

t.test('no two of 100,000 tools meet in one name, and every name stays what it is', async t => {
  const part = fc.oneof(
    { weight: 4, arbitrary: fc.stringMatching(/^[a-z_]{1,6}$/) },
    { weight: 1, arbitrary: fc.constantFrom('__', '_', '-', '.', '/', ' ', '\0', '\ud800', '漢', '😀', 'é') },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 4 }) },
  )
  const name = fc.oneof(
    { weight: 20, arbitrary: fc.array(part, { maxLength: 8 }).map(parts => parts.join('')) },
    { weight: 1, arbitrary: fc.string({ minLength: 290, maxLength: 300 }) },
  )
  const keys = fc.sample(name, { numRuns: 300, seed: 7 })
  const pairs = fc.sample(fc.tuple(fc.constantFrom(...keys), name), { numRuns: 100_000, seed: 8 })
  const owners = new Map<string, string>()
  const aliases = new Map<string, string>()
  let wrong = 0
  for (const [key, tool] of pairs) {
    const alias = aliasOf(key, undefined)
    if (!ALIAS.test(alias) || alias.includes('__') || alias.endsWith('_')) wrong++
    if ((aliases.get(alias) ?? key) !== key) wrong++
    aliases.set(alias, key)
    const exposed = exposedName(alias, tool)
    const owner = JSON.stringify([key, tool])
    if (!EXPOSED.test(exposed) || !exposed.startsWith(`${alias}__`)) wrong++
    if ((owners.get(exposed) ?? owner) !== owner) wrong++
    if (exposedName(aliasOf(key, undefined), tool) !== exposed) wrong++
    owners.set(exposed, owner)
  }
  t.equal(wrong, 0)
  t.ok(owners.size > 50_000, 'the sample is not all the same')
})
