import { createLocalJWKSet, createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose'
import type { Clock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { matcherOf } from '../../kernel/globs.js'
import { objectIn } from '../../kernel/object.js'
import { serverMetadataUrls } from '../client/well-known.js'
import { OnceInAWhile } from './once-in-a-while.js'

/** What the configuration says about an authorization server whose tokens are accepted. */
export interface IssuerRules {
  readonly issuer: string
  /** Whom its tokens may be for, besides us. */
  readonly audience: readonly string[] | undefined
  /** Dotted paths in the claims of a token; `scope` and `scp` hold the scopes if undefined. */
  readonly scopeClaim: string | undefined
  readonly groupsClaim: string | undefined
  /** Undefined to find it in the metadata. */
  readonly jwksUri: string | undefined
  readonly strictType: boolean
  readonly introspection:
    | {
        readonly clientId: string
        readonly clientSecret: string
        /** A glob of its tokens: it is asked about no others. */
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
  /** As it came. */
  readonly text: string
  readonly value: Readonly<Record<string, unknown>>
}

const MINUTE_MS = 60_000
const SECOND_MS = 1000
const METADATA_MS = { doneMs: 10 * MINUTE_MS, failedMs: 10 * SECOND_MS }
/** jose asks for keys that it lacks at most every 30 s, but again at once after a failure. */
const KEYS_MS = { doneMs: 0, failedMs: 5 * SECOND_MS }
/** The fetch has limits of its own; this is for two requests. */
const KEYS_LIMIT_MS = 30 * SECOND_MS

/** An authorization server that we ask about tokens. What it answers is kept for a while. */
export class Issuer {
  readonly rules: IssuerRules
  /** Finds the key of a token, and asks for new ones if it is unknown. Rejects as jose, or with a Fault. */
  readonly keys: ReturnType<typeof createRemoteJWKSet>
  readonly #fetch: typeof fetch
  readonly #metadata: OnceInAWhile<Document>
  readonly #matches: (token: string) => boolean

  /** `fetch` must bound what the server can do to us. */
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

  /** Finds the key of a token among those that are known; undefined while none are. */
  get knownKeys(): JWTVerifyGetKey | undefined {
    const known = this.keys.jwks()
    return known && createLocalJWKSet(known)
  }

  /** The text of its metadata. Rejects with a Fault `unavailable` if it cannot be had. */
  async metadataText(): Promise<string> {
    return (await this.#metadata.get()).text
  }

  /** Whether it may be sent a token that says nothing about itself. */
  mayBeAskedAbout(token: string): boolean {
    return this.rules.introspection !== undefined && this.#matches(token)
  }

  /** Asks for what a token is worth (RFC 7662 §2). Rejects with a Fault `unavailable`. */
  async introspect(token: string): Promise<Readonly<Record<string, unknown>>> {
    const { clientId, clientSecret } = this.rules.introspection ?? { clientId: '', clientSecret: '' }
    const login = [clientId, clientSecret].map(formEncoded).join(':')
    const url = await this.#endpoint('introspection_endpoint')
    const answer = await this.#ask(url, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(login).toString('base64')}` },
      body: new URLSearchParams({ token, token_type_hint: 'access_token' }),
    })
    if (answer === undefined) throw unavailable(`${url} did not let us ask: check "introspection"`)
    return answer.value
  }

  async #readKeys(): Promise<Document> {
    const url = this.rules.jwksUri ?? (await this.#endpoint('jwks_uri'))
    const keys = await this.#ask(url)
    if (Array.isArray(keys?.value['keys'])) return keys
    throw unavailable(`${new URL(url).origin} has no JSON Web Key Set where it should be`)
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
      throw unavailable(`the metadata at ${url} is of another issuer than ${issuer}`)
    }
    throw unavailable(`${issuer} has no metadata`)
  }

  /** Resolves with undefined if there is nothing at an address. */
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

const unavailable = (words: string): Fault => new Fault('unavailable', words)

/** As RFC 6749 §2.3.1 has it for each half of `Basic`. */
const formEncoded = (text: string): string => new URLSearchParams([['', text]]).toString().slice(1)
