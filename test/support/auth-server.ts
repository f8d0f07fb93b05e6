import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type AuthServer,
  type AuthServerOptions,
  createAuthServer,
} from '../../src/auth/authorization-server/server.js'
import type { AuthConfig, EmbeddedServer, Person } from '../../src/config/types.js'
import { systemClock } from '../../src/kernel/async/clock.js'
import { LimitCounters } from '../../src/kernel/limit-counters.js'
import { DEFAULT_LIMITS, type Limits } from '../../src/kernel/limits.js'
import { type Logger, silentLogger } from '../../src/kernel/logger.js'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

export const personOf = (name: string, token?: string, scopes?: readonly string[]): Person => ({
  name,
  tokens:
    token === undefined
      ? []
      : [{ name: 'laptop', sha256: sha256(token), expiresMs: Number.POSITIVE_INFINITY }],
  subjects: [],
  scopes,
})

export interface AuthServerSetting {
  readonly publicUrl?: string
  readonly auth?: Partial<AuthConfig>
  readonly embedded?: Partial<EmbeddedServer>
  readonly limits?: Partial<Limits>
  readonly stateDir?: string
  readonly fetch?: typeof fetch
  readonly log?: Logger
  readonly onEvent?: AuthServerOptions['onEvent']
  readonly replicas?: AuthServerOptions['replicas']
}

export interface RunningAuthServer {
  /** Listen address. */
  readonly base: string
  readonly issuer: string
  readonly stateDir: string
  readonly server: AuthServer
  /** Tests may change it, as a reload does. */
  auth: AuthConfig
  browser(): Browser
  stop(): Promise<void>
}

interface TestFolder {
  testdir(): string
  teardown(work: () => unknown): void
}

/** Returns the grant of a token, as the gate finds it. */
export const found = ({ server }: Pick<RunningAuthServer, 'server'>, token: string) =>
  server.find(sha256(token))

/** Runs only the authorization server, on loopback. */
export const startAuthServer = async (
  t: TestFolder,
  {
    publicUrl,
    auth,
    embedded,
    limits,
    fetch,
    stateDir = t.testdir(),
    log = silentLogger,
    onEvent,
    replicas,
  }: AuthServerSetting = {},
): Promise<RunningAuthServer> => {
  const http = createServer((request, response) => running.server?.handle(request, response))
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  const stop = async (): Promise<void> => {
    running.server?.close()
    const closed = new Promise(resolve => http.close(resolve))
    http.closeAllConnections()
    await closed
  }
  t.teardown(stop)
  const base = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const running: { auth: AuthConfig; server?: AuthServer } = {
    auth: {
      publicUrl: publicUrl ?? base,
      loopback: 'token',
      baseScope: 'mcp',
      people: [],
      issuers: [],
      grants: [],
      scopeImplies: {},
      embedded: { registration: 'open', privateRedirects: [], clients: [], login: undefined, ...embedded },
      ...auth,
    },
  }
  const server = await createAuthServer({
    publicUrl: publicUrl ?? base,
    resourcePaths: () => ['/mcp', '/sse'],
    auth: () => running.auth,
    scopes: () => ['mcp', 'github', 'github:admin'],
    stateDir,
    bounds: new LimitCounters({ limits: { ...DEFAULT_LIMITS, ...limits } }),
    clock: systemClock,
    log,
    ...{ onEvent, replicas },
    ...(fetch && { fetch }),
  })
  running.server = server
  const issuer = publicUrl ?? base
  return Object.assign(running, {
    base,
    issuer,
    stateDir,
    server,
    stop,
    browser: () => new Browser(base, issuer),
  })
}

export interface Visited {
  readonly status: number
  readonly url: string
  readonly headers: Headers
  readonly text: string
}

/** A browser without scripts: keeps cookies, follows redirects within the proxy, and submits forms. */
export class Browser {
  readonly cookies = new Map<string, string>()
  readonly #base: string
  readonly #issuer: string

  constructor(base: string, issuer: string) {
    this.#base = base
    this.#issuer = issuer
  }

  /** Sends one request. */
  async ask(url: string, init: RequestInit = {}): Promise<Visited> {
    const at = url.startsWith('/') ? this.#base + url : url.replace(this.#issuer, this.#base)
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { accept: 'text/html,*/*;q=0.8', ...(cookie !== '' && { cookie }), ...init.headers }
    const response = await fetch(at, { ...init, redirect: 'manual', headers })
    for (const text of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(text) ?? []
      if (value === '') this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    return { status: response.status, url: at, headers: response.headers, text: await response.text() }
  }

  /**
   * Follows redirects up to a page, or up to a redirect to another origin, which becomes `url` without a
   * visit.
   */
  async open(url: string, init: RequestInit = {}): Promise<Visited> {
    let page = await this.ask(url, init)
    for (let hops = 0; hops < 10; hops += 1) {
      const location = page.headers.get('location')
      if (location === null || page.status < 300 || page.status > 399) return page
      const next = new URL(location, `${this.#issuer}/`).href
      if (!next.startsWith(`${this.#issuer}/`)) return { ...page, url: next }
      page = await this.ask(next)
    }
    return page
  }

  /** Presses a button of a page's form. */
  async press(page: Visited, action: string, more: Readonly<Record<string, string>> = {}): Promise<Visited> {
    const path = /<form method="post" action="([^"]+)"/.exec(page.text)?.[1] ?? ''
    const csrf = /name="csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
    return await this.open(path, {
      method: 'POST',
      headers: { origin: this.#issuer },
      body: new URLSearchParams({ csrf, action, ...more }),
    })
  }
}

/** Returns the code that a page shows for `mcp-proxy auth approve`. */
export const codeOn = ({ text }: Visited): string => /auth approve ([A-Z2-7]{8})\b/.exec(text)?.[1] ?? ''

const VERIFIER = randomBytes(32).toString('base64url')

export const register = async (
  { base }: Pick<RunningAuthServer, 'base'>,
  metadata: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly status: number; readonly body: Record<string, unknown> }> => {
  const response = await fetch(`${base}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'Test client', redirect_uris: ['http://127.0.0.1/cb'], ...metadata }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

const formOf = (params: Readonly<Record<string, string | undefined>>): URLSearchParams => {
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) if (value !== undefined) form.set(name, value)
  return form
}

/** Returns the path of an authorization request; omits undefined parameters. */
export const authorizePath = (
  client: string,
  more: Readonly<Record<string, string | undefined>> = {},
): string => {
  const params = {
    response_type: 'code',
    client_id: client,
    redirect_uri: 'http://127.0.0.1/cb',
    state: 'the state',
    code_challenge: createHash('sha256').update(VERIFIER).digest('base64url'),
    code_challenge_method: 'S256',
    ...more,
  }
  return `/authorize?${formOf(params)}`
}

interface TokenAnswer {
  readonly status: number
  readonly headers: Headers
  readonly body: {
    readonly access_token: string
    readonly refresh_token: string
    readonly scope: string
    readonly error?: string
    readonly error_description?: string
  }
}

/** Requests tokens; omits undefined parameters. */
export const askToken = async (
  { base }: Pick<RunningAuthServer, 'base'>,
  params: Readonly<Record<string, string | undefined>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<TokenAnswer> => {
  const response = await fetch(`${base}/token`, { method: 'POST', headers, body: formOf(params) })
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as TokenAnswer['body'],
  }
}

/** Returns the parameters that a client received at its redirect URI. */
export const answerAt = ({ url }: Visited): Record<string, string> =>
  Object.fromEntries(new URL(url).searchParams)

export const exchange = (
  as: Pick<RunningAuthServer, 'base'>,
  client: string,
  code: string | undefined,
  more: Readonly<Record<string, string | undefined>> = {},
): Promise<TokenAnswer> =>
  askToken(as, {
    grant_type: 'authorization_code',
    client_id: client,
    code,
    code_verifier: VERIFIER,
    redirect_uri: 'http://127.0.0.1/cb',
    ...more,
  })

/** Signs a user in with a personal token. Resolves with the browser's final page. */
export const allowWith = async (browser: Browser, path: string, token: string): Promise<Visited> =>
  browser.press(await browser.open(path), 'allow', { token })
