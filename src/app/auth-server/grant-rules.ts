import type { Configuration, Grant, KoaContextWithOIDC } from 'oidc-provider'
import { Fault } from '../../kernel/faults.js'
import type { OidcProvider } from './client-rules.js'
import { SIGN_IN_PATH } from './metadata.js'
import { redirectHost } from './redirect-uris.js'
import type { Consents } from './sign-in/consents.js'
import type { IdentitySessions } from './sign-in/identity-sessions.js'
import type { People } from './sign-in/people.js'
import type { Store } from './store.js'

/** In seconds (AU-53). */
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

/** How long tokens live, and what becomes of those of a session at an identity provider (AU-53, AU-54). */
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
    return Promise.resolve(session === undefined ? undefined : { groups: identities?.groupsOf(session) })
  },
})

/** oidc-provider passes "authentication methods" on from a sign-in to its tokens: ours is a session there. */
const identitySessionOf = (source: object | undefined): string | undefined => {
  const amr = source !== undefined && 'amr' in source ? source.amr : undefined
  return Array.isArray(amr) ? String(amr[0]) : undefined
}

export interface ResourceContext {
  /** The identifier of an endpoint, for what a client calls it; undefined for what is not ours. */
  readonly audienceOf: (resource: string) => string | undefined
  /** What tokens are for if nobody says it. */
  readonly defaultResource: string
  /** All scopes that mean something here. */
  readonly scopes: () => readonly string[]
}

/** What tokens are for (AU-44; RFC 8707). */
export const resourceRules = (
  oidc: OidcProvider,
  { audienceOf, defaultResource, scopes }: ResourceContext,
): NonNullable<NonNullable<Configuration['features']>['resourceIndicators']> => ({
  enabled: true,
  defaultResource: (_ctx, _client, oneOf) => Promise.resolve(oneOf?.[0] ?? defaultResource),
  useGrantedResource: () => Promise.resolve(true),
  getResourceServerInfo: async (_ctx, resource) => {
    const audience = audienceOf(resource)
    if (audience === undefined) throw new oidc.errors.InvalidTarget('resource is no endpoint of this proxy')
    return await Promise.resolve({ audience, scope: scopes().join(' '), accessTokenFormat: 'opaque' })
  },
})

export interface SignInContext {
  readonly people: People
  readonly consents: Consents
  readonly identities: IdentitySessions | undefined
  readonly store: Store
}

/** When a person is asked, and who people are. */
export const signInRules = (oidc: OidcProvider, context: SignInContext): Configuration => {
  const { Check, Prompt } = oidc.interactionPolicy
  const isNobody = ({ oidc: { session, account } }: KoaContextWithOIDC): boolean =>
    session?.accountId === undefined || account === undefined
  // A page decides about both at once; clients may ask for either (`prompt`).
  const policy = [
    new Prompt(
      { name: 'login', requestable: true },
      new Check('nobody', 'nobody is signed in', 'login_required', isNobody),
    ),
    new Prompt(
      { name: 'consent', requestable: true },
      new Check('not_allowed', 'nobody allowed it', 'consent_required', ctx => !isAllowed(ctx, context)),
    ),
  ]
  return {
    interactions: { policy, url: (_ctx, { uid }) => `${SIGN_IN_PATH}/${uid}` },
    findAccount: async (_ctx, principal, token) => {
      if (token?.kind === 'RefreshToken' && !(await isBacked(oidc, context, token))) return undefined
      const groups = context.identities?.groupsOf(identitySessionOf(token)) ?? []
      if (context.people.scopesOf({ principal, groups }) === undefined) return undefined
      return { accountId: principal, claims: () => ({ sub: principal }) }
    },
    loadExistingGrant: async ctx => await grantOf(ctx, context),
  }
}

/** Whether the identity provider still stands behind a refresh token (AU-57); if not, its grant has ended. */
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
  const { redirect_uri: redirect, scope } = params ?? {}
  return {
    principal: session?.accountId ?? '',
    clientId: client?.clientId ?? '',
    host: redirectHost(new URL(String(redirect))),
    scopes: typeof scope === 'string' ? scope.split(' ') : [],
  }
}

/** Native clients are asked for each time: any program of the machine could be behind the name (AX-18). */
const isAllowed = (ctx: KoaContextWithOIDC, { consents }: SignInContext): boolean =>
  ctx.oidc.result?.consent !== undefined ||
  (ctx.oidc.client?.applicationType !== 'native' && consents.covers(questionOf(ctx)))

/** The grant that a page made, or a new one for what was allowed before. */
const grantOf = async (ctx: KoaContextWithOIDC, context: SignInContext): Promise<Grant | undefined> => {
  const { provider, resourceServers, result, session } = ctx.oidc
  const made = result?.consent?.grantId
  if (made !== undefined) return await provider.Grant.find(made)
  if (session?.accountId === undefined || !isAllowed(ctx, context)) return undefined
  const { principal, clientId, scopes } = questionOf(ctx)
  const groups = context.identities?.groupsOf(identitySessionOf(session)) ?? []
  const granted = context.people.granted({ principal, groups }, scopes) ?? []
  const grant = new provider.Grant({ accountId: principal, clientId })
  for (const resource of Object.keys(resourceServers ?? {})) grant.addResourceScope(resource, [...granted])
  await grant.save()
  return grant
}
