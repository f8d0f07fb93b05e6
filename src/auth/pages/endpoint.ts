import type { AuthConfig, ServerConfig } from '../../config/types.js'
import type { Clock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { lateModule } from '../../kernel/late-module.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { ServerOptions } from '../../peers/dial.js'
import type { NodeHandler } from '../../transport/http/gate.js'
import type { OnGrantEvent } from '../authorization-server/grant-events.js'
import { CALLBACK_PATH } from '../authorization-server/metadata.js'
import type { AuthServer } from '../authorization-server/server.js'
import type { RefusedCredentials } from '../refused-credentials.js'
import type { Logins } from '../store/logins.js'
import { isIssuerCallback } from './client-document.js'
import type { ConnectPages } from './connect-pages.js'
import { SIGN_IN_LINK_PATH, type SignInLinks, type SignInPageLink } from './sign-in-links.js'

export interface ConnectContext {
  readonly links: SignInLinks
  readonly logins: Pick<Logins, 'store'>
  readonly configOf: (server: ServerOptions) => ServerConfig | undefined
  readonly onSignedIn: (link: SignInPageLink) => void
  readonly stateDir: string
  readonly bounds: LimitCounters
  readonly clock: Clock
  readonly log: Logger
}

export interface ConnectEndpointOptions extends ConnectContext {
  readonly refusals?: RefusedCredentials | undefined
  /** Called for each step of a sign-in. */
  readonly onEvent?: OnGrantEvent | undefined
  /** Returns the origin for browsers. */
  readonly origin: () => string
  /** Undefined if no authentication is required. */
  readonly auth: () => AuthConfig | undefined
  readonly authServer: () => AuthServer | undefined
}

/** The sign-in pages of one port. */
export interface ConnectEndpoint {
  /** Reports whether a request belongs to these pages, by path and query. */
  owns(path: string, query: string): boolean
  /** Reports whether the state of a request is on this replica. */
  isKnown(path: string, query: string): boolean
  readonly handle: NodeHandler
  close(): void
}

const parts = lateModule(async () => {
  const [{ Browsers }, { ConnectPages }, { WebLogins }] = await Promise.all([
    import('./browser.js'),
    import('./connect-pages.js'),
    import('./web-login.js'),
  ])
  return { Browsers, ConnectPages, WebLogins }
})

/** Loads the pages with the first visit. */
export const createConnectEndpoint = (options: ConnectEndpointOptions): ConnectEndpoint => {
  let pages: ConnectPages | undefined
  const load = async (): Promise<ConnectPages> => {
    const { Browsers, ConnectPages, WebLogins } = await parts()
    const at = { ...options, origin: options.origin(), authServer: options.authServer() }
    pages ??= new ConnectPages({ ...at, browsers: new Browsers(at), logins: new WebLogins(at) })
    return pages
  }
  const isAwaited = (query: string): boolean =>
    pages?.awaits(new URLSearchParams(query).get('state')) === true
  return {
    isKnown(path, query) {
      const [, id] = path.split(`${SIGN_IN_LINK_PATH}/`)
      return id === undefined ? isAwaited(query) : options.links.find(id) !== undefined
    },
    owns(path, query) {
      if (path.startsWith(`${SIGN_IN_LINK_PATH}/`) || isIssuerCallback(path)) return true
      if (path !== CALLBACK_PATH) return false
      return options.authServer() === undefined || isAwaited(query)
    },
    handle(request, response) {
      load()
        .then(loaded => loaded.handle(request, response))
        .catch((thrown: unknown) => {
          const { message } = Fault.from(thrown)
          response.writeHead(503, { 'Content-Type': 'text/plain', 'Cache-Control': 'no-store' }).end(message)
        })
    },
    close: () => pages?.close(),
  }
}
