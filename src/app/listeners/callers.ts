import type { IncomingMessage } from 'node:http'
import { ENDPOINTS, SIGN_IN_PATH } from '../../auth/authorization-server/metadata.js'
import { isClientDocument } from '../../auth/pages/client-document.js'
import { APPROVAL_PATH, SIGN_IN_LINK_PATH } from '../../auth/pages/sign-in-links.js'
import type { ListenConfig, ProxyConfig } from '../../config/types.js'
import { WORKSPACE_HEADER, workspaceOfRequest } from '../../control/workspace.js'
import { type Caller, LOCAL, type Principal, unauthenticatedCaller } from '../../kernel/caller.js'
import { Fault } from '../../kernel/faults.js'
import { headerMatcher, passedHeaders } from '../../kernel/header-patterns.js'
import { isLoopbackHost } from '../../kernel/loopback.js'
import type { GateOptions } from '../../transport/http/gate.js'
import { isDirect } from '../../transport/http/guards.js'
import { clientAddressOf } from '../../transport/http/request.js'
import type { ResourceServer, ResourceServerContext } from '../auth/resource-server.js'

/** Identifies the callers of one HTTP port. */
export interface Callers {
  /** The gate options that `auth` adds. */
  readonly entry: Pick<GateOptions, 'authorize'> & Partial<GateOptions>
  /** Returns the principal of an address for the audit of a refused request. */
  readonly principalAt: (address: string) => Principal
  /** Call with the URL of the port. Resolves with its public URL. Until then all requests are refused. */
  readonly opened: (local: string) => Promise<string>
  /** True while `auth` is configured and its handlers are not loaded. */
  readonly isStarting: () => boolean
  /** Undefined without `auth` and before `opened`. */
  readonly resourceServer: () => ResourceServer | undefined
  /** Applies the active configuration. */
  readonly reload: () => void
}

/** Without `auth`, callers are identified by address and no authorization code is loaded. */
export const createCallers = (
  { allowedHosts, allowedOrigins }: ListenConfig,
  context: ResourceServerContext,
): Callers => {
  const { auth } = context.config()
  const passing = new HeaderPassing(context.config)
  if (auth === undefined) return byAddress(passing)
  const { publicUrl } = auth
  let server: ResourceServer | undefined
  return {
    entry: {
      ...(publicUrl !== undefined && {
        allowedHosts: [...allowedHosts, new URL(publicUrl).host],
        allowedOrigins: [...allowedOrigins, new URL(publicUrl).origin],
      }),
      isShared,
      async authorize(request, path) {
        if (server === undefined) throw new Fault('unavailable', 'The proxy is starting')
        const admitted = await server.authorize(request, path)
        if ('status' in admitted) return admitted
        const caller = passing.matches === undefined ? admitted : passing.add(admitted, request)
        return WORKSPACE_HEADER in request.headers && isDirect(request) ? placed(caller, request) : caller
      },
    },
    principalAt: address => anonymousAt(address).principal,
    async opened(local) {
      const origin = publicUrl ?? local
      const { createResourceServer } = await import('../auth/resource-server.js')
      server = await createResourceServer(auth, origin, context)
      return origin
    },
    isStarting: () => server === undefined,
    resourceServer: () => server,
    reload: () => passing.reload(),
  }
}

/** Paths that clients in web pages use without a token. They accept no cookies. */
const PUBLIC_PATHS: ReadonlySet<string> = new Set([
  ENDPOINTS.registration,
  ENDPOINTS.token,
  ENDPOINTS.revocation,
])

const isShared = (path: string): boolean =>
  PUBLIC_PATHS.has(path) ||
  isClientDocument(path) ||
  path.startsWith('/.well-known/') ||
  // These forms check their origin themselves, and a browser may send `null` for our own pages.
  [SIGN_IN_PATH, SIGN_IN_LINK_PATH, APPROVAL_PATH].some(page => path.startsWith(`${page}/`))

const anonymousAt = (address: string): Caller => unauthenticatedCaller(`anonymous ${address}`)

/** All local callers share a principal. Each other address has its own. */
const callerAt = (address = ''): Caller => (isLoopbackHost(address) ? LOCAL : anonymousAt(address))

/** Adds the working folder of a caller, if its request names one. */
const placed = (caller: Caller, request: IncomingMessage): Caller | Promise<Caller> =>
  workspaceOfRequest(request)?.then(workspace =>
    workspace === undefined ? caller : { ...caller, workspace },
  ) ?? caller

const byAddress = (passing: HeaderPassing): Callers => ({
  entry: {
    authorize(request) {
      const known = callerAt(clientAddressOf(request))
      const caller = passing.matches === undefined ? known : passing.add(known, request)
      return WORKSPACE_HEADER in request.headers ? placed(caller, request) : caller
    },
    isShared,
  },
  principalAt: address => callerAt(address).principal,
  opened: local => Promise.resolve(local),
  isStarting: () => false,
  resourceServer: () => undefined,
  reload: () => passing.reload(),
})

/** Adds the headers of a request that are passed on to some server. */
class HeaderPassing {
  /** Matches the headers to pass on; undefined if no server gets any. */
  matches: ((name: string) => boolean) | undefined
  readonly #config: () => ProxyConfig

  constructor(config: () => ProxyConfig) {
    this.#config = config
    this.reload()
  }

  reload(): void {
    this.matches = patternsIn(this.#config())
  }

  add(caller: Caller, { headers }: IncomingMessage): Caller {
    const passed = this.matches && passedHeaders(headers, this.matches)
    return passed === undefined ? caller : { ...caller, headers: passed }
  }
}

const patternsIn = ({ servers }: ProxyConfig): ((name: string) => boolean) | undefined => {
  const all = servers.flatMap(({ transport }) => ('url' in transport ? (transport.forwardHeaders ?? []) : []))
  return all.length === 0 ? undefined : headerMatcher(all)
}
