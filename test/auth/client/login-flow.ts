import { createHash } from 'node:crypto'
import t from 'tap'
import type { Discovery } from '../../../src/auth/client/discover.js'
import {
  beginLogin,
  chooseScopes,
  finishLogin,
  type LoginRequest,
} from '../../../src/auth/client/login-flow.js'
import { A, METADATA, NOW, S, usualWeb } from '../../support/sign-in.js'

const BACK = 'http://127.0.0.1:41873/callback'
const requestOf = (more: Partial<LoginRequest> = {}, discovery: Partial<Discovery> = {}): LoginRequest => ({
  discovery: { resource: S, scopes: undefined, server: METADATA, by: 'metadata', ...discovery },
  client: { id: 'c', by: 'registration' },
  redirectUri: BACK,
  settings: {},
  scopes: ['a'],
  ...more,
})

t.test('a person is sent with a challenge, a resource and a state', async t => {
  const { url, pending } = beginLogin(requestOf())
  const { state, verifier } = pending
  t.equal(url.origin + url.pathname, `${A}/authorize`)
  t.same(Object.fromEntries(url.searchParams), {
    response_type: 'code',
    client_id: 'c',
    redirect_uri: BACK,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    resource: S,
    scope: 'a',
  })
  for (const secret of [state, verifier]) t.equal(Buffer.from(secret, 'base64url').length, 32)
  t.not(beginLogin(requestOf()).pending.state, state)
  const offline = beginLogin(requestOf({ scopes: ['a', 'offline_access'] })).url
  t.equal(offline.searchParams.get('prompt'), 'consent')
  const without = beginLogin(requestOf({ scopes: undefined, settings: { resource: false } })).url.searchParams
  t.notOk(without.has('scope') || without.has('resource'))
  t.equal(
    beginLogin(requestOf({ settings: { resource: 'urn:x' } })).url.searchParams.get('resource'),
    'urn:x',
  )
})

t.test('the scopes are the configured ones, the scopes of the challenge, or all supported ones', async t => {
  const choose = (
    supported: readonly string[] | undefined,
    challenged: readonly string[] | undefined,
    { scopes, offered = [] }: { scopes?: readonly string[]; offered?: string[] } = {},
  ) => {
    const server = { ...METADATA, scopes_supported: offered }
    const settings = scopes === undefined ? {} : { scopes }
    const { discovery } = requestOf({}, { scopes: supported, server })
    return chooseScopes(discovery, settings, { challenged })
  }
  t.same(choose(['x', 'y'], ['b'], { scopes: ['a'] }), ['a'])
  t.same(choose(['x', 'y'], ['b']), ['b'])
  t.same(choose(['x', 'y'], undefined), ['x', 'y'])
  t.equal(choose(undefined, undefined), undefined)
  t.equal(choose([], undefined), undefined)
  const offered = ['x', 'offline_access']
  t.same(choose(['x'], undefined, { offered }), ['x', 'offline_access'], 'the authorization server has it')
  t.same(choose(['offline_access'], undefined, { offered }), ['offline_access'], 'once')
  t.equal(choose(undefined, undefined, { offered }), undefined, 'not where no scope is sent')
  const { discovery } = requestOf({}, { scopes: ['x'] })
  t.same(chooseScopes(discovery, {}, { challenged: ['b'], wanted: ['a', 'b'] }), ['b', 'a'])
})

/** Finishes a login with an answer that has the right state. */
const finish = async (answer: Readonly<Record<string, string>>, discovery: Partial<Discovery> = {}) => {
  const web = usualWeb()
  const { pending } = beginLogin(requestOf({}, discovery))
  const parameters = new URLSearchParams({ state: pending.state, ...answer })
  const context = { fetch: web.fetch, nowMs: () => NOW }
  const done = await finishLogin(context, pending, parameters).catch(thrown => thrown)
  return { ...done, words: done.message, forms: web.asked.map(({ form }) => form), pending }
}

t.test('who answers is checked before the code goes anywhere', async t => {
  const promised = { server: { ...METADATA, authorization_response_iss_parameter_supported: true } }
  const good = await finish({ code: 'x', iss: A })
  t.match(good, { is: 'tokens' })
  t.match(good.forms, [
    { grant_type: 'authorization_code', code: 'x', redirect_uri: BACK, resource: S, client_id: 'c' },
  ])
  t.equal(good.forms[0]?.['code_verifier'], good.pending.verifier)
  t.match(await finish({ code: 'x' }), { is: 'tokens' }, 'it is not promised')
  t.match(await finish({ code: 'x', iss: A }, promised), { is: 'tokens' })
  for (const [answer, how] of [
    [{ code: 'x' }, promised],
    [{ code: 'x', iss: 'https://evil.test' }, {}],
    [{ code: 'x', iss: 'https://evil.test' }, promised],
    [{ code: 'x', iss: `${A}/` }, {}],
    [{ code: 'x', iss: 'https://A.test' }, promised],
    [{ code: 'x', state: 'another' }, {}],
  ] as const) {
    const refused = await finish(answer, how)
    t.match(refused.words, /came from another authorization server/, JSON.stringify(answer))
    t.same(refused.forms, [], 'the code was not sent')
  }
  const unknown = { by: 'endpoints', resource: undefined } as const
  t.match(await finish({ code: 'x', iss: 'https://x.test' }, unknown), { is: 'tokens' }, 'no metadata')
})

t.test('texts of another issuer are not shown', async t => {
  const words = { error: 'access_denied', error_description: 'Visit https://evil.test to go on' }
  const evil = await finish({ ...words, iss: 'https://evil.test' })
  t.match(evil.words, /came from another authorization server/)
  t.notMatch(evil.words, /evil|Visit|access_denied/)
  const own = await finish({ ...words, iss: A })
  t.match(own.words, /refused the login: access_denied, "Visit https:\/\/evil\.test to go on"/, 'in quotes')
  t.match((await finish({ iss: A })).words, /does not contain a code/)
})
