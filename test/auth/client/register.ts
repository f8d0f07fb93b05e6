import t from 'tap'
import { becomeClient, type Registration } from '../../../src/auth/client/register.js'
import type { OAuthSettings } from '../../../src/auth/client/settings.js'
import type { Fault } from '../../../src/kernel/faults.js'
import { A, METADATA, NOW, S, webOf } from '../../support/sign-in.js'

const LOOPBACK = 'http://127.0.0.1:41873/callback'
const REGISTER = `${A}/register`
const refuse = (error?: string, status = 400) =>
  Response.json({ error, error_description: 'Visit x' }, { status })

/** Becomes a client of an authorization server that answers registrations as it is told, in turn. */
const become = async (
  answers: readonly (object | Response)[],
  {
    metadata = { registration_endpoint: REGISTER },
    settings = {},
    ...more
  }: { metadata?: object; settings?: OAuthSettings } & Partial<Registration> = {},
) => {
  const left = [...answers]
  const web = webOf({ [REGISTER]: () => left.shift() ?? refuse() })
  const registration: Registration = {
    discovery: { resource: S, scopes: undefined, server: { ...METADATA, ...metadata }, by: 'metadata' },
    settings,
    scopes: ['a', 'offline_access'],
    redirectUri: LOOPBACK,
    applicationType: 'native',
    clientName: 'mcp-proxy (here)',
    known: undefined,
    ...more,
  }
  const context = { fetch: web.fetch, nowMs: () => NOW }
  const client = await becomeClient(context, registration).catch((thrown: Fault) => thrown)
  return { client, asked: web.asked.map(({ json }) => json) }
}

t.test('what is configured comes first, then our document, then a registration', async t => {
  const both = { registration_endpoint: REGISTER, client_id_metadata_document_supported: true }
  const clientMetadataUrl = 'https://us.test/client.json'
  t.match(await become([], { metadata: both, settings: { clientId: 'mine', clientMetadataUrl } }), {
    client: { id: 'mine', by: 'configuration' },
    asked: [],
  })
  const document = { client: { id: clientMetadataUrl, by: 'document' }, asked: [] }
  t.match(await become([], { metadata: both, settings: { clientMetadataUrl } }), document)
  const registered = await become([{ client_id: 'c' }], { metadata: both })
  t.match(registered, { client: { id: 'c', by: 'registration' } })
  const unsupported = await become([{ client_id: 'c' }], { settings: { clientMetadataUrl } })
  t.match(unsupported, { client: { id: 'c', by: 'registration' } }, 'documents are not said to be taken')
  t.match(await become([], { metadata: {} }), { client: { data: { reason: 'needs-client' } }, asked: [] })
})

t.test('a registration declares the client type', async t => {
  const { asked } = await become([{ client_id: 'c' }])
  t.same(asked, [
    {
      client_name: 'mcp-proxy (here)',
      software_id: 'mcp-proxy-daemon',
      application_type: 'native',
      redirect_uris: [LOOPBACK],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      scope: 'a offline_access',
    },
  ])
  const onPage = { applicationType: 'web', redirectUri: 'https://p.test/oauth/callback' } as const
  t.match(await become([{ client_id: 'c' }], onPage), {
    asked: [{ application_type: 'web', redirect_uris: ['https://p.test/oauth/callback'] }],
  })
})

t.test('a refused registration is tried once more, as the other kind of client', async t => {
  const type = await become([refuse('invalid_client_metadata'), { client_id: 'c' }])
  t.match(type.client, { id: 'c', redirectUri: LOOPBACK })
  t.match(type.asked, [{ application_type: 'native' }, { application_type: 'web' }])
  const name = await become([refuse('invalid_redirect_uri'), { client_id: 'c' }])
  t.match(name.client, { id: 'c', redirectUri: 'http://localhost:41873/callback' })
  t.match(name.asked[1], { application_type: 'native', redirect_uris: ['http://localhost:41873/callback'] })
  const named = await become([refuse('invalid_redirect_uri')], { redirectUri: 'http://localhost:1/cb' })
  t.match(named.asked, [{ application_type: 'native' }, { application_type: 'web' }], 'it is named already')
})

t.test('what cannot be fixed is said in the words of the authorization server', async t => {
  const { client, asked } = await become([refuse('a'), refuse('b')])
  t.match(client, { data: { reason: 'needs-client' }, message: /refused to register us \(b, "Visit x"\)/ })
  t.equal(asked.length, 2, 'not a third time')
  for (const status of [401, 404, 422, 500]) {
    const once = await become([new Response(null, { status })])
    t.match(once.client, { data: { reason: 'needs-client' }, message: new RegExp(`HTTP status ${status}`) })
    t.equal(once.asked.length, 1)
  }
  for (const body of [{}, { client_id: '' }, { client_id: 7 }, []]) {
    t.match((await become([body])).client, { data: { reason: 'needs-client' } })
  }
  const long = Response.json({ error: 'x'.repeat(9999) }, { status: 403 })
  t.ok(((await become([long])).client as Fault).message.length < 700)
  const gone = await become([], { metadata: { registration_endpoint: 'nowhere' } })
  t.match(gone.client, { data: { reason: 'auth-unreachable' } })
})

t.test('what the authorization server made of a registration counts', async t => {
  const { client } = await become([
    {
      client_id: 'c',
      client_secret: 's',
      client_secret_expires_at: 1_800_000_000,
      token_endpoint_auth_method: 'client_secret_post',
      redirect_uris: [
        7,
        'https://elsewhere.test/',
        'http://localhost:41873/other',
        'http://localhost:41873/callback',
      ],
    },
  ])
  t.same(client, {
    id: 'c',
    secret: 's',
    secretEndsMs: 1_800_000_000_000,
    method: 'client_secret_post',
    redirectUri: 'http://localhost:41873/callback',
    by: 'registration',
  })
  for (const uris of [undefined, 'x', [], [LOOPBACK], ['http://localhost:1/', LOOPBACK]]) {
    t.match((await become([{ client_id: 'c', redirect_uris: uris }])).client, { redirectUri: LOOPBACK })
  }
})

t.test('a redirect URI that does not lead here is of no use', async t => {
  const away = ['https://elsewhere.test/callback', 'http://10.0.0.1/', 'mailto:x', 'nonsense']
  away.push('http://127.0.0.1:41873/callback/of-another-issuer')
  const changed = { data: { reason: 'needs-client' }, message: /changed our redirect URI/ }
  t.match((await become([{ client_id: 'c', redirect_uris: away }])).client, changed)
  const onPage = { redirectUri: 'https://p.test/oauth/callback', applicationType: 'web' } as const
  t.match((await become([{ client_id: 'c', redirect_uris: [LOOPBACK] }], onPage)).client, changed)
})

t.test('a registration is used again until its secret ends, or the address is another', async t => {
  const known = { id: 'c', by: 'registration', redirectUri: LOOPBACK } as const
  const idOf = async (more: Partial<Registration>) => {
    const { client } = await become([{ client_id: 'new' }], more)
    return 'id' in client ? client.id : client.message
  }
  t.equal(await idOf({ known }), 'c')
  t.equal(await idOf({ known: { ...known, secretEndsMs: NOW + 1 } }), 'c')
  t.equal(await idOf({ known: { ...known, secretEndsMs: NOW } }), 'new')
  t.equal(await idOf({ known, redirectUri: 'http://127.0.0.1:1/callback' }), 'new')
  t.equal(await idOf({ known: { ...known, by: 'configuration' } }), 'new', 'it is configured no more')
})
