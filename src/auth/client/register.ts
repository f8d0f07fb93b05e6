import {
  allowInsecureRequests,
  type Client as ClientMetadata,
  customFetch,
  dynamicClientRegistrationRequest,
} from 'oauth4webapi'
import { Fault } from '../../kernel/faults.js'
import { isLoopbackHost } from '../../kernel/loopback.js'
import { objectIn } from '../../kernel/object.js'
import type { Discovery } from './discover.js'
import type { OAuthSettings } from './settings.js'
import { type AuthorizationContext, cutErrorText, type OAuthClient, tokenErrorText } from './tokens.js'

/** A client to register. */
export interface Registration {
  readonly discovery: Discovery
  readonly settings: OAuthSettings
  /** Scopes of the intended login. */
  readonly scopes: readonly string[] | undefined
  readonly redirectUri: string
  /** Redirect URI for manual registration; defaults to `redirectUri`. */
  readonly appRedirectUri?: string | undefined
  readonly applicationType: 'native' | 'web'
  /** Shown to users at the authorization server. */
  readonly clientName: string
  /** The existing registration. */
  readonly known: OAuthClient | undefined
}

/**
 * Determines the client at an authorization server: from the configuration, a metadata document, the existing
 * registration, or a new one, in this order (2025-11-25, basic/authorization, "Client Registration
 * Approaches"). Rejects with a Fault; `needs-client` if none is possible.
 */
export const becomeClient = async (
  context: AuthorizationContext,
  registration: Registration,
): Promise<OAuthClient> => {
  const { discovery, settings, redirectUri, known } = registration
  const given = givenClient(discovery, settings, redirectUri)
  if (given !== undefined) return given
  if (known !== undefined && isUsable(known, registration, context.nowMs())) return known
  if (discovery.server.registration_endpoint === undefined) throw needsClient(registration)
  return await register(context, registration)
}

/** Returns a client that needs no registration, if there is one. */
export const givenClient = (
  { server }: Discovery,
  { clientId, clientSecret, clientMetadataUrl, ownDocument }: OAuthSettings,
  redirectUri: string | undefined,
): OAuthClient | undefined => {
  if (clientId !== undefined) return { id: clientId, secret: clientSecret, redirectUri, by: 'configuration' }
  const takesDocuments = server.client_id_metadata_document_supported === true
  const document = takesDocuments ? (clientMetadataUrl ?? ownDocument?.(server.issuer)) : undefined
  return document === undefined ? undefined : { id: document, redirectUri, by: 'document' }
}

const isUsable = (known: OAuthClient, { redirectUri }: Registration, nowMs: number): boolean =>
  known.by === 'registration' &&
  known.redirectUri === redirectUri &&
  (known.secretEndsMs === undefined || nowMs < known.secretEndsMs)

/** Registers dynamically (RFC 7591); retries once with different metadata after a refusal. */
const register = async (context: AuthorizationContext, registration: Registration): Promise<OAuthClient> => {
  let refusal = ''
  for (let attempt: Registration | undefined = registration; attempt !== undefined; ) {
    const { status, body } = await send(context, attempt)
    const id = body?.['client_id']
    if (typeof id === 'string' && id !== '' && status < 300) return clientIn(body ?? {}, id, attempt)
    refusal = body?.['error'] === undefined ? `HTTP status ${status}` : tokenErrorText(body)
    const isLast: boolean = attempt !== registration || status !== 400
    attempt = isLast ? undefined : otherKind(registration, body?.['error'])
  }
  throw needsClient(registration, refusal)
}

/** Returns metadata that some authorization servers accept instead: another host name or type. */
const otherKind = (registration: Registration, error: unknown): Registration => {
  const { applicationType, redirectUri } = registration
  const named = redirectUri.replace('://127.0.0.1:', '://localhost:')
  return error === 'invalid_redirect_uri' && named !== redirectUri
    ? { ...registration, redirectUri: named }
    : { ...registration, applicationType: applicationType === 'native' ? 'web' : 'native' }
}

const send = async (
  { fetch }: AuthorizationContext,
  registration: Registration,
): Promise<{ readonly status: number; readonly body: Readonly<Record<string, unknown>> | undefined }> => {
  const { server } = registration.discovery
  try {
    const response = await dynamicClientRegistrationRequest(
      server,
      metadataOf(registration),
      // `fetch` decides which addresses are allowed.
      { [customFetch]: fetch, [allowInsecureRequests]: true },
    )
    return { status: response.status, body: objectIn(await response.text()) }
  } catch (thrown) {
    const why = thrown instanceof Fault ? thrown.message : 'its metadata is not usable'
    throw new Fault('unauthorized', `${cutErrorText(server.issuer)} cannot be registered at: ${why}`, {
      data: { reason: 'auth-unreachable' },
      cause: thrown,
    })
  }
}

const metadataOf = ({
  discovery: { server },
  scopes,
  redirectUri,
  clientName,
  applicationType,
}: Registration): ClientMetadata => {
  const methods = server.token_endpoint_auth_methods_supported ?? ['none']
  const method = ['none', 'client_secret_basic', 'client_secret_post'].find(each => methods.includes(each))
  return {
    client_name: clientName,
    software_id: 'mcp-proxy-daemon',
    application_type: applicationType,
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: method ?? 'none',
    ...(scopes !== undefined && { scope: scopes.join(' ') }),
  } as unknown as ClientMetadata
}

/** Reads the registered client from a response. */
const clientIn = (
  body: Readonly<Record<string, unknown>>,
  id: string,
  { redirectUri }: Registration,
): OAuthClient => {
  const { client_secret: secret, client_secret_expires_at: ends, redirect_uris: uris } = body
  const method = body['token_endpoint_auth_method']
  return {
    id,
    secret: typeof secret === 'string' ? secret : undefined,
    method: typeof method === 'string' ? method : undefined,
    redirectUri: redirectUriIn(uris, redirectUri),
    secretEndsMs: typeof ends === 'number' && ends > 0 ? ends * 1000 : undefined,
    by: 'registration',
  }
}

/** Returns the registered redirect URI; a changed one must have the same path on loopback. */
const redirectUriIn = (given: unknown, asked: string): string => {
  if (!Array.isArray(given) || given.length === 0 || given.includes(asked)) return asked
  const usable = isOfThisMachine(asked)
    ? given
        .map(String)
        .find(each => isOfThisMachine(each) && new URL(each).pathname === new URL(asked).pathname)
    : undefined
  if (usable !== undefined) return usable
  throw new Fault('unauthorized', `the authorization server changed our redirect URI ${asked}`, {
    data: { reason: 'needs-client' },
  })
}

const isOfThisMachine = (address: string): boolean => {
  const url = URL.canParse(address) ? new URL(address) : undefined
  return url?.protocol === 'http:' && isLoopbackHost(url.hostname)
}

/** Explains manual registration, if dynamic registration is not possible. */
const needsClient = (registration: Registration, refusal?: string): Fault => {
  const { discovery, redirectUri, appRedirectUri = redirectUri } = registration
  const issuer = cutErrorText(discovery.server.issuer)
  const message =
    refusal === undefined
      ? `${issuer} does not support dynamic client registration`
      : `${issuer} refused to register us (${refusal})`
  return new Fault('unauthorized', message, {
    data: { reason: 'needs-client' },
    lines: [
      `Register an OAuth app there with the redirect URI ${appRedirectUri}, and set oauth.clientId and oauth.clientSecret;`,
      'or put a token that you got there into headers.Authorization.',
    ],
  })
}
