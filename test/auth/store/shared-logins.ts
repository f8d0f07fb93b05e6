import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { CredentialRecord } from '../../../src/auth/client/record.js'
import { CredentialFiles } from '../../../src/auth/store/files.js'
import { SharedLogins } from '../../../src/auth/store/shared-logins.js'
import { Broadcasts } from '../../../src/cluster/broadcasts.js'
import { KeyRing } from '../../../src/cluster/key-ring.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { FakeClock, settled } from '../../support/fake-clock.js'
import { SharedMemory } from '../../support/shared-memory.js'
import { recordOf } from '../../support/sign-in.js'

const tokensOf = (access: string) => ({ tokens: { access, type: 'Bearer', refresh: `r ${access}` } as const })

/** Replicas that have folders of their own; an authorization server that takes each refresh token once. */
const setUp = (t: Test) => {
  const folder = t.testdir()
  const clock = new FakeClock()
  const memory = new SharedMemory(clock)
  const keys = [randomBytes(32).toString('base64')]
  const redeemed: string[] = []
  const replica = async (name: string, ...records: readonly CredentialRecord[]) => {
    const files = new CredentialFiles({ folder: join(folder, name), key: undefined, log: silentLogger })
    for (const record of records) files.take(record)
    const store = memory.store()
    const notes = new Broadcasts({ id: name, store, clock, ring: new KeyRing(keys), isSettled: () => true })
    const shared = new SharedLogins({ broadcasts: notes, own: files, log: silentLogger })
    files.share(shared)
    const facts = { address: name, version: '1', keys: [], state: 'ready', sinceMs: 1 } as const
    const beat = async (): Promise<void> => {
      notes.receive(await store.beat(name, facts, 6000))
      for (let n = 0; n < 10; n += 1) await settled()
    }
    await beat()
    const access = (): string | undefined => files.find(recordOf())?.tokens?.access
    /** What a request does whose token has ended. */
    const renew = (stale: string): Promise<string | undefined> =>
      files.renewing(recordOf(), async () => {
        const now = files.read(recordOf())
        if (now?.tokens !== undefined && now.tokens.access !== stale) return now.tokens.access
        redeemed.push(now?.tokens?.refresh ?? '')
        await settled()
        files.save(recordOf({ ...now, ...tokensOf(`after ${stale}`) }))
        return `after ${stale}`
      })
    return { files, shared, beat, access, renew }
  }
  const pass = async (ms: number): Promise<void> => {
    for (let leftMs = ms; leftMs > 0; leftMs -= 100) {
      clock.advance(100)
      await new Promise(resolve => setTimeout(resolve, 2))
    }
  }
  return { memory, replica, redeemed, pass, folder }
}

t.test('a token that ends is renewed once for all replicas, however many want it', async t => {
  const { replica, redeemed, pass } = setUp(t)
  // The clock of the second is far behind: what it has seems newer.
  const [old, oldAhead] = [1, Date.now() + 300_000].map(savedMs => recordOf({ ...tokensOf('old'), savedMs }))
  const all = [await replica('a', old as CredentialRecord), await replica('b', oldAhead as CredentialRecord)]
  all.push(await replica('c'))
  t.same(
    all.map(({ access }) => access()),
    ['old', 'old', 'old'],
    'who has none takes that of the others',
  )
  const got = Promise.all(Array.from({ length: 50 }, async (_, n) => await all[n % 3]?.renew('old')))
  await pass(2000)
  t.same([...new Set(await got)], ['after old'])
  t.same(redeemed, ['r old'])
  for (const { beat } of all) await beat()
  t.same(
    all.map(({ access }) => access()),
    Array(3).fill('after old'),
  )
})

t.test('a first login that another process makes at one replica is known to the others at once', async t => {
  const { folder, replica } = setUp(t)
  const [a, b] = [await replica('a'), await replica('b')]
  const cli = new CredentialFiles({ folder: join(folder, 'a'), key: undefined, log: silentLogger })
  cli.save(recordOf(tokensOf('made by hand')))
  a.shared.noticed(recordOf())
  await a.beat()
  await b.beat()
  t.equal(b.access(), 'made by hand')
})

t.test('without the engine nothing is redeemed', async t => {
  const { replica, redeemed, memory } = setUp(t)
  const a = await replica('a', recordOf(tokensOf('old')))
  memory.isUp = false
  await t.rejects(a.renew('old'), {
    code: 'unauthorized',
    data: { reason: 'auth-unreachable', retryAfterMs: 5000 },
  })
  t.same(redeemed, [])
})

t.test('a login at one replica is there at all of them, and after the engine lost its data, too', async t => {
  const { replica, memory, pass, folder } = setUp(t)
  const [a, b] = [await replica('a'), await replica('b')]
  a.files.replace(recordOf(tokensOf('first')))
  await settled()
  await b.beat()
  t.equal(b.access(), 'first')

  // As `mcp-proxy auth login`, which is another process.
  const other = new CredentialFiles({ folder: join(folder, 'b'), key: undefined, log: silentLogger })
  other.save(recordOf(tokensOf('second')))
  b.shared.noticed(recordOf())
  await settled()
  await a.beat()
  t.equal(a.access(), 'second')
  a.shared.noticed(recordOf())

  memory.clear()
  await a.beat()
  const c = await replica('c')
  await c.beat()
  t.equal(c.access(), 'second')

  memory.isUp = false
  b.files.save(recordOf(tokensOf('third')))
  await pass(11_000)
  t.equal(b.access(), 'third', 'it is kept, although others cannot be told')
})
