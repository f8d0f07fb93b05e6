import t from 'tap'
import { boundedFetch } from '../../../src/auth/authorization-server/bounded-fetch.js'
import { createGuardedFetch } from '../../../src/transport/http/guarded-fetch.js'
import { FakeClock } from '../../support/fake-clock.js'

t.test('addresses that are never visited keep no other client from its document', async t => {
  const guarded = createGuardedFetch({ trusted: [] })
  const visit: typeof fetch = async (url, init) =>
    String(url).startsWith('https://c.test/') ? Response.json({}) : await guarded(url, init)
  const bounded = boundedFetch(visit, new FakeClock())
  for (let at = 0; at < 50; at += 1) await t.rejects(bounded(`https://10.0.0.1/${at}`), /is not visited/)
  for (let at = 0; at < 20; at += 1) t.equal((await bounded(`https://c.test/${at}`)).status, 200)
  await t.rejects(bounded('https://c.test/late'), /too many client documents/)
})
