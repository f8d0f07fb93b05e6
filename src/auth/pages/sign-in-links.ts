import type { ProxyConfig, ServerConfig } from '../../config/types.js'
import type { Clock } from '../../kernel/async/clock.js'
import { LOCAL, type Principal } from '../../kernel/caller.js'
import { FairMap } from '../../kernel/fair-share.js'
import { randomId } from '../../kernel/ids.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import { tokenHash } from '../../kernel/secrets/personal-token.js'
import type { SignInLink, SignInPages } from '../../mux/sign-in/sign-ins.js'
import type { ServerOptions } from '../../peers/dial.js'
import { isSameText } from '../authorization-server/store.js'
import type { Logins } from '../store/logins.js'
import { clientDocumentUrl } from './client-document.js'

/** Path of the pages. */
export const SIGN_IN_LINK_PATH = '/oauth/connect'

/** Path of the pages on which people decide about calls. */
export const APPROVAL_PATH = '/approvals'

/** Lifetime of a link, and the minimum remaining lifetime when it is shown again. */
const LINK_MS = 10 * 60_000
const LEFT_MS = 5 * 60_000
/** Lifetime of a ticket: as long as a code of `mcp-proxy ui`. */
const TICKET_MS = 60_000

/** Query parameter with the ticket. */
export const TICKET = 'ticket'

/** A link for one principal and one server. */
export interface SignInPageLink {
  readonly id: string
  readonly principal: Principal
  /** The principal's own server, or one with a shared login. */
  readonly server: ServerOptions
  readonly untilMs: number
  /** The hash of the last ticket, which proves that a browser belongs to the principal. */
  ticket?: { readonly hash: string; readonly untilMs: number }
}

export interface SignInLinksOptions {
  readonly config: () => ProxyConfig
  readonly configOf: (server: ServerOptions) => ServerConfig | undefined
  readonly logins: Pick<Logins, 'isSignedIn'>
  readonly bounds: LimitCounters
  readonly clock: Clock
}

/** Creates links to the pages, each bound to a principal and a server, for ten minutes and one login. */
export class SignInLinks implements SignInPages {
  readonly #options: SignInLinksOptions
  readonly #links: FairMap<SignInPageLink>
  /** Links to show for repeated requests. */
  readonly #fresh = new Map<ServerOptions, SignInPageLink>()
  #origin: string | undefined
  /** Caches `isWanted` per configuration, because each call needs it. */
  #config: ProxyConfig | undefined
  #isWanted = false

  constructor(options: SignInLinksOptions) {
    const { bounds } = options
    this.#options = options
    this.#links = new FairMap(bounds.max.loginFlows, () => bounds.hit('loginFlows'))
  }

  /** Sets the origin for browsers once it is known; the first one counts. */
  opened(origin: string): void {
    this.#origin ??= origin
  }

  closed(origin: string): void {
    if (this.#origin === origin) this.#origin = undefined
  }

  /** Origin for browsers. */
  get origin(): string | undefined {
    return this.#origin
  }

  get isOpen(): boolean {
    const config = this.#options.config()
    if (config !== this.#config) {
      const { auth, servers } = config
      this.#config = config
      this.#isWanted =
        auth === undefined || servers.some(({ credentials }) => credentials === 'per-principal')
    }
    return this.#isWanted && this.#origin !== undefined
  }

  /** Returns the URL of the metadata document for an issuer, if authorization servers can read it. */
  clientDocument(issuer: string): string | undefined {
    const origin = this.#origin
    return origin === undefined ? undefined : clientDocumentUrl(origin, issuer)
  }

  isSignedIn(server: ServerOptions): boolean {
    return this.#options.logins.isSignedIn(server)
  }

  linkFor(server: ServerOptions, principal: Principal): SignInLink | undefined {
    if (this.#origin === undefined || !this.#maySignIn(server, principal)) return undefined
    const nowMs = this.#options.clock.nowMs()
    const known = this.#fresh.get(server)
    const link =
      known !== undefined && known.untilMs - nowMs >= LEFT_MS && this.#links.has(known.id)
        ? known
        : this.#add(server, principal)
    const minutes = Math.round((link.untilMs - nowMs) / 60_000)
    return { id: link.id, url: `${this.#origin}${SIGN_IN_LINK_PATH}/${link.id}`, minutes }
  }

  /**
   * Returns the address of a link with a ticket, for a principal that has authenticated: its browser need not
   * prove again whose it is. Undefined like `linkFor`.
   */
  ticketUrl(server: ServerOptions, principal: Principal): string | undefined {
    const shown = this.linkFor(server, principal)
    const link = shown && this.#links.get(shown.id)
    if (shown === undefined || link === undefined) return undefined
    const ticket = randomId()
    link.ticket = { hash: tokenHash(ticket), untilMs: this.#options.clock.nowMs() + TICKET_MS }
    return `${shown.url}?${TICKET}=${ticket}`
  }

  /** Returns whether a ticket was made for this link within the last minute. */
  isTicketOf({ ticket }: SignInPageLink, given: string): boolean {
    return (
      ticket !== undefined &&
      ticket.untilMs > this.#options.clock.nowMs() &&
      isSameText(ticket.hash, tokenHash(given))
    )
  }

  /** Returns undefined after its end. */
  find(id: string): SignInPageLink | undefined {
    const link = this.#links.get(id)
    return link !== undefined && link.untilMs > this.#options.clock.nowMs() ? link : undefined
  }

  /** Marks a link as used: later requests get another one. */
  used({ server, id }: SignInPageLink): void {
    if (this.#fresh.get(server)?.id === id) this.#fresh.delete(server)
  }

  /** Shared logins are reserved for `local`, where no authentication is required. */
  #maySignIn(server: ServerOptions, principal: Principal): boolean {
    if (this.#options.configOf(server)?.oauth === undefined) return false
    const { owned } = server
    if (owned !== undefined) return owned.owner === principal
    return principal === LOCAL.principal && this.#options.config().auth === undefined
  }

  #add(server: ServerOptions, principal: Principal): SignInPageLink {
    const nowMs = this.#options.clock.nowMs()
    for (const [id, { untilMs }] of this.#links) {
      if (untilMs > nowMs) break
      this.#forget(id)
    }
    const link = { id: randomId(), principal, server, untilMs: nowMs + LINK_MS }
    this.#links.set(link.id, link, principal)
    this.#fresh.set(server, link)
    return link
  }

  #forget(id: string): void {
    const link = this.#links.get(id)
    if (link !== undefined) this.used(link)
    this.#links.delete(id)
  }
}
