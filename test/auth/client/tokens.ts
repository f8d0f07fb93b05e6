import t from 'tap'
import { authenticationOf, readAnswer } from '../../../src/auth/client/tokens.js'

const NOW = 1_700_000_000_000
const answer = (body: unknown, more: { status?: number; type?: string; asked?: readonly string[] } = {}) => {
  const { status = 200, type = 'application/json', asked } = more
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const response = new Response(text, { status, headers: { 'content-type': type } })
  return readAnswer(response, { nowMs: NOW, asked, type: 'Bearer' })
}
const TOKEN = { access_token: 'x', token_type: 'Bearer' }

t.test('the lifetime of a token comes from the response, from the token, or is unknown', async t => {
  const jwt = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`
  const lifeOf = async (more: object) => {
    const read = await answer({ ...TOKEN, ...more })
    return read.is === 'tokens' ? read.tokens.lifeMs : read.is
  }
  t.equal(await lifeOf({ expires_in: 3600 }), 3_600_000)
  t.equal(await lifeOf({ expires_in: '3600' }), 3_600_000)
  t.equal(await lifeOf({ expires_in: 0 }), 0)
  for (const odd of ['3600abc', '', -1, null, {}, '1e3', ' 5'])
    t.equal(await lifeOf({ expires_in: odd }), undefined)
  t.equal(await lifeOf({}), undefined)
  t.equal(await lifeOf({ access_token: jwt({ exp: NOW / 1000 + 60 }) }), 60_000)
  t.equal(await lifeOf({ access_token: jwt({ exp: 1 }) }), 0)
  t.equal(await lifeOf({ access_token: jwt({ exp: 'soon' }) }), undefined)
})

t.test('an error takes precedence over the status, and tokens may be form-encoded', async t => {
  t.match(await answer({ error: 'bad_verification_code', ...TOKEN }), {
    is: 'refused',
    error: 'bad_verification_code',
  })
  t.match(await answer({ error: 'invalid_grant' }, { status: 400 }), {
    is: 'refused',
    error: 'invalid_grant',
  })
  t.match(await answer({ error: 'invalid_grant' }, { status: 500 }), { is: 'failed' })
  const form = { type: 'application/x-www-form-urlencoded; charset=utf-8' }
  t.match(await answer('access_token=y&token_type=bearer&scope=a', form), {
    is: 'tokens',
    tokens: { access: 'y', scopes: ['a'] },
  })
  for (const [body, status] of [
    ['<html>', 200],
    ['', 429],
    [[], 200],
    [{ access_token: 'x' }, 200],
    [{ ...TOKEN, token_type: 'mac' }, 200],
    [{ ...TOKEN, token_type: 'N_A' }, 200],
    [{ ...TOKEN, access_token: 'a b' }, 200],
    [{ ...TOKEN, access_token: 'a\r\nb' }, 200],
    [TOKEN, 302],
    [{}, 401],
  ] as const) {
    t.match(await answer(body, { status }), { is: 'failed', why: /token/ }, JSON.stringify(body))
  }
})

t.test('the granted scopes are the scopes of the response, or the requested ones', async t => {
  t.match(await answer({ ...TOKEN, scope: 'a b' }, { asked: ['c'] }), { tokens: { scopes: ['a', 'b'] } })
  t.match(await answer(TOKEN, { asked: ['c'] }), { tokens: { scopes: ['c'] } })
})

t.test('words of an authorization server are one line, cut, and in quotes', async t => {
  const read = await answer(
    { error: 'x', error_description: `a\nb\u202e${'c'.repeat(999)}` },
    { status: 400 },
  )
  if (read.is !== 'refused') throw new Error('it was not refused')
  t.match(read.message, /^x, "a b?/)
  t.ok(read.message.length < 350)
  t.notMatch(read.message, /[\n\u202e]/)
})

t.test('the client authenticates as the authorization server lists it', async t => {
  const methodFor = async (
    client: { secret?: string; method?: string },
    listed: readonly string[] | undefined,
  ) => {
    const server = {
      issuer: 'https://a.test',
      ...(listed && { token_endpoint_auth_methods_supported: [...listed] }),
    }
    const [body, headers] = [new URLSearchParams(), new Headers()]
    const authenticate = authenticationOf({ id: 'i:d', by: 'registration', ...client }, server)
    await authenticate(server, { client_id: 'i:d' }, body, headers)
    return headers.has('authorization') ? 'basic' : body.has('client_secret') ? 'post' : 'none'
  }
  const secret = 's'
  t.equal(await methodFor({}, ['client_secret_basic']), 'none')
  t.equal(await methodFor({ secret }, undefined), 'basic')
  t.equal(await methodFor({ secret }, ['client_secret_post', 'client_secret_basic']), 'basic')
  t.equal(await methodFor({ secret }, ['client_secret_post', 'none']), 'post')
  t.equal(await methodFor({ secret }, ['none']), 'none')
  t.equal(
    await methodFor({ secret, method: 'client_secret_post' }, ['client_secret_basic', 'client_secret_post']),
    'post',
  )
  t.equal(await methodFor({ secret, method: 'client_secret_post' }, ['client_secret_basic']), 'basic')
})
