import t from 'tap'
import {
  allowWith,
  answerAt,
  authorizePath,
  personOf,
  type RunningAuthServer,
  register,
  startAuthServer,
} from '../../../support/auth-server.js'

const TOKEN = 'mcpp_alice'
const PEOPLE = { auth: { people: [personOf('alice', TOKEN, ['mcp', 'github'])] } }
const REDIRECT = { redirect_uri: 'https://app.test/cb' }

const start = async (t: Parameters<typeof startAuthServer>[0], redirects = [REDIRECT.redirect_uri]) => {
  const as: RunningAuthServer = await startAuthServer(t, { ...PEOPLE, publicUrl: 'https://p.test' })
  const client = String((await register(as, { redirect_uris: redirects })).body['client_id'])
  const browser = as.browser()
  const pathOf = (more: object) => authorizePath(client, { ...REDIRECT, ...more })
  return {
    as,
    allow: async (more: object) => answerAt(await allowWith(browser, pathOf(more), TOKEN)),
    /** Whether a page is shown. */
    asks: async (more: object) => (await browser.open(pathOf(more))).text.includes('name="csrf"'),
  }
}

t.test('consent to one endpoint is not consent to another one', async t => {
  const { as, allow, asks } = await start(t)
  const [mcp, sse] = ['/mcp', '/sse'].map(path => ({ resource: as.issuer + path }))
  t.ok((await allow({ ...sse })).code)
  t.equal(await asks({ ...sse }), false)
  t.equal(await asks({ ...mcp }), true)
  t.equal(await asks({}), true, 'the default resource')
  t.equal(await asks({ resource: as.issuer }), true, 'all of the proxy')
  t.ok((await allow({ ...mcp })).code)
  for (const one of [mcp, sse]) t.equal(await asks({ ...one }), false)
})

t.test('separate consents do not add up', async t => {
  const { allow, asks } = await start(t)
  await allow({ scope: 'mcp' })
  await allow({ scope: 'github' })
  for (const scope of ['mcp', 'github']) t.equal(await asks({ scope }), false, scope)
  t.equal(await asks({ scope: 'mcp github' }), true)
  await allow({ scope: 'mcp github' })
  for (const scope of ['mcp', 'github', 'github mcp']) t.equal(await asks({ scope }), false, scope)
})

t.test('a native client is asked for each time, at all of its redirect URIs', async t => {
  const { allow, asks } = await start(t, [REDIRECT.redirect_uri, 'http://127.0.0.1/cb'])
  await allow({})
  t.equal(await asks({}), true)
  await allow({ redirect_uri: 'http://127.0.0.1/cb' })
  t.equal(await asks({ redirect_uri: 'http://127.0.0.1/cb' }), true)
})
