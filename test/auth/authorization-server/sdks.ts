import t from 'tap'
import { createProxy } from '../../../src/app/proxy.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { Browser, personOf } from '../../support/auth-server.js'
import { configWith } from '../../support/proxy/authorized.js'

const TOKEN = 'mcpp_alice'

/** As much of an SDK as is used here; each release has types of its own. */
interface Sdk {
  readonly client: () => Promise<{ Client: new (info: object, options?: object) => SdkClient }>
  readonly transport: (url: string, options: object) => Promise<SdkTransport>
  readonly path: string
}

interface SdkClient {
  connect(transport: SdkTransport): Promise<void>
  ping(): Promise<unknown>
  close(): Promise<void>
}

interface SdkTransport {
  finishAuth(code: string | URLSearchParams): Promise<void>
  close(): Promise<void>
}

type Modules = Readonly<Record<string, new (url: URL, options: object) => SdkTransport>>

const streamable = (load: () => Promise<unknown>) => async (url: string, options: object) => {
  const { StreamableHTTPClientTransport: Transport } = (await load()) as Modules
  if (Transport === undefined) throw new Error('this SDK has no Streamable HTTP')
  return new Transport(new URL(url), options)
}

const SDKS: Readonly<Record<string, Sdk>> = {
  '1.7': {
    client: () => import('sdk-1.7.0/client/index.js') as Promise<never>,
    transport: async (url, options) => {
      const { SSEClientTransport: Transport } = (await import(
        'sdk-1.7.0/client/sse.js'
      )) as unknown as Modules
      if (Transport === undefined) throw new Error('this SDK has no HTTP+SSE')
      return new Transport(new URL(url), options)
    },
    path: '/sse',
  },
  '1.13': {
    client: () => import('sdk-1.13.3/client/index.js') as Promise<never>,
    transport: streamable(() => import('sdk-1.13.3/client/streamableHttp.js')),
    path: '/mcp',
  },
  '1.20': {
    client: () => import('sdk-1.20.2/client/index.js') as Promise<never>,
    transport: streamable(() => import('sdk-1.20.2/client/streamableHttp.js')),
    path: '/mcp',
  },
  '1.32': {
    client: () => import('@modelcontextprotocol/sdk/client/index.js') as Promise<never>,
    transport: streamable(() => import('@modelcontextprotocol/sdk/client/streamableHttp.js')),
    path: '/mcp',
  },
  '2.4': {
    client: () => import('@modelcontextprotocol/client') as Promise<never>,
    transport: streamable(() => import('@modelcontextprotocol/client')),
    path: '/mcp',
  },
}

/** What a program keeps between its starts, and the browser that it opens. */
class Memory {
  readonly redirectUrl = 'http://localhost:8787/callback'
  opened: string | undefined
  #client: object | undefined
  #tokens: object | undefined
  #verifier = ''

  get clientMetadata() {
    return {
      client_name: 'SDK client',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    }
  }
  clientInformation = () => this.#client
  saveClientInformation = (client: object): void => {
    this.#client = client
  }
  tokens = () => this.#tokens
  saveTokens = (tokens: object): void => {
    this.#tokens = tokens
  }
  redirectToAuthorization = (url: URL): void => {
    this.opened = url.href
  }
  saveCodeVerifier = (verifier: string): void => {
    this.#verifier = verifier
  }
  codeVerifier = (): string => this.#verifier
  expire(): void {
    this.#tokens = { ...this.#tokens, access_token: 'expired' }
  }
}

for (const [version, sdk] of Object.entries(SDKS)) {
  t.test(`SDK ${version} signs in by itself, and refreshes`, async t => {
    const people = { alice: { tokens: [{ hash: `sha256:${personOf('alice', TOKEN).tokens[0]?.sha256}` }] } }
    const proxy = createProxy(
      configWith({ embedded: true, people }, { sse: true, listen: { port: 0, sse: true } }),
      {
        stateDir: t.testdir(),
        log: silentLogger,
        listWaitMs: 50,
      },
    )
    t.teardown(() => proxy.close())
    const { url } = await proxy.listen()
    const { origin } = new URL(url)
    const memory = new Memory()
    const { Client } = await sdk.client()
    const connect = async () => {
      const client = new Client({ name: 'test', version: '1' }, { capabilities: {} })
      const transport = await sdk.transport(origin + sdk.path, { authProvider: memory })
      t.teardown(() => client.close().catch(() => undefined))
      return { transport, connected: client.connect(transport).then(() => client) }
    }
    const first = await connect()
    await t.rejects(first.connected, { name: /Error/ })
    const browser = new Browser(origin, origin)
    const back = await browser.press(await browser.open(String(memory.opened)), 'allow', { token: TOKEN })
    t.ok(back.url.startsWith(`${memory.redirectUrl}?`))
    const answer = new URL(back.url).searchParams
    await first.transport.finishAuth(version === '2.4' ? answer : String(answer.get('code')))
    const client = await (await connect()).connected
    t.ok(await client.ping())
    memory.expire()
    memory.opened = undefined
    const again = await (await connect()).connected
    t.ok(await again.ping())
    t.equal(memory.opened, undefined, 'without asking the person again')
  })
}

t.test('clients in web pages of any origin may register, and ask for tokens', async t => {
  const proxy = createProxy(configWith({ embedded: true }), { stateDir: t.testdir(), log: silentLogger })
  t.teardown(() => proxy.close())
  const { origin } = new URL((await proxy.listen()).url)
  const post = (path: string, type: string, body: string) =>
    fetch(origin + path, {
      method: 'POST',
      headers: { 'content-type': type, origin: 'https://page.test' },
      body,
    })
  const client = JSON.stringify({ redirect_uris: ['https://page.test/cb'] })
  const registered = await post('/register', 'application/json', client)
  t.equal(registered.status, 201)
  t.equal(registered.headers.get('access-control-allow-origin'), '*')
  const refused = await post('/token', 'application/x-www-form-urlencoded', 'grant_type=refresh_token')
  t.equal(refused.status, 400, 'for what it lacks, not for its origin')
  t.equal((await post('/mcp', 'application/json', '{}')).status, 403)
})
