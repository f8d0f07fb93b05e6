import t from 'tap'
import { CredentialFiles } from '../../../src/auth/store/files.js'
import { logOut } from '../../../src/auth/store/logout.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { LoginServer } from '../../support/server/login-server.js'
import { METADATA, recordOf } from '../../support/sign-in.js'

t.test('a logout takes back the tokens that a proxy has just got', async t => {
  const server = await LoginServer.start(t)
  const store = new CredentialFiles({ folder: t.testdir(), key: undefined, log: silentLogger })
  const { url, mcpUrl } = server
  const { discovery, ...more } = recordOf({ url: mcpUrl })
  const metadata = { ...METADATA, revocation_endpoint: `${url}/revoke` }
  const record = { ...more, discovery: { ...discovery, server: metadata } }
  store.save(record)
  let ended: ReturnType<typeof logOut> | undefined
  await store.locked(record, () => {
    const login = { server: 'linear', url: mcpUrl, settings: {}, owner: 'shared' }
    ended = logOut({ ...login, store, forgetsClient: false })
    store.save({ ...record, tokens: { access: 'newer', type: 'Bearer', refresh: 'r2' } })
  })
  t.same(await ended, { wasSignedIn: true, isRevoked: true })
  t.same(
    server.to('/revoke').map(({ form }) => form.get('token')),
    ['r2', 'newer'],
  )
  t.equal(store.find(record)?.tokens, undefined)
  t.equal(store.find(record)?.client?.id, 'c')
})
