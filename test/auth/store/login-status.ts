import t from 'tap'
import { CredentialFiles } from '../../../src/auth/store/files.js'
import { loginStatuses } from '../../../src/auth/store/login-status.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { recordOf, S } from '../../support/sign-in.js'

const servers = [
  { name: 'linear', transport: { kind: 'auto', url: S, headers: {} }, owner: 'shared' },
] as const

t.test('the status shows whether a token is for its server, without any part of the token', async t => {
  const store = new CredentialFiles({ folder: t.testdir(), key: undefined, log: silentLogger })
  const jwt = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`
  for (const [access, isForServer] of [
    [jwt({ aud: S }), true],
    [jwt({ aud: ['https://other.test', `${S}/`] }), true],
    [jwt({ aud: 'https://other.test' }), false],
    [jwt({}), undefined],
    ['opaque', undefined],
  ] as const) {
    store.save(recordOf({ tokens: { access, type: 'Bearer', scopes: ['a'], refresh: 'r' } }))
    const [status] = await loginStatuses(store, servers, false)
    t.match(status, { server: 'linear', state: 'ok', scopes: ['a'], isRenewable: true, isForServer })
    t.notMatch(JSON.stringify(status), access)
  }
  const states = [
    [{ tokens: { access: 'x', type: 'Bearer', endsMs: 1 } }, 'expired'],
    [{ tokens: { access: 'x', type: 'Bearer', endsMs: 1, refresh: 'r' } }, 'ok'],
    [{ tokens: undefined }, 'needs-auth'],
    [
      {
        tokens: { access: 'x', type: 'Bearer', scopes: ['a'] },
        stepUp: { scopes: ['a', 'b'], attempts: 0, total: 0, sinceMs: 0 },
      },
      'insufficient-scope',
    ],
  ] as const
  for (const [more, state] of states) {
    store.save(recordOf(more))
    t.match(await loginStatuses(store, servers, false), [{ state }], state)
  }
})
