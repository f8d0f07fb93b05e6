import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CredentialFiles } from '../../../src/auth/store/files.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { recordOf } from '../../support/sign-in.js'

const setUp = (t: Test) => {
  const folder = t.testdir()
  const store = new CredentialFiles({ folder, key: undefined, log: silentLogger })
  return { folder, store, names: () => readdirSync(folder).filter(name => name.endsWith('.json')) }
}

const { discovery } = recordOf()
const elsewhere = recordOf({
  discovery: { ...discovery, server: { ...discovery.server, issuer: 'https://b.test' } },
  tokens: { access: 'of b', type: 'Bearer' },
})

t.test('a new login replaces all others once it is complete', async t => {
  const { folder, store, names } = setUp(t)
  const other = recordOf({ owner: 'person alice' })
  store.save(other)
  store.save(recordOf())
  store.replace(elsewhere)
  t.equal(names().length, 2)
  t.match(store.find(elsewhere), { tokens: { access: 'of b' } })
  t.match(store.find(other), { owner: 'person alice' }, 'the logins of others stay')

  // What cannot be written replaces nothing.
  const [file = ''] = names().filter(name => readFileSync(join(folder, name), 'utf8').includes('of b'))
  store.save(recordOf())
  mkdirSync(join(folder, `${file}.new`))
  t.throws(() => store.replace({ ...elsewhere, tokens: { access: 'newer', type: 'Bearer' } }), {
    code: 'unavailable',
  })
  t.equal(names().length, 3)
})

t.test('a record that is being written is there as it was, or as it was to be', async t => {
  const { folder, store, names } = setUp(t)
  store.save(recordOf())
  const [name = ''] = names()
  const file = join(folder, name)
  const newer = readFileSync(file, 'utf8').replace('"old"', '"newer"')
  for (let length = 0; length < newer.length - 1; length += 50) {
    writeFileSync(`${file}.new`, newer.slice(0, length), { mode: 0o600 })
    t.equal(store.find(recordOf())?.tokens?.access, 'old', `killed after ${length} characters`)
  }
  writeFileSync(`${file}.new`, newer, { mode: 0o600 })
  t.equal(store.find(recordOf())?.tokens?.access, 'newer')
  t.same(names(), [name])
})
