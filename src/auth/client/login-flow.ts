import { createHash, randomBytes } from 'node:crypto'
import { validateAuthResponse } from 'oauth4webapi'
import { Fault } from '../../kernel/faults.js'
import { isLoopbackHost } from '../../kernel/loopback.js'
import type { Discovery } from './discover.js'
import type { PrivateJwk } from './dpop.js'
import type { OAuthSettings } from './settings.js'
import {
  type AuthorizationContext,
  cutErrorText,
  type OAuthClient,
  requestTokens,
  type TokenAnswer,
  tokenErrorText,
} from './tokens.js'

/** A login to start. */
export interface LoginRequest {
  readonly discovery: Discovery
  readonly client: OAuthClient
  readonly redirectUri: string
  readonly settings: OAuthSettings
  readonly scopes: readonly string[] | undefined
  readonly dpopKey?: PrivateJwk | undefined
}

/** A login in progress, with the data for its `state`. Secret. */
export interface PendingLogin extends LoginRequest {
  readonly state: string
  readonly verifier: string
}

const BYTES = 32

/**
 * Returns the URL for the login and the data to finish it (2025-11-25, basic/authorization, "Authorization
 * Flow Steps"; RFC 7636). Throws a Fault for an unsuitable authorization server.
 */
export const beginLogin = (request: LoginRequest): { readonly url: URL; readonly pending: PendingLogin } => {
  const { discovery, client, redirectUri, scopes } = request
  const { server, by } = discovery
  const methods = server.code_challenge_methods_supported ?? []
  // 2025-03-26 requires PKCE, but no metadata about it.
  if (by === 'metadata' && !methods.includes('S256')) {
    throw refused(
      `${cutErrorText(server.issuer)} does not declare support for PKCE with S256, so a login is not safe`,
    )
  }
  const url = visitable(server.authorization_endpoint)
  const state = randomBytes(BYTES).toString('base64url')
  const verifier = randomBytes(BYTES).toString('base64url')
  const parameters = {
    response_type: 'code',
    client_id: client.id,
    redirect_uri: redirectUri,
    state,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    resource: resourceOf(request),
    scope: scopes?.join(' '),
    prompt: scopes?.includes('offline_access') === true ? 'consent' : undefined,
  }
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) url.searchParams.set(name, value)
  }
  return { url, pending: { ...request, state, verifier } }
}

/** Checks a URL for a browser: `https`, or `http` on loopback. Throws a Fault otherwise. */
const visitable = (address: string | undefined): URL => {
  const url = address !== undefined && URL.canParse(address) ? new URL(address) : undefined
  const isFit = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopbackHost(url.hostname))
  if (url !== undefined && isFit) return url
  throw refused('its authorization endpoint is not an https address, and is not opened')
}

/**
 * Throws a Fault unless the token endpoint uses `https`, or `http` on loopback. Otherwise the code of a login
 * could not be redeemed, or would be sent unencrypted.
 */
export const checkEndpoints = (
  { server }: Discovery,
  { url, settings }: { readonly url: string; readonly settings: OAuthSettings },
): void => {
  const endpoint = server.token_endpoint
  const token = endpoint !== undefined && URL.canParse(endpoint) ? new URL(endpoint) : undefined
  if (token === undefined)
    throw refused(`the metadata of ${cutErrorText(server.issuer)} does not name a token endpoint`)
  const named = [url, settings.issuer, settings.endpoints?.token].flatMap(each => each ?? [])
  const isHere = named.some(each => URL.canParse(each) && isLoopbackHost(new URL(each).hostname))
  if (token.protocol === 'https:') return
  if (token.protocol === 'http:' && isHere && isLoopbackHost(token.hostname)) return
  throw refused(`${cutErrorText(token.hostname)} is not visited: the token endpoint is not an https address`)
}

/** Returns the `resource` of all requests (RFC 8707), unless configured. */
export const resourceOf = ({
  discovery,
  settings,
}: Pick<LoginRequest, 'discovery' | 'settings'>): string | undefined =>
  settings.resource === false ? undefined : (settings.resource ?? discovery.resource)

/**
 * Chooses the scopes to request (2025-11-25, basic/authorization, "Scope Selection Strategy"), plus scopes
 * that the server recently found missing.
 */
export const chooseScopes = (
  { scopes: supported, server }: Discovery,
  { scopes: configured }: OAuthSettings,
  {
    challenged,
    wanted = [],
  }: {
    readonly challenged: readonly string[] | undefined
    readonly wanted?: readonly string[] | undefined
  },
): readonly string[] | undefined => {
  const chosen = [...new Set([...(configured ?? challenged ?? supported ?? []), ...wanted])]
  if (chosen.length === 0) return undefined
  const isOffered = server.scopes_supported?.includes('offline_access') === true
  return isOffered && !chosen.includes('offline_access') ? [...chosen, 'offline_access'] : chosen
}

/**
 * Finishes a login with the parameters of the redirect: verifies the issuer (RFC 9207) first, then requests
 * tokens. Sends the code only once. Rejects with a Fault that explains the failure.
 */
export const finishLogin = async (
  context: AuthorizationContext,
  pending: PendingLogin,
  answer: URLSearchParams,
): Promise<TokenAnswer> => {
  const { discovery, client, redirectUri, verifier, scopes, dpopKey } = pending
  return await requestTokens(context, {
    server: discovery.server,
    client,
    grant: 'authorization_code',
    parameters: {
      code: codeIn(answer, pending),
      redirect_uri: redirectUri,
      code_verifier: verifier,
      resource: resourceOf(pending),
    },
    asked: scopes,
    dpopKey,
  })
}

const codeIn = (answer: URLSearchParams, { discovery, client, state }: PendingLogin): string => {
  const { server, by } = discovery
  const checked = new URLSearchParams(answer)
  // Without metadata the issuer is unknown.
  if (by === 'endpoints') checked.delete('iss')
  try {
    const code = validateAuthResponse(server, { client_id: client.id }, checked, state).get('code')
    if (code !== null) return code
  } catch (thrown) {
    if (!(thrown instanceof Error && 'error' in thrown)) {
      throw refused('the response to the login came from another authorization server and was ignored')
    }
    throw refused(`its authorization server refused the login: ${tokenErrorText(Object.fromEntries(answer))}`)
  }
  throw refused('the response to the login does not contain a code')
}

const refused = (message: string): Fault =>
  new Fault('unauthorized', message, { data: { reason: 'needs-auth' } })
