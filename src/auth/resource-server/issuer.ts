import { createLocalJWKSet, createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose'
import type { Clock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { matcherOf } from '../../kernel/globs.js'
import { objectIn } from '../../kernel/object.js'
import { serverMetadataUrls } from '../client/well-known.js'
import { OnceInAWhile } from './once-in-a-while.js'

/** Configuration of an authorization server whose tokens are accepted. */
export interface IssuerRules {
  readonly issuer: string
  /** Accepted audiences in addition to our own. */
  readonly audience: readonly string[] | undefined
  /** Dotted paths in the claims of a token; if undefined, `scope` and `scp` hold the scopes. */
  readonly scopeClaim: string | undefined
  readonly groupsClaim: string | undefined
  /** Undefined to use the metadata. */
  readonly jwksUri: string | undefined
  readonly strictType: boolean
  readonly introspection:
    | {
        readonly clientId: string
        readonly clientSecret: string
        /** Glob of the tokens that it may be asked about. */
        readonly tokens?: string | undefined
      }
    | undefined
}

interface Question {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: URLSearchParams
}

interface Document {
  /** The unparsed document. */
  readonly text: string
  readonly value: Readonly<Record<string, unknown>>
}

const MINUTE_MS = 60_000
const SECOND_MS = 1000
const METADATA_MS = { doneMs: 10 * MINUTE_MS, failedMs: 10 * SECOND_MS }
/** jose fetches missing keys at most every 30 s, but retries at once after a failure. */
const KEYS_MS = { doneMs: 0, failedMs: 5 * SECOND_MS }
/** Covers two requests; `fetch` has limits of its own. */
const KEYS_LIMIT_MS = 30 * SECOND_MS

/** An authorization server that verifies tokens. Caches its documents. */
export class Issuer {
  readonly rules: IssuerRules
  /** Finds the key of a token, and fetches unknown ones. Rejects like jose, or with a Fault. */
  readonly keys: ReturnType<typeof createRemoteJWKSet>
  readonly #fetch: typeof fetch
  readonly #metadata: OnceInAWhile<Document>
  readonly #matches: (token: string) => boolean

  /** `fetch` must bound time, size and destinations. */
  constructor(rules: IssuerRules, fetch: typeof globalThis.fetch, clock: Clock) {
    this.rules = rules
    this.#fetch = fetch
    const { tokens } = rules.introspection ?? {}
    this.#matches =
      tokens === undefined ? () => true : matcherOf([tokens.includes('*') ? tokens : `${tokens}*`])
    this.#metadata = new OnceInAWhile(() => this.#readMetadata(), METADATA_MS, clock)
    const keys = new OnceInAWhile(() => this.#readKeys(), KEYS_MS, clock)
    this.keys = createRemoteJWKSet(new URL(rules.issuer), {
      [customFetch]: async () => new Response((await keys.get()).text),
      timeoutDuration: KEYS_LIMIT_MS,
    })
  }

  /** Finds the key of a token among the cached ones; undefined without any. */
  get knownKeys(): JWTVerifyGetKey | undefined {
    const known = this.keys.jwks()
    return known && createLocalJWKSet(known)
  }

  /** Returns the text of its metadata. Rejects with a Fault `unavailable`. */
  async metadataText(): Promise<string> {
    return (await this.#metadata.get()).text
  }

  /** Reports whether it may receive an opaque token. */
  mayBeAskedAbout(token: string): boolean {
    return this.rules.introspection !== undefined && this.#matches(token)
  }

  /** Introspects a token (RFC 7662 §2). Rejects with a Fault `unavailable`. */
  async introspect(token: string): Promise<Readonly<Record<string, unknown>>> {
    const { clientId, clientSecret } = this.rules.introspection ?? { clientId: '', clientSecret: '' }
    const login = [clientId, clientSecret].map(formEncoded).join(':')
    const url = await this.#endpoint('introspection_endpoint')
    const answer = await this.#ask(url, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(login).toString('base64')}` },
      body: new URLSearchParams({ token, token_type_hint: 'access_token' }),
    })
    if (answer === undefined) throw unavailable(`${url} refused the introspection: check "introspection"`)
    return answer.value
  }

  async #readKeys(): Promise<Document> {
    const url = this.rules.jwksUri ?? (await this.#endpoint('jwks_uri'))
    const keys = await this.#ask(url)
    if (Array.isArray(keys?.value['keys'])) return keys
    throw unavailable(`${new URL(url).origin} has no JSON Web Key Set at its configured address`)
  }

  async #endpoint(name: string): Promise<string> {
    const url = (await this.#metadata.get()).value[name]
    if (typeof url === 'string' && URL.canParse(url)) return url
    throw unavailable(`the metadata of ${this.rules.issuer} has no valid ${name}`)
  }

  async #readMetadata(): Promise<Document> {
    const { issuer } = this.rules
    for (const url of serverMetadataUrls(issuer)) {
      const document = await this.#ask(url)
      if (document === undefined) continue
      if (document.value['issuer'] === issuer) return document
      throw unavailable(`the metadata at ${url} has a different issuer than ${issuer}`)
    }
    throw unavailable(`${issuer} has no metadata`)
  }

  /** Resolves with undefined if there is no document at the URL. */
  async #ask(url: string, { headers, ...init }: Question = {}): Promise<Document | undefined> {
    const response = await this.#fetch(url, { ...init, headers: { accept: 'application/json', ...headers } })
    const { origin } = new URL(url)
    const { status } = response
    if ((status >= 300 && status < 500) || status === 502) return undefined
    if (status !== 200) throw unavailable(`${origin} answered with HTTP status ${status}`)
    const isJson = /^application\/(?:[\w.-]+\+)?json\b/i.test(response.headers.get('content-type') ?? '')
    const text = await response.text()
    const value = isJson ? objectIn(text) : undefined
    if (value !== undefined) return { text, value }
    throw unavailable(`${origin} did not answer with a JSON object`)
  }
}

const unavailable = (message: string): Fault => new Fault('unavailable', message)

/** Encodes each half of `Basic` (RFC 6749 §2.3.1). */
const formEncoded = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1)
