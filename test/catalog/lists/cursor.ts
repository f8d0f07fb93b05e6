import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { cursorKey, decodeCursor, encodeCursor, type Position } from '../../../src/catalog/lists/cursor.js'
import { runs } from '../../support/property.js'

const position: Position = { list: 'tools', alias: 'gh', aliasIndex: 2, key: 'search', index: 40 }

const positions = fc.record({
  list: fc.constantFrom('tools' as const, 'prompts' as const, 'resources' as const, 'templates' as const),
  alias: fc.string(),
  aliasIndex: fc.nat(),
  key: fc.string({ unit: 'binary', maxLength: 400 }),
  index: fc.nat(),
})

/** A cursor as anybody could forge it. */
const forged = (payload: string): string => {
  const bytes = Buffer.from(payload)
  const check = createHash('sha256').update(bytes).digest().subarray(0, 6)
  return Buffer.concat([check, bytes]).toString('base64url')
}

t.test('a cursor stands for the same place wherever it is read', async t => {
  t.same(decodeCursor(encodeCursor(position), 'tools'), position)
  fc.assert(
    fc.property(positions, at => {
      const back = decodeCursor(encodeCursor(at), at.list)
      return JSON.stringify(back) === JSON.stringify({ ...at, key: cursorKey(at.key) })
    }),
    runs(500),
  )
})

t.test('a cursor is the same for ever: clients keep it across restarts', async t => {
  t.equal(encodeCursor(position), forged('[1,"tools","gh",2,"search",40]'))
})

t.test('a lone surrogate in a key survives', async t => {
  const at = { ...position, key: 'a\ud800b' }
  t.same(decodeCursor(encodeCursor(at), 'tools'), at)
})

t.test('a long key is a hash in the cursor, and the cursor stays short', async t => {
  const at = { ...position, key: `file:///${'漢'.repeat(100_000)}` }
  const text = encodeCursor(at)
  t.ok(text.length < 4096)
  t.equal(decodeCursor(text, 'tools')?.key, cursorKey(at.key))
  t.equal(cursorKey(cursorKey(at.key)), cursorKey(at.key))
  t.not(cursorKey(at.key), cursorKey(`${at.key}!`))
  t.not(cursorKey(`${'a'.repeat(300)}\ud800`), cursorKey(`${'a'.repeat(300)}\ud801`))
  t.ok(
    encodeCursor({ ...at, key: '\ud800'.repeat(256) }).length < 4096,
    'also when each character is escaped',
  )
})

t.test('a cursor of one list is invalid for another', async t => {
  for (const list of ['prompts', 'resources', 'templates'] as const) {
    t.equal(decodeCursor(encodeCursor(position), list), undefined)
  }
})

t.test('a foreign text is not a valid cursor', async t => {
  for (const text of [
    '',
    'bogus',
    'a',
    '====',
    ' ',
    'null',
    'é',
    '\0',
    'A'.repeat(4097),
    'A'.repeat(1_000_000),
  ]) {
    t.equal(decodeCursor(text, 'tools'), undefined)
  }
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[A-Za-z0-9_-]*$/)), text => {
      return decodeCursor(text, 'tools') === undefined
    }),
    runs(2000),
  )
})

t.test('a cursor with one bit changed, cut off or added to is none', async t => {
  const text = encodeCursor(position)
  const bytes = Buffer.from(text, 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = Buffer.from(bytes)
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    t.equal(decodeCursor(flipped.toString('base64url'), 'tools'), undefined)
  }
  for (let length = 0; length < text.length; length++) {
    t.equal(decodeCursor(text.slice(0, length), 'tools'), undefined)
  }
  for (const other of [`${text}A`, `${text}=`, ` ${text}`, `${text}\n`, text.replace(/^./, '+')]) {
    t.equal(decodeCursor(other, 'tools'), undefined)
  }
})

t.test('base64url that says the same in another way is refused', async t => {
  const texts = [1, 2, 3].map(n => encodeCursor({ ...position, key: 'k'.repeat(n) }))
  const odd = texts.filter(text => text.length % 4 !== 0)
  t.ok(odd.length > 0)
  for (const text of odd) {
    const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const last = digits.charAt(digits.indexOf(text.slice(-1)) + 1)
    const other = text.slice(0, -1) + last
    t.ok(Buffer.from(other, 'base64url').equals(Buffer.from(text, 'base64url')))
    t.equal(decodeCursor(other, 'tools'), undefined)
  }
})

t.test('a forged cursor with a right checksum says only what a cursor can say', async t => {
  t.same(decodeCursor(forged('[1,"tools","gh",2,"search",40]'), 'tools'), position)
  t.equal(decodeCursor(forged(`[1,"tools","gh",2,"${'k'.repeat(5000)}",40]`), 'tools'), undefined)
  for (const payload of [
    '',
    '{',
    'null',
    '{}',
    '[]',
    '[1,"tools","gh",2,"search"]',
    '[1,"tools","gh",2,"search",40,1]',
    '[2,"tools","gh",2,"search",40]',
    '[1,"tools",3,2,"search",40]',
    '[1,"tools","gh","2","search",40]',
    '[1,"tools","gh",2,null,40]',
    '[1,"tools","gh",2,"search",-1]',
    '[1,"tools","gh",2,"search",1.5]',
    '[1,"tools","gh",1e400,"search",40]',
  ]) {
    t.equal(decodeCursor(forged(payload), 'tools'), undefined, payload)
  }
})
