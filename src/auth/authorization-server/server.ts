import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { AdapterPayload } from 'oidc-provider'
import type { AuthConfig, EmbeddedServer } from '../../config/types.js'
import type { Clock } from '../../kernel/async/clock.js'
import { baseUrlOf } from '../../kernel/base-url.js'
import type { Principal } from '../../kernel/caller.js'
import { Fault } from '../../kernel/faults.js'
import { lateModule } from '../../kernel/late-module.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import { isLoopbackHost } from '../../kernel/loopback.js'
import type { ProxyRules } from '../../kernel/machine/forward-proxy.js'
import { tokenHash } from '../../kernel/secrets/personal-token.js'
import { keptKey, replicaKeys } from '../../state/state-key.js'
import { createGuardedFetch } from '../../transport/http/guarded-fetch.js'
import { addressGroup, PerMinute } from '../per-minute.js'
import { RefusedCredentials } from '../refused-credentials.js'
import type { TokenTable, VerifiedToken } from '../resource-server/tokens.js'
import type { OidcProvider } from './client-rules.js'
import { ClientTries } from './client-tries.js'
import { AuthServerEndpoints } from './endpoints.js'
import { addressOf, type OnGrantEvent } from './grant-events.js'
import { CALLBACK_PATH, metadataOf } from './metadata.js'
import { createProvider } from './provider.js'
import { ReplicatedStores, type ReplicatedStoresOptions } from './replicated-stores.js'
import { Approvals } from './sign-in/approvals.js'
import { type Consent, Consents } from './sign-in/consents.js'
import { Cookies } from './sign-in/cookies.js'
import { IdentityProvider } from './sign-in/identity-provider.js'
import { type IdentitySession, IdentitySessions } from './sign-in/identity-sessions.js'
import { PendingLogins } from './sign-in/pending-logins.js'
import { personal, SignedInPeople } from './sign-in/people.js'
import { SignInFlow } from './sign-in/sign-in.js'
import { Store, type StoreOptions } from './store.js'
import { TokenStore } from './token-store.js'

export interface AuthServerOptions {
  /** Scheme, host, port and path for clients. */
  readonly publicUrl: string
  /** Paths of the MCP endpoints; the first one is the default resource of tokens. */
  readonly resourcePaths: () => readonly [string, ...string[]]
  /** Returns the current configuration; `embedded` is used as of the start. */
  readonly auth: () => AuthConfig
  /** Returns all known scopes. */
  readonly scopes: () => readonly string[]
  readonly stateDir: string
  readonly bounds: LimitCounters
  readonly clock: Clock
  readonly log: Logger
  /** Other replicas, if any. */
  readonly replicas?: AuthReplicas | undefined
  /** Returns the forward proxies in force. */
  readonly proxy?: (() => ProxyRules | undefined) | undefined
  /** Fetches URLs named by clients; guarded by default. */
  readonly fetch?: typeof fetch
  /** Called for each step of a sign-in, for the audit log. */
  readonly onEvent?: OnGrantEvent | undefined
  /** Counts refused credentials; shared with the gate. */
  readonly refusals?: RefusedCredentials | undefined
}

/** State shared by all replicas. */
export interface AuthReplicas {
  readonly broadcasts: ReplicatedStoresOptions['broadcasts']
  readonly isEldest: ReplicatedStoresOptions['isEldest']
  /** Keys from the configuration. */
  readonly keys: readonly string[]
}

/**
 * The embedded authorization server. As a token table, it contains the tokens that it issued, with the
 * granted scopes that their users still have, until these users are removed.
 */
export interface AuthServer extends TokenTable {
  /** Reports whether `handle` answers a path (without query). */
  owns(path: string): boolean
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void
  /** Reports whether a path (without query) is a document that all replicas serve. */
  isDocument(path: string): boolean
  /** Reports whether a sign-in with this `state` waits for the identity provider. */
  awaits(state: string): boolean
  /** Returns the authorization server metadata (RFC 8414) as JSON. */
  metadata(): string
  /** Returns the user of a browser session, if still known. */
  signedInAs(request: IncomingMessage, response: ServerResponse): Principal | undefined
  /** The identity provider, if configured. */
  readonly identityProvider: IdentityProvider | undefined
  readonly approvals: Approvals
  /** Ends the grants of people removed from the configuration, on all replicas. Never rejects. */
  reload(): Promise<void>
  close(): void
}

/** Hides its warning about Node before 22, which users cannot act on. */
const oidcProvider = lateModule(async () => {
  const { console: output } = globalThis
  const warn = output.warn.bind(output)
  output.warn = (...words: unknown[]) => {
    if (!String(words[0]).includes('Unsupported runtime')) warn(...words)
  }
  return await import('oidc-provider').finally(() => {
    output.warn = warn
  })
})

const MOST_CONSENTS = 10_000
const MOST_SESSIONS = 10_000

/**
 * Creates the authorization server; its state is in the state folder, by issuer. Rejects with a Fault
 * `unavailable` if users would sign in without TLS, or if a configured file cannot be read.
 */
export const createAuthServer = async (options: AuthServerOptions): Promise<AuthServer> => {
  const { clock, log, bounds } = options
  const issuer = new URL(options.publicUrl)
  const { baseScope, embedded } = options.auth()
  if (embedded === undefined)
    throw new Fault('internal', 'the embedded authorization server is not configured')
  checkTls(issuer)
  const folder = join(options.stateDir, 'authorization-server', tokenHash(baseUrlOf(issuer)).slice(0, 16))
  const { replicas } = options
  const oidc = await oidcProvider()
  const shared = replicas && new ReplicatedStores({ ...replicas, clock, log })
  const parts = {
    ...{ ...options, issuer, embedded },
    store: new Store({ folder, bounds, shared, log, ...requestContext(oidc) }),
    consents: consentsIn(folder, shared, log),
    people: new SignedInPeople({ ...options, issuer: baseUrlOf(issuer) }),
    login: loginAt(embedded, { ...options, issuer, folder, shared }),
    tries: new ClientTries(clock, bounds.max.authFailures),
    refusals: options.refusals ?? new RefusedCredentials(log),
    onEvent: options.onEvent ?? (() => undefined),
  }
  const { people, store } = parts
  const provider = await createProvider(oidc, {
    ...parts,
    identities: parts.login?.sessions,
    fetch: options.fetch ?? createGuardedFetch({ trusted: [], clock, proxy: options.proxy }),
  })
  const approvals = approvalsFor(options, parts)
  const signIn = new SignInFlow({
    ...{ ...parts, baseScope, provider, approvals },
    failures: new PerMinute(clock),
    formKey: replicaKeys(replicas?.keys ?? [], 'forms')[0] ?? randomBytes(32),
  })
  const metadata = (): string => JSON.stringify(metadataOf(baseUrlOf(issuer), embedded, options.scopes()))
  const endpoints = new AuthServerEndpoints({
    ...parts,
    baseScope,
    metadata,
    mayRegister: embedded.registration === 'open',
    provider: provider.callback(),
    signIn,
    registrations: new PerMinute(clock),
  })
  return {
    owns: path => endpoints.owns(path),
    isDocument: path => endpoints.isDocument(path),
    awaits: state => parts.login?.pending.has(state) === true,
    handle: endpoints.handle,
    metadata,
    find: checkingSessions(tokenFinder(store, people, options.auth), { ...parts, log }),
    seek: shared && (sha256 => store.seekToken(sha256)),
    signedInAs: (request, response) => ownerOf(new Cookies(issuer, request, response), store, people),
    identityProvider: parts.login?.provider,
    approvals,
    reload: removedPeople(options.auth, principal => store.revokeUser(principal)),
    close: () => approvals.close(),
  }
}

/** Returns a function that calls `onRemoved` for each person who was removed since its last call. */
const removedPeople = (auth: () => AuthConfig, onRemoved: (principal: Principal) => Promise<void>) => {
  const principals = (): ReadonlySet<Principal> => new Set(auth().people.map(({ name }) => personal(name)))
  let known = principals()
  return async (): Promise<void> => {
    const before = known
    known = principals()
    await Promise.all([...before].filter(each => !known.has(each)).map(onRemoved))
  }
}

const approvalsFor = (
  options: AuthServerOptions,
  { people, refusals }: { readonly people: SignedInPeople; readonly refusals: RefusedCredentials },
): Approvals =>
  new Approvals({
    ...options,
    most: options.bounds.max.loginFlows,
    principalOf: as => approver(people, as),
    onWrong: () => refusals.report({ address: '', path: 'auth approve', why: 'no sign-in has this code' }),
  })

const consentsIn = (folder: string, shared: ReplicatedStores | undefined, log: Logger): Consents =>
  new Consents(
    new TokenStore<Consent>({
      ...{ most: MOST_CONSENTS, file: join(folder, 'consents.json'), log },
      ownerOf: ({ principal }) => principal,
      familyOf: ({ clientId }) => clientId,
      shared: shared && { stores: shared, name: 'consents' },
    }),
  )

/** Gives the storage access to the current request. */
const requestContext = ({ Provider, errors }: OidcProvider): Pick<StoreOptions, 'network' | 'reused'> => ({
  network: () => networkOf(Provider.ctx?.req),
  reused(grantId) {
    const { ctx } = Provider
    if (grantId !== undefined) ctx?.oidc.provider.emit('grant.revoked', ctx, grantId)
    return new errors.InvalidGrant('the code or refresh token was already used')
  },
})

const networkOf = (request: IncomingMessage | undefined): string =>
  request === undefined ? '' : addressGroup(addressOf(request))

/** Returns the user of a browser by its session cookie; undefined for removed users. */
const ownerOf = (cookies: Cookies, store: Store, people: SignedInPeople): Principal | undefined => {
  const id = cookies.get('session')
  const principal = id === undefined ? undefined : store.store('Session').get(tokenHash(id))?.accountId
  return principal !== undefined && people.isKnown(principal) ? principal : undefined
}

const checkTls = ({ protocol, hostname, origin }: URL): void => {
  if (protocol === 'https:' || isLoopbackHost(hostname)) return
  const message = `auth.publicUrl is ${origin}: sign-in at the embedded authorization server requires https`
  throw new Fault(
    'unavailable',
    `${message}, except on this machine; put a reverse proxy with TLS in front of it`,
  )
}

/** Checks the identity provider's sessions in the background while their tokens are in use. */
const checkingSessions = (
  find: TokenTable['find'],
  {
    login,
    onEvent,
    store,
    log,
  }: {
    readonly login: { readonly sessions: IdentitySessions } | undefined
    readonly onEvent: OnGrantEvent
    readonly store: Store
    readonly log: Logger
  },
): TokenTable['find'] => {
  if (login === undefined) return find
  const check = async (session: string, principal: Principal): Promise<void> => {
    if (await login.sessions.stillHolds(session)) return
    await store.revokeSession(session)
    onEvent({ event: 'revoked', principal, address: '', why: 'the identity provider ended the session' })
  }
  return sha256 => {
    const token = find(sha256)
    const session = token && store.token(sha256)?.extra?.['session']
    if (token !== undefined && typeof session === 'string') {
      check(session, token.principal).catch((thrown: unknown) =>
        log.warn({ why: Fault.from(thrown).message }, 'cannot check sessions at the identity provider'),
      )
    }
    return token
  }
}

/** Finds tokens; caches the resulting rights per configuration. */
const tokenFinder = (store: Store, people: SignedInPeople, auth: () => AuthConfig): TokenTable['find'] => {
  let weighedWith = auth()
  let weighed = new WeakMap<AdapterPayload, { readonly token: VerifiedToken | undefined }>()
  return sha256 => {
    const kept = store.token(sha256)
    if (kept === undefined) return undefined
    if (weighedWith !== auth()) {
      weighedWith = auth()
      weighed = new WeakMap()
    }
    const known = weighed.get(kept) ?? { token: verifiedToken(kept, people) }
    weighed.set(kept, known)
    return known.token
  }
}

const verifiedToken = (kept: AdapterPayload, people: SignedInPeople): VerifiedToken | undefined => {
  const principal = kept.accountId ?? people.machine(kept.clientId ?? '')
  const groups = kept.extra?.['groups']
  const account = { principal, groups: Array.isArray(groups) ? groups.map(String) : [] }
  const scopes = people.granted(account, kept.scope?.split(' ') ?? [])
  if (scopes === undefined) return undefined
  const audience = [kept.aud].flat().map(String)
  // The scopes already include the scopes of the groups.
  return { principal, audience, scopes, groups: [], endsMs: (kept.exp ?? 0) * 1000 }
}

/** Returns the principal that a shell of this user may approve: `local` if no people are configured. */
const approver = (
  people: SignedInPeople,
  as: string | undefined,
): { principal: Principal } | { why: string } => {
  if (as === undefined) {
    return people.areNamed
      ? { why: 'the configuration has people: name one with --as NAME' }
      : { principal: 'local' }
  }
  const principal = people.named(as)
  return principal === undefined ? { why: `auth.people has no "${as}"` } : { principal }
}

interface LoginOptions extends AuthServerOptions {
  readonly issuer: URL
  readonly folder: string
  readonly shared: ReplicatedStores | undefined
}

/** Checks the identity provider of `auth.embedded.login` and returns a line for the user. Never rejects. */
export const checkLogin = async (
  login: NonNullable<EmbeddedServer['login']>,
  publicUrl: string | undefined,
  proxy: ProxyRules | undefined,
): Promise<string> => {
  const redirectUri = `${publicUrl ?? 'http://127.0.0.1:PORT'}${CALLBACK_PATH}`
  const { allowHttp, issuer } = login
  const fetch = createGuardedFetch({ trusted: [issuer], allowHttp, proxy: () => proxy })
  const [mark, answers] = await new IdentityProvider({ ...login, redirectUri, fetch }).check().then(
    () => ['ok', 'answers'],
    (thrown: unknown) => ['warning', `does not answer (${Fault.from(thrown).message})`],
  )
  return `${mark}  auth.embedded.login: ${login.issuer} ${answers}; register there: ${redirectUri}`
}

/** Creates the sign-in at the configured identity provider, if any. */
const loginAt = ({ login }: EmbeddedServer, options: LoginOptions) => {
  if (login === undefined) return undefined
  const { bounds, clock, folder, issuer, log, proxy, replicas, shared, stateDir } = options
  const { allowHttp } = login
  const provider = new IdentityProvider({
    ...login,
    redirectUri: baseUrlOf(issuer) + CALLBACK_PATH,
    fetch: options.fetch ?? createGuardedFetch({ trusted: [login.issuer], allowHttp, clock, proxy }),
  })
  const store = new TokenStore<IdentitySession>({
    ...{ most: MOST_SESSIONS, file: join(folder, 'sessions.json'), log },
    ownerOf: ({ principal }) => principal,
    shared: shared && { stores: shared, name: 'sessions' },
  })
  const [key = keptKey(stateDir), ...older] = replicaKeys(replicas?.keys ?? [], 'sessions')
  return {
    provider,
    sessions: new IdentitySessions({ provider, store, keys: [key, ...older] }),
    pending: new PendingLogins(bounds.max.loginFlows, clock),
  }
}
