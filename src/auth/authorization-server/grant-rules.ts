import type { Configuration, Grant, KoaContextWithOIDC } from 'oidc-provider'
import { basePathOf } from '../../kernel/base-url.js'
import { Fault } from '../../kernel/faults.js'
import type { OidcProvider } from './client-rules.js'
import { SIGN_IN_PATH } from './metadata.js'
import { isRemembered, redirectHost } from './redirect-uris.js'
import type { Consents } from './sign-in/consents.js'
import { remembersUsers } from './sign-in/cookies.js'
import type { IdentitySessions } from './sign-in/identity-sessions.js'
import type { SignedInPeople } from './sign-in/people.js'
import type { Store } from './store.js'

/** In seconds. */
const TTL = {
  AccessToken: 30 * 60,
  AuthorizationCode: 60,
  ClientCredentials: 30 * 60,
  Grant: 30 * 86_400,
  IdToken: 60,
  Interaction: 10 * 60,
  RefreshToken: 30 * 86_400,
  Session: 12 * 3600,
} as const

/** Lifetimes of tokens, and the binding of tokens to sessions at an identity provider. */
export const tokenRules = (identities: IdentitySessions | undefined): Configuration => ({
  scopes: ['offline_access'],
  ttl: TTL,
  pkce: { required: () => true },
  expiresWithSession: () => Promise.resolve(false),
  issueRefreshToken: (_ctx, client) => Promise.resolve(client.grantTypeAllowed('refresh_token')),
  rotateRefreshToken: true,
  extraTokenClaims: ctx => {
    const { RefreshToken, AuthorizationCode } = ctx.oidc.entities
    const session = identitySessionOf(RefreshToken ?? AuthorizationCode)
    return Promise.resolve(
      session === undefined ? undefined : { groups: identities?.groupsOf(session), session },
    )
  },
})

/** oidc-provider copies `amr` from a sign-in to its tokens; here it holds the session id. */
const identitySessionOf = (source: object | undefined): string | undefined => {
  const amr = source !== undefined && 'amr' in source ? source.amr : undefined
  return Array.isArray(amr) ? String(amr[0]) : undefined
}

export interface ResourceContext {
  /** Returns the identifier of an endpoint from a client's spelling; undefined for other resources. */
  readonly audienceOf: (resource: string) => string | undefined
  /** Resource of tokens without a `resource` parameter. */
  readonly defaultResource: string
  /** Returns all known scopes. */
  readonly scopes: () => readonly string[]
  /** Returns the scopes of a configured client that acts for itself. */
  readonly machineScopes: (clientId: string) => readonly string[]
}

/** Rules for the resources of tokens (RFC 8707). */
export const resourceRules = (
  oidc: OidcProvider,
  { audienceOf, defaultResource, scopes, machineScopes }: ResourceContext,
): NonNullable<NonNullable<Configuration['features']>['resourceIndicators']> => ({
  enabled: true,
  defaultResource: (_ctx, _client, oneOf) => Promise.resolve(oneOf?.[0] ?? defaultResource),
  useGrantedResource: () => Promise.resolve(true),
  getResourceServerInfo: async (ctx, resource, { clientId }) => {
    const audience = audienceOf(resource)
    if (audience === undefined)
      throw new oidc.errors.InvalidTarget('the resource is not an endpoint of this proxy')
    const { params } = ctx.oidc
    const isMachine = params?.['grant_type'] === 'client_credentials'
    const known = isMachine ? machineScopes(clientId) : scopes()
    if (isMachine) {
      // Defaults to all scopes (RFC 6749 §3.3): a token without scopes would be useless.
      params['scope'] ??= known.join(' ')
      const asked = String(params['scope']).split(' ')
      if (!asked.some(scope => known.includes(scope)))
        throw new oidc.errors.InvalidScope('the client may not have these scopes', asked.join(' '))
    }
    return await Promise.resolve({ audience, scope: known.join(' '), accessTokenFormat: 'opaque' })
  },
})

export interface SignInContext {
  readonly issuer: URL
  readonly people: SignedInPeople
  readonly consents: Consents
  readonly identities: IdentitySessions | undefined
  readonly store: Store
}

/** Rules for prompting users and finding accounts. */
export const signInRules = (oidc: OidcProvider, context: SignInContext): Configuration => {
  const { Check, Prompt } = oidc.interactionPolicy
  const isNobody = ({ oidc: { session, account, result } }: KoaContextWithOIDC): boolean =>
    session?.accountId === undefined ||
    account === undefined ||
    (result?.login === undefined && !remembersUsers(context.issuer))
  // The page asks for both at once; clients may request either (`prompt`).
  const policy = [
    new Prompt(
      { name: 'login', requestable: true },
      new Check('nobody', 'the user is not signed in', 'login_required', isNobody),
    ),
    new Prompt(
      { name: 'consent', requestable: true },
      new Check(
        'not_allowed',
        'the user has not allowed the client',
        'consent_required',
        ctx => !isAllowed(ctx, context),
      ),
    ),
  ]
  return {
    interactions: { policy, url: (_ctx, { uid }) => `${basePathOf(context.issuer)}${SIGN_IN_PATH}/${uid}` },
    findAccount: async (_ctx, principal, token) => {
      if (token?.kind === 'RefreshToken' && !(await isBacked(oidc, context, token))) return undefined
      const groups = context.identities?.groupsOf(identitySessionOf(token)) ?? []
      if (context.people.scopesOf({ principal, groups }) === undefined) return undefined
      return { accountId: principal, claims: () => ({ sub: principal }) }
    },
    loadExistingGrant: async ctx => await grantOf(ctx, context),
  }
}

/**
 * Reports whether the identity provider still confirms the session of a refresh token; else ends the grant.
 */
const isBacked = async (
  oidc: OidcProvider,
  { identities, store }: SignInContext,
  token: { readonly grantId?: string | undefined },
): Promise<boolean> => {
  const session = identitySessionOf(token)
  if (session === undefined) return true
  try {
    if ((await identities?.holds(session)) === true) return true
  } catch (thrown) {
    throw new oidc.errors.TemporarilyUnavailable(Fault.from(thrown).message)
  }
  await store.revoke(token.grantId === undefined ? [] : [token.grantId])
  return false
}

const questionOf = ({ oidc: { session, client, params } }: KoaContextWithOIDC) => {
  const { redirect_uri: redirect, scope, resource } = params ?? {}
  return {
    principal: session?.accountId ?? '',
    clientId: client?.clientId ?? '',
    host: redirectHost(new URL(String(redirect))),
    resources: [resource].flat().map(String),
    scopes: typeof scope === 'string' ? scope.split(' ') : [],
  }
}

const isAllowed = (ctx: KoaContextWithOIDC, { consents }: SignInContext): boolean => {
  const { client, params, result } = ctx.oidc
  if (result?.consent !== undefined) return true
  const redirect = new URL(String(params?.['redirect_uri']))
  return isRemembered(client?.applicationType, redirect) && consents.covers(questionOf(ctx))
}

/** Returns the grant created by the page, or the user's earlier one. */
const grantOf = async (ctx: KoaContextWithOIDC, context: SignInContext): Promise<Grant | undefined> => {
  const made = ctx.oidc.result?.consent?.grantId
  if (made !== undefined) return await ctx.oidc.provider.Grant.find(made)
  const { session } = ctx.oidc
  return session?.accountId === undefined || !isAllowed(ctx, context)
    ? undefined
    : await grantAgain(ctx, identitySessionOf(session), context)
}

/** Reuses one grant per user and client, so that repeated redirects do not add more. */
const grantAgain = async (
  ctx: KoaContextWithOIDC,
  identitySession: string | undefined,
  { identities, people, store }: SignInContext,
): Promise<Grant> => {
  const { provider, resourceServers } = ctx.oidc
  const { principal, clientId, scopes: asked } = questionOf(ctx)
  const scopes =
    people.granted({ principal, groups: identities?.groupsOf(identitySession) ?? [] }, asked) ?? []
  const resources = Object.keys(resourceServers ?? {})
  const known = store.grantFor(principal, { clientId, resources, scopes })
  const kept = known === undefined ? undefined : await provider.Grant.find(known)
  if (kept !== undefined) return kept
  const grant = new provider.Grant({ accountId: principal, clientId })
  for (const resource of resources) grant.addResourceScope(resource, [...scopes])
  await grant.save()
  return grant
}
