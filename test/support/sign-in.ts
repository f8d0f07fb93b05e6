import type { CredentialRecord, CredentialStore } from '../../src/auth/client/record.js'
import type { OAuthSettings, TokenSourceContext } from '../../src/auth/client/settings.js'
import { Fault } from '../../src/kernel/faults.js'

/** A server and its authorization server. */
export const S = 'https://s.test/mcp'
export const A = 'https://a.test'

/** A request that an authorization server received. */
interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: Headers
  readonly form: Readonly<Record<string, string>>
  readonly json: Readonly<Record<string, unknown>> | undefined
}

/** Content of a URL: a document, or a request handler. */
type Place = object | ((asked: Asked) => Response | object | Promise<Response | object>)

/** A simulated web of documents and endpoints; all other URLs are missing. */
export const webOf = (places: Record<string, Place>) => {
  const asked: Asked[] = []
  const fetch = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init)
    const { method, url, headers } = request
    const text = await request.text()
    const isJson = headers.get('content-type')?.includes('json') === true
    const one: Asked = {
      ...{ method, url, headers },
      form: Object.fromEntries(new URLSearchParams(isJson ? '' : text)),
      json: isJson ? JSON.parse(text) : undefined,
    }
    asked.push(one)
    const place = places[url]
    if (place === undefined) return new Response(null, { status: 404 })
    const found = typeof place === 'function' ? await place(one) : place
    return found instanceof Response ? found : Response.json(found)
  }
  return { fetch, asked, places, to: (url: string) => asked.filter(one => one.url === url) }
}

/** The metadata of both servers, and a token endpoint with a given answer. */
export const usualWeb = (token: Place = { access_token: 'new', token_type: 'Bearer' }) =>
  webOf({
    'https://s.test/.well-known/oauth-protected-resource/mcp': { resource: S, authorization_servers: [A] },
    [`${A}/.well-known/oauth-authorization-server`]: METADATA,
    [`${A}/token`]: token,
  })

export const METADATA = {
  issuer: A,
  authorization_endpoint: `${A}/authorize`,
  token_endpoint: `${A}/token`,
  code_challenge_methods_supported: ['S256'],
}

/** Keeps records in memory; its lock admits one caller at a time. */
export class MemoryStore implements CredentialStore {
  record: CredentialRecord | undefined
  /** Runs before the lock holder. */
  onLocked: () => void = () => undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(record?: CredentialRecord) {
    this.record = record
  }

  find(): CredentialRecord | undefined {
    return this.record
  }

  read(): CredentialRecord | undefined {
    return this.record
  }

  save(record: CredentialRecord): void {
    this.record = record
  }

  remove(): void {
    this.record = undefined
  }

  renewing<T>(record: CredentialRecord, work: () => Promise<T>): Promise<T> {
    return this.locked(record, work)
  }

  locked<T>(_record: CredentialRecord, work: () => T | Promise<T>): Promise<T> {
    const next = this.#last.then(() => {
      this.onLocked()
      return work()
    })
    this.#last = next.catch(() => undefined)
    return next
  }
}

export const NOW = 1_700_000_000_000

/** Returns a recent login with these overrides. */
export const recordOf = (more: Partial<CredentialRecord> = {}): CredentialRecord => ({
  version: 1,
  url: S,
  owner: 'shared',
  redirect: 'loopback',
  discovery: { resource: S, scopes: undefined, server: METADATA, by: 'metadata' },
  discoveredMs: NOW,
  client: { id: 'c', by: 'registration' },
  tokens: { access: 'old', type: 'Bearer', refresh: 'r' },
  ...more,
})

/** Returns a token context, with `files` as its files. */
export const contextOf = (
  fetch: typeof globalThis.fetch,
  store: CredentialStore,
  {
    settings = {},
    files = {},
  }: { readonly settings?: OAuthSettings; readonly files?: Readonly<Record<string, string>> } = {},
): TokenSourceContext => ({
  ...{ fetch, store, settings },
  ...{ url: S, owner: 'shared', server: 'linear', command: 'mcp-proxy auth login linear' },
  revision: '2025-11-25',
  nowMs: () => NOW,
  readFile: async path => {
    const text = files[path]
    if (text === undefined) throw new Fault('unauthorized', `${path} cannot be read`)
    return text
  },
})
