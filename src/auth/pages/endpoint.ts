import type { AuthConfig, ServerConfig } from '../../config/types.js'
import type { Clock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { lateModule } from '../../kernel/late-module.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { CallApprovals } from '../../mux/rules/approvals.js'
import type { ServerOptions } from '../../peers/dial.js'
import type { NodeHandler } from '../../transport/http/gate.js'
import type { OnGrantEvent } from '../authorization-server/grant-events.js'
import { CALLBACK_PATH } from '../authorization-server/metadata.js'
import type { AuthServer } from '../authorization-server/server.js'
import type { RefusedCredentials } from '../refused-credentials.js'
import type { Logins } from '../store/logins.js'
import type { ApprovalPages, ApprovalPagesOptions } from './approval-pages.js'
import { isIssuerCallback } from './client-document.js'
import type { ConnectPages } from './connect-pages.js'
import { APPROVAL_PATH, SIGN_IN_LINK_PATH, type SignInLinks, type SignInPageLink } from './sign-in-links.js'

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
  /** Returns the approvals of calls; undefined without rules. */
  readonly approvals: () => CallApprovals | undefined
  readonly isUiCookie: ApprovalPagesOptions['isUiCookie']
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
  const [{ Browsers }, { ApprovalPages }, { ConnectPages }, { WebLogins }] = await Promise.all([
    import('./browser.js'),
    import('./approval-pages.js'),
    import('./connect-pages.js'),
    import('./web-login.js'),
  ])
  return { Browsers, ApprovalPages, ConnectPages, WebLogins }
})

/** Loads the pages with the first visit. */
export const createConnectEndpoint = (options: ConnectEndpointOptions): ConnectEndpoint => {
  let pages: { readonly connect: ConnectPages; readonly approvals: ApprovalPages } | undefined
  const load = async () => {
    const { Browsers, ApprovalPages, ConnectPages, WebLogins } = await parts()
    const at = { ...options, origin: options.origin(), authServer: options.authServer() }
    if (pages === undefined) {
      const browsers = new Browsers(at)
      pages = {
        connect: new ConnectPages({ ...at, browsers, logins: new WebLogins(at) }),
        approvals: new ApprovalPages({ ...at, browsers }),
      }
    }
    return pages
  }
  const stateIn = (query: string): string | null => new URLSearchParams(query).get('state')
  const isForApproval = (path: string, query: string): boolean =>
    path.startsWith(`${APPROVAL_PATH}/`) || pages?.approvals.awaits(stateIn(query)) === true
  const isAwaited = (query: string): boolean =>
    pages?.connect.awaits(stateIn(query)) === true || pages?.approvals.awaits(stateIn(query)) === true
  return {
    isKnown(path, query) {
      if (path.startsWith(`${APPROVAL_PATH}/`))
        return options.approvals()?.records.find(path.slice(APPROVAL_PATH.length + 1)) !== undefined
      const [, id] = path.split(`${SIGN_IN_LINK_PATH}/`)
      return id === undefined ? isAwaited(query) : options.links.find(id) !== undefined
    },
    owns(path, query) {
      if (path.startsWith(`${APPROVAL_PATH}/`)) return options.approvals() !== undefined
      if (path.startsWith(`${SIGN_IN_LINK_PATH}/`) || isIssuerCallback(path)) return true
      if (path !== CALLBACK_PATH) return false
      return options.authServer() === undefined || isAwaited(query)
    },
    handle(request, response) {
      load()
        .then(loaded => {
          const [path = '', query = ''] = (request.url ?? '').split(/\?(.*)/s)
          const { handle } = isForApproval(path, query) ? loaded.approvals : loaded.connect
          handle(request, response)
        })
        .catch((thrown: unknown) => {
          const { message } = Fault.from(thrown)
          response.writeHead(503, { 'Content-Type': 'text/plain', 'Cache-Control': 'no-store' }).end(message)
        })
    },
    close: () => pages?.connect.close(),
  }
}
