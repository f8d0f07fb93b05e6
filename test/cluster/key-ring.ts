import { randomBytes } from 'node:crypto'
import t from 'tap'
import { KeyRing } from '../../src/cluster/key-ring.js'

const key = (): string => randomBytes(32).toString('base64')

t.test('what is sealed opens with any key of the ring, and for the same thing alone', async t => {
  const [old, young] = [key(), key()]
  const sealed = new KeyRing([old]).seal('record', 'session a', Buffer.from('text'))
  t.same(new KeyRing([young, old]).open('record', 'session a', sealed), Buffer.from('text'))
  t.equal(new KeyRing([young]).open('record', 'session a', sealed), undefined, 'another key')
  const ring = new KeyRing([old])
  t.equal(ring.open('record', 'session b', sealed), undefined, 'said to be of another session')
  t.equal(ring.open('session-id', 'session a', sealed), undefined, 'said to be another kind of thing')
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = Buffer.from(sealed)
    changed[at] = (changed[at] ?? 0) ^ 1
    t.equal(ring.open('record', 'session a', changed), undefined, `byte ${at} changed`)
  }
  t.equal(ring.open('record', 'session a', sealed.subarray(0, 20)), undefined, 'cut')
})

t.test('no two seals are the same', async t => {
  const ring = new KeyRing([key()])
  const nonces = Array.from({ length: 1000 }, () =>
    ring.seal('record', 'a', Buffer.from('x')).subarray(0, 12).toString('hex'),
  )
  t.equal(new Set(nonces).size, 1000)
})

t.test('a signature counts for its text, made with any key of the ring', async t => {
  const [old, young] = [key(), key()]
  const mac = new KeyRing([old]).sign('text')
  t.equal(new KeyRing([young, old]).isSigned('text', mac), true)
  t.equal(new KeyRing([young]).isSigned('text', mac), false)
  t.equal(new KeyRing([old]).isSigned('texT', mac), false)
  t.equal(new KeyRing([old]).isSigned('text', mac.subarray(1)), false)
})

t.test('keys are named without being told, and there has to be one', async t => {
  const secret = key()
  const [name = ''] = new KeyRing([secret]).names
  t.match(name, /^[\w-]{8}$/)
  t.notMatch(secret, name)
  t.throws(() => new KeyRing([]), TypeError)
})
