import type { IncomingMessage } from 'node:http'
import { ENDPOINTS, SIGN_IN_PATH } from '../../auth/authorization-server/metadata.js'
import { isClientDocument } from '../../auth/pages/client-document.js'
import { CONNECT_PATH } from '../../auth/pages/sign-in-links.js'
import type { ListenConfig } from '../../config/types.js'
import { workspaceOfRequest } from '../../control/workspace.js'
import { type Caller, LOCAL, type Principal, unauthenticatedCaller } from '../../kernel/caller.js'
import { Fault } from '../../kernel/faults.js'
import { isLoopbackHost } from '../../machine/loopback.js'
import type { GateOptions } from '../../transport/http/gate.js'
import { isDirect } from '../../transport/http/guards.js'
import { clientAddressOf } from '../../transport/http/trusted-proxies.js'
import type { ResourceServer, ResourceServerContext } from '../auth/resource-server.js'

/** Who sends the requests of one HTTP port. */
export interface Callers {
  /** What `auth` adds to the names of the port, and who is let in. */
  readonly entry: Pick<GateOptions, 'authorize'> & Partial<GateOptions>
  /** Whose request from an address was refused, as far as is known. */
  readonly principalAt: (address: string) => Principal
  /** Call with the URL of the port; resolves with where clients reach it. Until then nobody is let in. */
  readonly opened: (local: string) => Promise<string>
  /** Whether `auth` is configured and nothing that belongs to it can serve yet. */
  readonly isStarting: () => boolean
  /** Undefined without `auth`, and until it is opened. */
  readonly resourceServer: () => ResourceServer | undefined
}

/** Without `auth` callers are known by their address alone, and nothing else is loaded. */
export const createCallers = (
  { allowedHosts, allowedOrigins }: ListenConfig,
  context: ResourceServerContext,
): Callers => {
  const { auth } = context.config()
  if (auth === undefined) return BY_ADDRESS
  const { publicUrl } = auth
  let server: ResourceServer | undefined
  return {
    entry: {
      ...(publicUrl !== undefined && {
        allowedHosts: [...allowedHosts, new URL(publicUrl).host],
        allowedOrigins: [...allowedOrigins, publicUrl],
      }),
      isShared,
      async authorize(request, path) {
        if (server === undefined) throw new Fault('unavailable', 'The proxy is starting')
        const admitted = await server.authorize(request, path)
        return 'status' in admitted || !isDirect(request) ? admitted : placed(admitted, request)
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
  }
}

/** What clients in web pages use before they have a token; nobody is known there by a cookie. */
const PUBLIC_PATHS: ReadonlySet<string> = new Set([
  ENDPOINTS.registration,
  ENDPOINTS.token,
  ENDPOINTS.revocation,
])

const isShared = (path: string): boolean =>
  PUBLIC_PATHS.has(path) ||
  isClientDocument(path) ||
  path.startsWith('/.well-known/') ||
  // A form says itself where it comes from, and a browser may say `null` of our own pages.
  path.startsWith(`${SIGN_IN_PATH}/`) ||
  path.startsWith(`${CONNECT_PATH}/`)

const anonymousAt = (address: string): Caller => unauthenticatedCaller(`anonymous ${address}`)

/** One principal for all on this machine; each other address is one of its own. */
const callerAt = (address = ''): Caller => (isLoopbackHost(address) ? LOCAL : anonymousAt(address))

/** A caller, with the folder that it works in if its request names one. */
const placed = (caller: Caller, request: IncomingMessage): Caller => {
  const workspace = workspaceOfRequest(request)
  return workspace === undefined ? caller : { ...caller, workspace }
}

const BY_ADDRESS: Callers = {
  entry: { authorize: request => placed(callerAt(clientAddressOf(request)), request), isShared },
  principalAt: address => callerAt(address).principal,
  opened: local => Promise.resolve(local),
  isStarting: () => false,
  resourceServer: () => undefined,
}
