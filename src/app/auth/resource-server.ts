import type { IncomingMessage } from 'node:http'
import type { RequestHandler } from 'express'
import type { OnGrantEvent } from '../../auth/authorization-server/grant-events.js'
import type { AuthReplicas, AuthServer } from '../../auth/authorization-server/server.js'
import { clientDocument, isClientDocument } from '../../auth/pages/client-document.js'
import type { RefusedCredentials } from '../../auth/refused-credentials.js'
import type { AccessRefusal } from '../../auth/resource-server/challenge.js'
import { AccessGate } from '../../auth/resource-server/gate.js'
import { ProtectedResource } from '../../auth/resource-server/protected-resource.js'
import { EVERYTHING, View } from '../../catalog/views/view.js'
import type { AuthConfig, ProxyConfig } from '../../config/types.js'
import type { Clock } from '../../kernel/async/clock.js'
import { type Caller, LOCAL } from '../../kernel/caller.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import { isLoopbackHost, isUnencrypted } from '../../kernel/loopback.js'
import { serverOfView, serverViewName } from '../../kernel/server-view.js'
import { clientAddressOf, comesTwice } from '../../transport/http/request.js'
import { createDocuments } from './documents.js'

export interface ResourceServerContext {
  /** The active configuration, which has `auth`. */
  readonly config: () => ProxyConfig
  /** State folder of the embedded authorization server. */
  readonly stateDir: string
  /** State shared with other replicas. Undefined without a cluster. */
  readonly replicas?: AuthReplicas | undefined
  /** Counts refused credentials of all ports. */
  readonly refusals?: RefusedCredentials | undefined
  /** Called with each step of a sign-in. */
  readonly onGrant?: OnGrantEvent | undefined
  readonly bounds: LimitCounters
  readonly clock: Clock
  readonly log: Logger
}

type Admitted = Caller | AccessRefusal | Promise<Caller | AccessRefusal>

/** Applies `auth` to one HTTP port. */
export interface ResourceServer {
  authorize(request: IncomingMessage, path: string): Admitted
  /** Returns the refusal of a status request from another machine, or undefined. */
  refuseStatus(request: IncomingMessage): Promise<AccessRefusal | undefined>
  /** Returns the caller of a request if its token has the scope `mcp:admin`. */
  adminOf(request: IncomingMessage): Promise<Caller | undefined>
  /** The embedded authorization server, if configured. */
  readonly authServer: AuthServer | undefined
  /** Serves the metadata that leads clients to their authorization server. */
  readonly documents: RequestHandler
  /** Returns the number of refused credentials. */
  refused(): number
  /** Applies the settings of `auth` that can change at run time. */
  reload(): void
  /** Returns a caller with its current permissions. Undefined if its credential is no longer valid. */
  renew(caller: Caller): Caller | undefined
  /** Returns true if another replica may know the credential of a forwarded caller. */
  mayBeElsewhere(caller: Caller): boolean
  /** Requests such a credential from the other replicas. Rejects with a Fault `unavailable`. */
  seek(caller: Caller): Promise<void>
  /** Returns the refusal of a caller without these scopes at a path. */
  insufficientScope(path: string, scopes: readonly string[]): AccessRefusal
}

/** Clients of 2025-03-26 look for the authorization server here, regardless of the endpoint's path. */
const SERVER_METADATA = '/.well-known/oauth-authorization-server'

const STATUS_PATH = '/status'
const STATUS_SCOPE = 'mcp:admin'

/**
 * Creates the resource server of a port. `origin` is its public scheme, host and port, without a trailing
 * slash.
 */
export const createResourceServer = async (
  auth: AuthConfig,
  origin: string,
  context: ResourceServerContext,
): Promise<ResourceServer> => {
  const { config, log } = context
  if (isUnencrypted(origin))
    log.warn({}, 'tokens travel unencrypted: put TLS in front and set auth.publicUrl')
  const rules = (): AuthConfig => config().auth ?? auth
  const hasIssuers = auth.issuers.length > 0
  const issuers = hasIssuers ? (await import('./issuers.js')).createIssuers(auth.issuers, context) : undefined
  const resource = new ProtectedResource({
    origin,
    issuers: [...(auth.embedded === undefined ? [] : [origin]), ...auth.issuers.map(({ issuer }) => issuer)],
    scopes: view => scopesOf(config(), auth, view),
    views: () => viewsOf(config()),
  })
  const authServer = await createOwnServer(origin, { ...context, auth: rules, paths: () => resource.paths })
  const gate = new AccessGate({
    ...context,
    rules: rules(),
    resource,
    issued: authServer,
    checks: issuers?.checks,
    withoutCredential: address => (auth.loopback === 'open' && isLoopbackHost(address) ? LOCAL : undefined),
    wallMs: Date.now,
  })
  const authorize: ResourceServer['authorize'] = (request, path) => {
    const { authorization } = request.headers
    const isRepeated = authorization !== undefined && comesTwice(request.rawHeaders, 'authorization')
    return gate.admit({ authorization, isRepeated, path, address: clientAddressOf(request) })
  }
  return {
    authorize,
    authServer,
    async refuseStatus(request) {
      const admitted = await authorize(request, STATUS_PATH)
      if ('status' in admitted) return admitted
      return admitted.scopes?.has(STATUS_SCOPE) === true
        ? undefined
        : gate.insufficientScope(STATUS_PATH, [STATUS_SCOPE])
    },
    async adminOf(request) {
      const admitted = await authorize(request, STATUS_PATH)
      return 'status' in admitted || admitted.scopes?.has(STATUS_SCOPE) !== true ? undefined : admitted
    },
    documents: createDocuments(path => {
      if (isClientDocument(path)) return clientDocument(origin, path)
      return resource.document(path) ?? (path === SERVER_METADATA ? issuers?.metadata() : undefined)
    }),
    refused: () => gate.refused,
    reload: () => reload(gate, authServer, rules()),
    renew: caller => gate.renew(caller),
    mayBeElsewhere: caller => gate.mayBeElsewhere(caller),
    seek: async ({ proof }) => await authServer?.seek?.(proof?.sha256 ?? ''),
    insufficientScope: (path, scopes) => gate.insufficientScope(path, scopes),
  }
}

const reload = (gate: AccessGate, authServer: AuthServer | undefined, rules: AuthConfig): void => {
  gate.reload(rules)
  void authServer?.reload()
}

/** Creates the embedded authorization server, if configured. */
const createOwnServer = async (
  origin: string,
  context: ResourceServerContext & {
    readonly auth: () => AuthConfig
    readonly paths: () => readonly [string, ...string[]]
  },
): Promise<AuthServer | undefined> => {
  if (context.auth().embedded === undefined) return undefined
  const { createAuthServer } = await import('../../auth/authorization-server/server.js')
  return await createAuthServer({
    ...context,
    publicUrl: origin,
    onEvent: context.onGrant,
    proxy: () => context.config().proxy,
    resourcePaths: context.paths,
    scopes: () => everyScope(context.config(), context.auth()),
  })
}

/** Returns every scope in the configuration, all of which can be granted. */
const everyScope = ({ servers, views }: ProxyConfig, auth: AuthConfig): readonly string[] => {
  const { baseScope, embedded, grants, people, scopeImplies } = auth
  const granted = [...people, ...grants, ...(embedded?.clients ?? [])].flatMap(({ scopes = [] }) => scopes)
  const needed = servers.flatMap(({ access: { see, call } }) => [
    ...see,
    ...call.flatMap(([, scopes]) => scopes),
  ])
  const implied = Object.entries(scopeImplies).flat(2)
  return [
    ...new Set([
      baseScope,
      ...granted,
      ...needed,
      ...views.flatMap(({ scopes }) => scopes),
      ...implied,
      STATUS_SCOPE,
    ]),
  ]
}

/** Returns the views that clients can request, including the default one. */
const viewsOf = ({ views, servers, listen }: ProxyConfig): readonly string[] => [
  ...new Set(['default', ...views.map(({ name }) => name)]),
  ...(listen.servers !== false ? servers.map(({ name }) => serverViewName(name)) : []),
]

/** Returns the base scope and the scopes that views and their servers require. */
const scopesOf = (
  { servers, views }: ProxyConfig,
  { baseScope }: AuthConfig,
  name = 'default',
): readonly string[] => {
  const rules = views.find(view => view.name === name)
  const only = serverOfView(name)
  const view = only === undefined ? rules && new View(rules) : new View(EVERYTHING, only)
  const shown = servers.filter(server => view?.hasServer(server) !== false)
  return [...new Set([baseScope, ...(rules?.scopes ?? []), ...shown.flatMap(({ access }) => access.see)])]
}
