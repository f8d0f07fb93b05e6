import type { IncomingMessage } from 'node:http'
import type { KoaContextWithOIDC, Provider } from 'oidc-provider'
import type { Principal } from '../../kernel/caller.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import { clientAddressOf } from '../../transport/http/request.js'
import type { RefusedCredentials } from '../refused-credentials.js'
import type { ClientTries } from './client-tries.js'
import { redirectHost } from './redirect-uris.js'
import { claimedClient } from './token-request.js'

/** A step of a sign-in, for the audit log. Contains no secrets. */
export interface GrantEvent {
  readonly event:
    | 'registered'
    | 'signed in'
    | 'allowed'
    | 'denied'
    | 'refreshed'
    | 'revoked'
    | 'reuse detected'
    | 'refused'
  readonly principal?: Principal | undefined
  readonly client?: string | undefined
  readonly redirectHost?: string | undefined
  readonly scopes?: readonly string[] | undefined
  readonly address: string
  /** The reason, without text of a peer. */
  readonly why?: string | undefined
  /** The server of a user's login, if it is not a client's. */
  readonly server?: string | undefined
}

export type OnGrantEvent = (event: GrantEvent) => void

/** Returns the address of a request's sender. */
export const addressOf = (request: IncomingMessage): string => clientAddressOf(request)

export interface GrantWatch {
  readonly onEvent: OnGrantEvent
  readonly refusals: RefusedCredentials
  readonly tries: ClientTries
}

/** Reports client actions at the endpoints, and counts refused credentials. */
export const watchGrants = (provider: Provider, { onEvent, refusals, tries }: GrantWatch): void => {
  const report = (event: GrantEvent['event'], ctx: KoaContextWithOIDC): void =>
    onEvent({ event, ...factsOf(ctx) })
  provider.on('registration_create.success', (ctx: KoaContextWithOIDC) => report('registered', ctx))
  provider.on('authorization.success', (ctx: KoaContextWithOIDC) => report('allowed', ctx))
  provider.on('grant.success', (ctx: KoaContextWithOIDC) => {
    const grant = ctx.oidc.params?.['grant_type']
    if (grant === 'refresh_token') report('refreshed', ctx)
    else if (grant === 'client_credentials') report('signed in', ctx)
  })
  provider.on('grant.revoked', (ctx: KoaContextWithOIDC) => {
    report(ctx.oidc.route === 'revocation' ? 'revoked' : 'reuse detected', ctx)
  })
  const refused = (ctx: KoaContextWithOIDC, { error }: { readonly error: string }): void => {
    const why = REFUSED[error]
    if (why === undefined) return
    const client = ctx.oidc.client?.clientId ?? claimedClient(ctx.req)
    const address = addressOf(ctx.req)
    tries.failed(client ?? '', address)
    refusals.report({ address, path: ctx.path, why, client: client && sanitizeLine(client) })
  }
  provider.on('grant.error', refused)
  provider.on('revocation.error', refused)
}

const REFUSED: Readonly<Record<string, string>> = {
  invalid_client: 'the client is unknown, or did not authenticate',
  invalid_grant: 'the code or refresh token is invalid or expired',
}

interface TokenFacts {
  readonly accountId?: string | undefined
  readonly clientId?: string | undefined
  readonly scope?: string | undefined
}

const factsOf = ({ oidc, req }: KoaContextWithOIDC): Omit<GrantEvent, 'event'> => {
  const { account, client, params } = oidc
  const token = tokenIn(oidc)
  const asked = params?.['scope']
  const scope = token.scope ?? (typeof asked === 'string' ? asked : undefined)
  return {
    principal: account?.accountId ?? token.accountId,
    client: client?.clientId ?? token.clientId,
    redirectHost: redirectHosts(params?.['redirect_uri'], client?.redirectUris),
    scopes: scope?.split(' '),
    address: addressOf(req),
  }
}

/** Returns the token of a request. */
const tokenIn = ({ entities }: KoaContextWithOIDC['oidc']): TokenFacts => {
  const { AccessToken, AuthorizationCode, ClientCredentials, RefreshToken } = entities
  return RefreshToken ?? AuthorizationCode ?? AccessToken ?? ClientCredentials ?? {}
}

const redirectHosts = (asked: unknown, registered: readonly string[] = []): string | undefined => {
  const uris = typeof asked === 'string' ? [asked] : registered
  return [...new Set(uris.map(uri => redirectHost(new URL(uri))))].join(' ') || undefined
}
