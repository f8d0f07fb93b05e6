import * as oauth from 'oauth4webapi'
import { Fault } from '../../../kernel/faults.js'

export interface IdentityProviderOptions {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string | undefined
  /** Address to which it sends users back. */
  readonly redirectUri: string
  /** Dotted path of the groups in the claims of an ID token. */
  readonly groupsClaim: string | undefined
  readonly allowHttp: boolean
  /** Must bound time, size and destinations. */
  readonly fetch: typeof fetch
}

/** A sign-in in progress, to verify its answer. Secret. */
export interface PendingSignIn {
  readonly state: string
  readonly verifier: string
  readonly nonce: string
}

/** The signed-in user. */
export interface SignedInIdentity {
  readonly issuer: string
  readonly sub: string
  readonly groups: readonly string[]
  /** Secret; undefined if the provider sends none. */
  readonly refreshToken: string | undefined
  readonly access: AccessToken
}

/** An access token of the provider, to check the session. Secret. */
export interface AccessToken {
  readonly token: string
  /** By the wall clock; 0 if unknown. */
  readonly endsMs: number
}

/** The provider refused the sign-in, with an OAuth error code that clients may see. */
export class SignInRefused extends Error {
  readonly code: string

  constructor(code: string) {
    super('the identity provider refused the sign-in')
    this.code = code
  }
}

/**
 * The OpenID provider of a company. All methods reject with a Fault `unavailable` if it cannot be asked, or
 * its answer is invalid.
 */
export class IdentityProvider {
  readonly #options: IdentityProviderOptions
  readonly #client: oauth.Client
  readonly #auth: oauth.ClientAuth
  #metadata: Promise<oauth.AuthorizationServer> | undefined

  constructor(options: IdentityProviderOptions) {
    const { clientId, clientSecret } = options
    this.#options = options
    this.#client = { client_id: clientId }
    this.#auth = clientSecret === undefined ? oauth.None() : oauth.ClientSecretPost(clientSecret)
  }

  get issuer(): string {
    return this.#options.issuer
  }

  /** Resolves if the provider answers. */
  async check(): Promise<void> {
    await this.#discover()
  }

  /** Starts a sign-in and returns the URL for the browser. */
  async start(): Promise<{ readonly url: URL; readonly pending: PendingSignIn }> {
    const metadata = await this.#discover()
    const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()]
    const verifier = oauth.generateRandomCodeVerifier()
    const url = new URL(metadata.authorization_endpoint ?? '')
    const offline = metadata.scopes_supported?.includes('offline_access') === true
    const params = {
      client_id: this.#options.clientId,
      response_type: 'code',
      redirect_uri: this.#options.redirectUri,
      scope: `openid profile${offline ? ' offline_access' : ''}`,
      state,
      nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      // Required for a refresh token (OpenID Connect Core §11).
      ...(offline && { prompt: 'consent' }),
    }
    for (const [name, value] of Object.entries(params)) url.searchParams.set(name, value)
    return { url, pending: { state, verifier, nonce } }
  }

  /**
   * Completes a sign-in from the browser's redirect. Rejects with SignInRefused if the user may not sign in.
   */
  async finish(
    answer: URLSearchParams,
    { state, verifier, nonce }: PendingSignIn,
  ): Promise<SignedInIdentity> {
    const metadata = await this.#discover()
    return await this.#ask(async () => {
      const params = oauth.validateAuthResponse(metadata, this.#client, answer, state)
      const response = await oauth.authorizationCodeGrantRequest(
        metadata,
        this.#client,
        this.#auth,
        params,
        this.#options.redirectUri,
        verifier,
        this.#http,
      )
      const tokens = await oauth.processAuthorizationCodeResponse(metadata, this.#client, response, {
        expectedNonce: nonce,
        requireIdToken: true,
      })
      const claims = oauth.getValidatedIdTokenClaims(tokens)
      if (claims === undefined) throw new Fault('unavailable', 'the identity provider sent no ID token')
      const { refresh_token: refreshToken } = tokens
      const who = { issuer: this.#options.issuer, sub: claims.sub, groups: this.#groups(claims) }
      return { ...who, refreshToken, access: accessIn(tokens) }
    })
  }

  /**
   * Renews a session and resolves with its new data; groups only if the provider sends them. Rejects with
   * SignInRefused if the session has ended.
   */
  async renew(refreshToken: string): Promise<{
    readonly refreshToken: string
    readonly groups: readonly string[] | undefined
    readonly access: AccessToken
  }> {
    const metadata = await this.#discover()
    return await this.#ask(async () => {
      const response = await oauth.refreshTokenGrantRequest(
        metadata,
        this.#client,
        this.#auth,
        refreshToken,
        this.#http,
      )
      const tokens = await oauth.processRefreshTokenResponse(metadata, this.#client, response)
      const claims = tokens.id_token === undefined ? undefined : oauth.getValidatedIdTokenClaims(tokens)
      const { refresh_token: next = refreshToken } = tokens
      return { refreshToken: next, groups: claims && this.#groups(claims), access: accessIn(tokens) }
    })
  }

  /**
   * Checks a session by introspection (RFC 7662) or else userinfo (OpenID Connect Core §5.3), without using
   * its refresh token. Resolves with undefined if neither can tell.
   */
  async isActive(
    refreshToken: string | undefined,
    access: AccessToken | undefined,
  ): Promise<boolean | undefined> {
    const metadata = await this.#discover()
    const { introspection_endpoint: introspection, userinfo_endpoint: userinfo } = metadata
    return await this.#ask(async () => {
      if (introspection !== undefined && refreshToken !== undefined) {
        const options = { ...this.#http, additionalParameters: { token_type_hint: 'refresh_token' } }
        const [client, auth] = [this.#client, this.#auth]
        const response = await oauth.introspectionRequest(metadata, client, auth, refreshToken, options)
        return (await oauth.processIntrospectionResponse(metadata, client, response)).active
      }
      if (userinfo === undefined || access === undefined || access.endsMs <= Date.now()) return undefined
      const { status } = await oauth.userInfoRequest(metadata, this.#client, access.token, this.#http)
      if (status === 200) return true
      return status === 401 || status === 403 ? false : undefined
    })
  }

  get #http() {
    const { allowHttp, fetch, issuer } = this.#options
    return {
      // The type requires members that may be undefined.
      [oauth.customFetch]: (url: string, init: object) => fetch(url, init),
      // `fetch` decides which addresses may use http.
      // eslint-disable-next-line @typescript-eslint/no-deprecated -- its way to warn
      [oauth.allowInsecureRequests]: allowHttp || issuer.startsWith('http:'),
    }
  }

  #groups(claims: oauth.IDToken): readonly string[] {
    const path = this.#options.groupsClaim?.split('.') ?? ['groups']
    const found = path.reduce<unknown>((value, name) => memberOf(value, name), claims)
    const groups: readonly unknown[] = Array.isArray(found) ? found : [found]
    return groups.filter(group => typeof group === 'string')
  }

  /** Fetches the metadata once; retries after a failure. */
  #discover(): Promise<oauth.AuthorizationServer> {
    this.#metadata ??= this.#ask(async () => {
      const issuer = new URL(this.#options.issuer)
      const metadata = await oauth.processDiscoveryResponse(
        issuer,
        await oauth.discoveryRequest(issuer, this.#http),
      )
      if (metadata.authorization_endpoint === undefined)
        throw new Fault('unavailable', 'the identity provider has no authorization endpoint')
      return metadata
    }).catch((thrown: unknown) => {
      this.#metadata = undefined
      throw thrown
    })
    return this.#metadata
  }

  async #ask<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (thrown) {
      if (thrown instanceof oauth.AuthorizationResponseError) throw new SignInRefused(thrown.error)
      if (thrown instanceof oauth.ResponseBodyError && thrown.error === 'invalid_grant')
        throw new SignInRefused(thrown.error)
      if (thrown instanceof Fault) throw thrown
      throw new Fault('unavailable', 'the identity provider could not be asked', { cause: thrown })
    }
  }
}

const accessIn = (tokens: oauth.TokenEndpointResponse): AccessToken => ({
  token: tokens.access_token,
  endsMs: Date.now() + (tokens.expires_in ?? 0) * 1000,
})

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined
