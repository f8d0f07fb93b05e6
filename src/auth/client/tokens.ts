import type { AuthorizationServer, DPoPHandle } from 'oauth4webapi'
import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretPost,
  customFetch,
  DPoP,
  genericTokenEndpointRequest,
  None,
} from 'oauth4webapi'
import { Fault } from '../../kernel/faults.js'
import { objectIn } from '../../kernel/object.js'
import { addSecrets, sanitizeLine } from '../../kernel/secrets/mask.js'
import { scopesIn } from './challenges.js'
import { dpopKeys, type PrivateJwk } from './dpop.js'

/** The client registration at an authorization server. */
export interface OAuthClient {
  readonly id: string
  readonly secret?: string | undefined
  /** `token_endpoint_auth_method` of the registration. */
  readonly method?: string | undefined
  readonly redirectUri?: string | undefined
  /** By the wall clock; undefined if the secret does not expire. */
  readonly secretEndsMs?: number | undefined
  /** Source: the configuration, a metadata document, or dynamic registration. */
  readonly by: 'configuration' | 'document' | 'registration'
}

/** Tokens from a token endpoint. Secret. */
export interface Tokens {
  readonly access: string
  readonly type: 'Bearer' | 'DPoP' | 'N_A'
  readonly refresh?: string | undefined
  /** By the wall clock; undefined if unknown. */
  readonly endsMs?: number | undefined
  /** Lifetime of the access token at its issue. */
  readonly lifeMs?: number | undefined
  /** Granted scopes; undefined if neither the request nor the response names any. */
  readonly scopes?: readonly string[] | undefined
}

/** The result of a token request. */
export type TokenAnswer =
  | { readonly is: 'tokens'; readonly tokens: Tokens; readonly body: Readonly<Record<string, unknown>> }
  /** An OAuth error (RFC 6749 §5.2); `message` is the sanitized description of the authorization server. */
  | { readonly is: 'refused'; readonly error: string; readonly message: string }
  /** No usable response; a retry may succeed. */
  | { readonly is: 'failed'; readonly why: string; readonly retryAfterMs?: number | undefined }

/** Dependencies of requests to an authorization server. */
export interface AuthorizationContext {
  /** Must bound destinations, time and size. */
  readonly fetch: typeof fetch
  /** The wall clock, because expiry times are stored. */
  readonly nowMs: () => number
}

/** A request to a token endpoint. */
export interface TokenRequest {
  readonly server: AuthorizationServer
  readonly client: OAuthClient
  /** Overrides the client's authentication (`private_key_jwt`). */
  readonly authentication?: ClientAuth | undefined
  readonly grant: string
  readonly parameters: Readonly<Record<string, string | undefined>>
  readonly asked?: readonly string[] | undefined
  /** Key to bind the tokens to. */
  readonly dpopKey?: PrivateJwk | undefined
  /** Expected token type, if the token is not for requests. */
  readonly type?: 'N_A'
}

/** Requests tokens; repeats once with a nonce for the DPoP proof if required. Never rejects. */
export const requestTokens = async (
  context: AuthorizationContext,
  request: TokenRequest,
): Promise<TokenAnswer> => {
  const { dpopKey } = request
  const dpop = dpopKey && DPoP({}, await dpopKeys(dpopKey))
  const answer = await requestOnce(context, request, dpop)
  const isNonce = dpop !== undefined && answer.is === 'refused' && answer.error === 'use_dpop_nonce'
  return isNonce ? requestOnce(context, request, dpop) : answer
}

const requestOnce = async (
  { fetch, nowMs }: AuthorizationContext,
  { server, client, authentication, grant, parameters, asked, type }: TokenRequest,
  dpop: DPoPHandle | undefined,
): Promise<TokenAnswer> => {
  const given = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined)
  // Its error text is shown to users.
  const unmask = addSecrets([
    ...given.flatMap(([name, value]) => (SECRETS.has(name) ? [value] : [])),
    ...(client.secret === undefined ? [] : [client.secret]),
  ])
  try {
    const response = await genericTokenEndpointRequest(
      server,
      { client_id: client.id },
      authentication ?? authenticationOf(client, server),
      grant,
      new URLSearchParams(given),
      // `fetch` decides which addresses are allowed.
      { [customFetch]: fetch, [allowInsecureRequests]: true, ...(dpop !== undefined && { DPoP: dpop }) },
    )
    const wanted = type ?? (dpop === undefined ? 'Bearer' : 'DPoP')
    return await readAnswer(response, { nowMs: nowMs(), asked, type: wanted })
  } catch (thrown) {
    return { is: 'failed', why: thrown instanceof Fault ? thrown.message : 'its metadata is not usable' }
  } finally {
    unmask()
  }
}

/** Secret parameters of token requests. */
const SECRETS: ReadonlySet<string> = new Set([
  ...['code', 'code_verifier', 'refresh_token', 'device_code', 'assertion', 'subject_token'],
])

const DEFAULT_METHODS = ['client_secret_basic']

/** Returns the authentication of a client with a secret, or without (default of RFC 8414 §2). */
export const authenticationOf = (
  { secret, method }: OAuthClient,
  server: AuthorizationServer,
): ClientAuth => {
  if (secret === undefined) return None()
  const methods = server.token_endpoint_auth_methods_supported ?? DEFAULT_METHODS
  const usable = ['client_secret_basic', 'client_secret_post', 'none'].filter(each => methods.includes(each))
  const chosen = method !== undefined && usable.includes(method) ? method : (usable[0] ?? method)
  if (chosen === 'none') return None()
  return chosen === 'client_secret_post' ? ClientSecretPost(secret) : basic(secret)
}

/**
 * HTTP Basic with both halves form-encoded (RFC 6749 §2.3.1). `oauth4webapi` also encodes characters such as
 * `-`, which some servers do not decode.
 */
const basic =
  (secret: string): ClientAuth =>
  (_server, { client_id }, _body, headers) => {
    const login = [client_id, secret].map(formEncoded).join(':')
    headers.set('authorization', `Basic ${btoa(login)}`)
  }

const formEncoded = (text: string): string => new URLSearchParams([[text, '']]).toString().slice(0, -1)

interface Expected {
  readonly nowMs: number
  readonly asked: readonly string[] | undefined
  readonly type: Tokens['type']
}

/** Parses a response, including forms and errors with status 200. @internal */
export const readAnswer = async (response: Response, expected: Expected): Promise<TokenAnswer> => {
  const { status, headers } = response
  const body = bodyIn(await response.text(), headers.get('content-type') ?? '')
  if (status >= 500 || status === 429 || body === undefined) {
    const what = body === undefined ? ' and an unreadable body' : ''
    const why = `its token endpoint answered with HTTP status ${status}${what}`
    return { is: 'failed', why, retryAfterMs: millisecondsIn(headers.get('retry-after')) }
  }
  const { error } = body
  if (typeof error === 'string')
    return { is: 'refused', error: cutErrorText(error), message: tokenErrorText(body) }
  if (status >= 300) return { is: 'failed', why: `its token endpoint answered with HTTP status ${status}` }
  return readTokens(body, expected)
}

const readTokens = (
  body: Readonly<Record<string, unknown>>,
  { nowMs, asked, type }: Expected,
): TokenAnswer => {
  const { access_token: access, token_type: given, refresh_token: refresh, scope } = body
  if (typeof access !== 'string' || !/^[\x21-\x7e]+$/.test(access)) {
    return { is: 'failed', why: 'its token endpoint did not return a usable access token' }
  }
  if (typeof given !== 'string' || given.toLowerCase() !== type.toLowerCase())
    return { is: 'failed', why: `its token endpoint returned a token that is not of type ${type}` }
  const lifeMs = millisecondsIn(body['expires_in']) ?? hintedLifeMs(access, nowMs)
  const tokens: Tokens = {
    access,
    type,
    refresh: typeof refresh === 'string' && refresh !== '' ? refresh : undefined,
    endsMs: lifeMs === undefined ? undefined : nowMs + lifeMs,
    lifeMs,
    scopes: (typeof scope === 'string' ? scopesIn(scope) : undefined) ?? asked,
  }
  return { is: 'tokens', tokens, body }
}

/** Exceeds any valid lifetime. */
const LIFE_MAX_S = 1e12

/** Converts seconds, as a number or digits; undefined for anything else. */
const millisecondsIn = (seconds: unknown): number | undefined => {
  const isDigits = typeof seconds === 'string' && /^\d+$/.test(seconds)
  const value = isDigits ? Number(seconds) : seconds
  return typeof value === 'number' && value >= 0 && value < LIFE_MAX_S ? value * 1000 : undefined
}

/** Returns the lifetime in a JSON Web Token; only a hint, because the token is opaque to clients. */
const hintedLifeMs = (token: string, nowMs: number): number | undefined => {
  const claims = objectIn(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  const ends = claims?.['exp']
  return typeof ends === 'number' ? Math.max(0, ends * 1000 - nowMs) : undefined
}

const bodyIn = (text: string, type: string): Readonly<Record<string, unknown>> | undefined =>
  type.startsWith('application/x-www-form-urlencoded')
    ? Object.fromEntries(new URLSearchParams(text))
    : objectIn(text)

const SHOWN_BYTES = 300

/** Sanitizes text of a peer for the operator. */
export const cutErrorText = (message: string): string => sanitizeLine(message, SHOWN_BYTES)

/** Formats an OAuth error: the code, and the description in quotes. */
export const tokenErrorText = ({
  error,
  error_description: more,
}: Readonly<Record<string, unknown>>): string => {
  const code = typeof error === 'string' ? cutErrorText(error) : 'an error'
  return typeof more === 'string' ? `${code}, "${cutErrorText(more)}"` : code
}
