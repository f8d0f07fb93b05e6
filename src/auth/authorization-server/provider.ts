import { generateKeyPairSync } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import type { Configuration, KoaContextWithOIDC, Provider } from 'oidc-provider'
import type { EmbeddedServer } from '../../config/types.js'
import type { Clock } from '../../kernel/async/clock.js'
import { basePathOf, baseUrlOf } from '../../kernel/base-url.js'
import { Fault } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import { isLoopbackHost } from '../../kernel/loopback.js'
import { boundedFetch } from './bounded-fetch.js'
import { clientRules, type OidcProvider, refineClients, registrationRules } from './client-rules.js'
import { type ErrorAnswer, renderErrorAnswer, UNAVAILABLE } from './error-answer.js'
import { type GrantWatch, watchGrants } from './grant-events.js'
import { resourceRules, type SignInContext, signInRules, tokenRules } from './grant-rules.js'
import { AUTH_ALGORITHMS, ENDPOINTS } from './metadata.js'
import { isNative } from './redirect-uris.js'
import { Cookies } from './sign-in/cookies.js'

export interface ProviderParts extends SignInContext, GrantWatch {
  readonly issuer: URL
  readonly embedded: EmbeddedServer
  /** Paths of the MCP endpoints; the first one is the default resource of tokens. */
  readonly resourcePaths: () => readonly [string, ...string[]]
  /** Returns all known scopes. */
  readonly scopes: () => readonly string[]
  /** Fetches URLs named by clients. */
  readonly fetch: typeof fetch
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Configures oidc-provider; no setting keeps a default that writes to stdout. Rejects with a Fault for
 * unreadable client keys.
 */
export const createProvider = async (oidc: OidcProvider, parts: ProviderParts): Promise<Provider> => {
  const { clock, embedded, identities, issuer, log, people, resourcePaths, scopes, store } = parts
  const signingKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })
  const provider = new oidc.Provider(baseUrlOf(issuer), {
    ...(await clientRules(oidc, embedded)),
    ...tokenRules(identities),
    ...signInRules(oidc, parts),
    adapter: store.adapter,
    routes: ENDPOINTS,
    cookies: { names: { session: 'session', interaction: 'flow', resume: 'resume' } },
    enabledJWA: { clientAuthSigningAlgValues: [...AUTH_ALGORITHMS] },
    // Required for ID tokens, which are never issued.
    jwks: { keys: [{ ...signingKey, kty: 'EC' }] },
    features: {
      ...OFF,
      clientCredentials: { enabled: embedded.clients.length > 0 },
      clientIdMetadataDocument: {
        enabled: true,
        ack: 'draft-02',
        allowClient: (_ctx, { clientName }) => Boolean(clientName),
      },
      registration: registrationRules(embedded),
      resourceIndicators: resourceRules(oidc, {
        audienceOf: resource => audienceOf(resource, issuer, resourcePaths()),
        defaultResource: baseUrlOf(issuer) + resourcePaths()[0],
        scopes,
        machineScopes: clientId => people.ownScopes(people.machine(clientId)),
      }),
      revocation: {
        enabled: true,
        allowedPolicy: (_ctx, client, token) => token.clientId === client.clientId,
      },
    },
    fetch: boundedFetch(parts.fetch, clock),
    renderError,
  })
  speakForIssuer(provider, issuer)
  refineClients(provider, scopes)
  keepErrorsHere(provider, parts)
  watchGrants(provider, parts)
  askToRetry(provider, log)
  // Koa would write the error to stderr.
  const koa: EventEmitter = provider
  koa.on('error', (thrown: unknown) => log.debug({ err: thrown }, 'an authorization request was aborted'))
  return provider
}

/** Answers 503 while other replicas cannot be asked about a token or client, and logs all other failures. */
const askToRetry = (provider: Provider, log: Logger): void => {
  const unavailable = new WeakSet<object>()
  provider.on('server_error', (ctx, thrown) => {
    if (thrown instanceof Fault && thrown.code === 'unavailable') unavailable.add(ctx)
    else log.error({ err: thrown }, 'the authorization server failed')
  })
  provider.use(async (ctx: KoaContextWithOIDC, next: () => Promise<unknown>) => {
    await next()
    if (!unavailable.has(ctx)) return
    ctx.response.remove('Location')
    answerError(ctx, UNAVAILABLE)
  })
}

const OFF = {
  devInteractions: { enabled: false },
  dPoP: { enabled: false },
  pushedAuthorizationRequests: { enabled: false },
  rpInitiatedLogout: { enabled: false },
  userinfo: { enabled: false },
} as const satisfies Configuration['features']

/** Normalizes a client's resource to an endpoint or the whole proxy; undefined for others. */
const audienceOf = (resource: string, issuer: URL, paths: readonly string[]): string | undefined => {
  if (!URL.canParse(resource)) return undefined
  const url = new URL(resource)
  const isHere = isLoopbackHost(issuer.hostname) && isLoopbackHost(url.hostname)
  const isOurs = url.origin === issuer.origin || (isHere && url.port === issuer.port)
  const [base, whole] = [basePathOf(issuer), basePathOf(url)]
  if (!isOurs || url.search !== '' || url.hash !== '' || !whole.startsWith(base)) return undefined
  const path = whole.slice(base.length)
  return path === '' || paths.includes(path) ? baseUrlOf(issuer) + path : undefined
}

/** Takes all addresses from the configuration, not from requests: a reverse proxy may terminate TLS. */
const speakForIssuer = (provider: Provider, issuer: URL): void => {
  Object.defineProperties(provider.request, {
    protocol: { value: issuer.protocol.slice(0, -1) },
    host: { value: issuer.host },
  })
  const jars = new WeakMap<object, Cookies>()
  Object.defineProperty(provider.context, 'cookies', {
    get(this: KoaContextWithOIDC) {
      const jar = jars.get(this) ?? new Cookies(issuer, this.req, this.res)
      jars.set(this, jar)
      return jar
    },
  })
}

const renderError: NonNullable<Configuration['renderError']> = (
  ctx,
  { error, error_description: message },
) => {
  answerError(ctx, { error, message, status: ctx.status })
}

const answerError = (ctx: KoaContextWithOIDC, answer: ErrorAnswer): void => {
  const { status, headers, text } = renderErrorAnswer(ctx.headers.accept, answer)
  ctx.status = status
  ctx.set(headers)
  ctx.body = text
}

/**
 * Redirects errors only to loopback and to redirect URIs that a user accepted before. Otherwise anyone could
 * register an address to which the proxy sends its users (RFC 9700 §4.11.2).
 */
const keepErrorsHere = (provider: Provider, { consents, issuer }: ProviderParts): void => {
  provider.use(async (ctx: KoaContextWithOIDC, next: () => Promise<unknown>) => {
    await next()
    const location = ctx.response.get('Location')
    if (!URL.canParse(location)) return
    const to = new URL(location)
    const answer = to.hash === '' ? to.searchParams : new URLSearchParams(to.hash.slice(1))
    const error = answer.get('error')
    if (error === null || to.origin === issuer.origin || isNative(to)) return
    const { client, params } = ctx.oidc
    if (consents.isKnownRedirect(client?.clientId ?? '', String(params?.['redirect_uri']))) return
    ctx.response.remove('Location')
    answerError(ctx, {
      error,
      message: answer.get('error_description') ?? undefined,
      status: error === 'access_denied' ? 403 : 400,
      link: location,
    })
  })
}
