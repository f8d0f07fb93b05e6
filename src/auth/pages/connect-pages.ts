import { createHmac, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { basePathOf, baseUrlOf } from '../../kernel/base-url.js'
import { Fault } from '../../kernel/faults.js'
import { randomId } from '../../kernel/ids.js'
import type { Logger } from '../../kernel/logger.js'
import { isLoopbackHost } from '../../kernel/loopback.js'
import { tokenHash } from '../../kernel/secrets/personal-token.js'
import { addressOf, type GrantEvent, type OnGrantEvent } from '../authorization-server/grant-events.js'
import { CALLBACK_PATH } from '../authorization-server/metadata.js'
import { Cookies } from '../authorization-server/sign-in/cookies.js'
import { type PendingSignIn, SignInRefused } from '../authorization-server/sign-in/identity-provider.js'
import { redirect, sendPage } from '../authorization-server/sign-in/page.js'
import { isSameText } from '../authorization-server/store.js'
import { readForm } from '../authorization-server/token-request.js'
import type { Browsers } from './browser.js'
import { isIssuerCallback } from './client-document.js'
import { type Away, isAnswerTo, keep, type LoginProgress, progressOf } from './progress.js'
import { SIGN_IN_LINK_PATH, type SignInLinks, type SignInPageLink, TICKET } from './sign-in-links.js'
import { deniedPage, donePage, FOREIGN, GONE, goOnPage, NOT_HERE, strangerPage, whoPage } from './views.js'
import type { LoginDraft, StartedLogin, WebLogins } from './web-login.js'

const COOKIE_MS = 10 * 60_000

export interface ConnectPagesOptions {
  /** Base address for browsers, without a slash at the end. */
  readonly origin: string
  readonly links: Pick<SignInLinks, 'find' | 'used' | 'isTicketOf'>
  readonly browsers: Browsers
  readonly logins: Pick<WebLogins, 'draft' | 'begin' | 'finish'>
  /** Called after a login through a link. */
  readonly onSignedIn: (link: SignInPageLink) => void
  /** Called for each step of a sign-in. */
  readonly onEvent?: OnGrantEvent | undefined
  readonly log: Logger
}

/** One request for the page of a link. */
interface Visit {
  readonly link: SignInPageLink
  readonly progress: LoginProgress
  readonly path: string
  readonly cookies: Cookies
  /** Identifies the browser by cookie; new if it sent none. */
  readonly browser: string
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/**
 * The pages behind the links. Only the principal of a link can proceed, in one browser. The browser is sent
 * to an authorization server only after a click on a page that names it.
 */
export class ConnectPages {
  readonly #options: ConnectPagesOptions
  readonly #issuer: URL
  readonly #csrfKey = randomBytes(32)
  /** Links with a browser at another site, by `state`. */
  readonly #away = new Map<string, SignInPageLink>()

  constructor(options: ConnectPagesOptions) {
    this.#options = options
    this.#issuer = new URL(options.origin)
  }

  /** Reports whether the response of a sign-in belongs here; others share the path. */
  awaits(state: string | null): boolean {
    return state !== null && this.#away.has(state)
  }

  readonly close = (): void => this.#options.browsers.close()

  readonly handle = (request: IncomingMessage, response: ServerResponse): void => {
    this.#answer(request, response).catch((thrown: unknown) => {
      this.#options.log.error({ err: thrown }, 'a page of a login failed')
      if (response.headersSent) response.destroy()
      else sendPage(response, { ...NOT_HERE, status: 500 })
    })
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = '', query = ''] = (request.url ?? '').split(/\?(.*)/s)
    const { method = '' } = request
    const isBack = path === CALLBACK_PATH || isIssuerCallback(path)
    if (method !== 'GET' && method !== 'HEAD' && (method !== 'POST' || isBack)) {
      response.writeHead(405, { Allow: isBack ? 'GET' : 'GET, POST', 'Cache-Control': 'no-store' }).end()
    } else if (isBack) await this.#back(request, response, { path, answer: new URLSearchParams(query) })
    else await this.#visit(request, response, path)
  }

  async #visit(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const link = this.#options.links.find(path.slice(SIGN_IN_LINK_PATH.length + 1))
    if (link === undefined) {
      sendPage(response, GONE)
      return
    }
    // Cookies of `localhost` are not sent to 127.0.0.1. Behind a reverse proxy, `Host` may be anything.
    if (isLoopbackHost(this.#issuer.hostname) && request.headers.host !== this.#issuer.host) {
      redirect(response, `${baseUrlOf(this.#issuer)}${request.url ?? path}`, 307)
      return
    }
    const visit = this.#visitOf(link, request, response)
    if (request.method === 'POST') await this.#post(visit)
    else await this.#show(this.#admitted(visit))
  }

  /** A browser with a ticket belongs to the principal of the link, also if another one began. */
  #admitted(visit: Visit): Visit {
    const ticket = new URLSearchParams(visit.request.url?.split('?')[1]).get(TICKET)
    const isProven = ticket !== null && this.#options.links.isTicketOf(visit.link, ticket)
    return isProven && !isOwners(visit) && visit.progress.at === 'open' ? this.#adopt(visit) : visit
  }

  #visitOf(link: SignInPageLink, request: IncomingMessage, response: ServerResponse): Visit {
    const path = `${basePathOf(this.#issuer)}${SIGN_IN_LINK_PATH}/${link.id}`
    const cookies = new Cookies(this.#issuer, request, response)
    const known = cookies.get('connect', { path })
    const browser = known ?? randomId()
    if (known === undefined) cookies.set('connect', browser, { path, maxAge: COOKIE_MS })
    return { link, progress: progressOf(link), path, cookies, browser, request, response }
  }

  /** Shows the state of a link to its principal. */
  async #show(visit: Visit): Promise<void> {
    const { link, progress, request, response } = visit
    const { browsers } = this.#options
    const name = this.#nameOf(visit)
    const result = progress.results.get(name)
    const principal = browsers.approved(name) ?? browsers.signedInAs(request, response)
    if (isOwners(visit)) await this.#showOwn(visit)
    else if (progress.owner !== undefined) sendPage(response, GONE)
    else if (principal === link.principal) await this.#showOwn(this.#adopt(visit))
    else if (result?.isStranger ?? principal !== undefined) {
      sendPage(response, strangerPage(this.#form(visit)))
    } else this.#ask(visit, result?.problem)
  }

  /** Asks the user to authenticate. */
  #ask(visit: Visit, problem?: string): void {
    const { link, response } = visit
    const what = `a browser that signs in to ${link.server.name}`
    sendPage(
      response,
      whoPage({
        ...this.#form(visit, problem),
        ...this.#options.browsers.methodsFor(link.principal, this.#nameOf(visit), what),
        server: link.server.name,
        ...(problem !== undefined && { status: 403 }),
      }),
    )
  }

  async #showOwn(visit: Visit): Promise<void> {
    const { link, progress, response } = visit
    const { name } = link.server
    if (progress.at !== 'open') {
      sendPage(response, progress.at === 'done' ? donePage(name) : deniedPage(name))
      return
    }
    const draft = await this.#draft(visit)
    const { discovery, asked } = draft?.record ?? {}
    progress.asked = asked
    sendPage(
      response,
      goOnPage({
        ...this.#form(visit, progress.problem),
        server: name,
        serverHost: draft === undefined ? name : new URL(draft.context.url).host,
        issuerHost: discovery && hostOf(discovery.server.authorization_endpoint ?? discovery.server.issuer),
        scopes: asked ?? [],
        isNamedByAnswer: discovery?.server.authorization_response_iss_parameter_supported === true,
      }),
    )
  }

  /** Returns the prepared login; on failure, sets the problem and returns undefined. */
  async #draft({ link, progress }: Visit): Promise<LoginDraft | undefined> {
    progress.draft ??= this.#options.logins.draft(link.server)
    try {
      return await progress.draft
    } catch (thrown) {
      progress.draft = undefined
      progress.problem = messageOf(thrown)
      return undefined
    }
  }

  async #post(visit: Visit): Promise<void> {
    const { request, response } = visit
    const form = (await readForm(request)) ?? new URLSearchParams()
    // A page without a referrer may send `Origin: null`; then the form token decides.
    const { origin = 'null' } = request.headers
    const isOurs = origin === 'null' || origin === this.#issuer.origin
    if (!isOurs || !isSameText(form.get('csrf') ?? '', this.#csrf(visit))) {
      sendPage(response, FOREIGN)
      return
    }
    const action = form.get('action') ?? ''
    if (isOwners(visit)) await this.#decide(visit, action)
    else await this.#identify(visit, action, form.get('token') ?? '')
  }

  async #decide(visit: Visit, action: string): Promise<void> {
    const { link, progress } = visit
    progress.problem = undefined
    if (action === 'continue' && progress.at === 'open') {
      await this.#begin(visit)
      return
    }
    if (action === 'deny' && progress.at === 'open') {
      progress.at = 'denied'
      this.#report('denied', visit)
      this.#leave(visit, undefined)
      this.#options.links.used(link)
    }
    this.#again(visit)
  }

  /** Handles an authentication by the user. */
  async #identify(visit: Visit, action: string, token: string): Promise<void> {
    const { link, request, response, progress } = visit
    const { browsers } = this.#options
    if (progress.owner !== undefined) sendPage(response, GONE)
    else if (action === 'identify') await this.#sendToProvider(visit)
    else if (token !== '') {
      const from = { visit: link.id, server: link.server.name, address: addressOf(request) }
      const principal = browsers.byToken(token.trim(), from)
      if (principal === undefined) this.#ask(visit, 'No person has this token.')
      else if (principal === link.principal) this.#again(this.#adopt(visit))
      else sendPage(response, strangerPage(this.#form(visit)))
    } else {
      // The user is not the one in the cookie.
      keep(visit.progress, this.#nameOf(visit), { isStranger: false })
      this.#again(visit)
    }
  }

  async #sendToProvider(visit: Visit): Promise<void> {
    try {
      const { url, pending } = await this.#options.browsers.startSignIn()
      this.#leave(visit, { is: 'identity', state: pending.state, pending })
      redirect(visit.response, url.href)
    } catch (thrown) {
      this.#ask(visit, messageOf(thrown))
    }
  }

  /** Sends the browser to the authorization server; this is the first request to it. */
  async #begin(visit: Visit): Promise<void> {
    const draft = await this.#draft(visit)
    if (draft !== undefined) {
      try {
        const { url, started } = await this.#options.logins.begin(draft)
        this.#leave(visit, { is: 'login', state: started.pending.state, started })
        redirect(visit.response, url.href)
        return
      } catch (thrown) {
        visit.progress.problem = messageOf(thrown)
        visit.progress.draft = undefined
      }
    }
    this.#again(visit)
  }

  /** Records the destination of the browser; replaces an earlier one. */
  #leave({ link, progress, path, cookies }: Visit, away: Away | undefined): void {
    if (progress.away !== undefined) this.#away.delete(progress.away.state)
    progress.away = away
    for (const [state, each] of this.#away)
      if (this.#options.links.find(each.id) === undefined) this.#away.delete(state)
    if (away !== undefined) this.#away.set(away.state, link)
    cookies.set('login', away && tokenHash(away.state), { path, maxAge: COOKIE_MS })
  }

  /** Processes the response of a sign-in: from the same browser, on the path of its issuer, once. */
  async #back(
    request: IncomingMessage,
    response: ServerResponse,
    { path, answer }: { readonly path: string; readonly answer: URLSearchParams },
  ): Promise<void> {
    const state = answer.get('state') ?? ''
    const link = this.#away.get(state)
    const visit = link && this.#options.links.find(link.id) && this.#visitOf(link, request, response)
    const away = visit?.progress.away
    const isHere =
      visit !== undefined && visit.cookies.get('login', { path: visit.path }) === tokenHash(state)
    if (visit === undefined || !isHere || !isAnswerTo(away, state, path)) {
      sendPage(response, NOT_HERE)
      return
    }
    this.#leave(visit, undefined)
    if (away.is === 'identity') await this.#identified(visit, answer, away.pending)
    else if (isOwners(visit)) await this.#signedIn(visit, answer, away.started)
    else sendPage(response, NOT_HERE)
  }

  async #identified(visit: Visit, answer: URLSearchParams, pending: PendingSignIn): Promise<void> {
    try {
      const principal = (await this.#options.browsers.finishSignIn(answer, pending))?.principal
      const isWhoAsked = principal === visit.link.principal && visit.progress.owner === undefined
      if (isWhoAsked) this.#adopt(visit)
      else keep(visit.progress, this.#nameOf(visit), { isStranger: true })
    } catch (thrown) {
      const problem = thrown instanceof SignInRefused ? 'You were not signed in there.' : messageOf(thrown)
      keep(visit.progress, this.#nameOf(visit), { isStranger: false, problem })
    }
    this.#again(visit)
  }

  async #signedIn(visit: Visit, answer: URLSearchParams, started: StartedLogin): Promise<void> {
    const { link, progress } = visit
    try {
      await this.#options.logins.finish(started, answer)
      progress.at = 'done'
      progress.problem = undefined
      this.#options.links.used(link)
      const { principal, server } = link
      this.#options.log.info({ principal, server: server.name }, 'a user signed in at a server')
      this.#report('allowed', visit)
      this.#options.onSignedIn(link)
    } catch (thrown) {
      progress.problem = messageOf(thrown)
      progress.draft = undefined
    }
    // Redirects to keep the address with its code out of the history.
    this.#again(visit)
  }

  /** Binds the link to this browser with a new cookie; no other browser may continue. */
  #adopt(visit: Visit): Visit {
    const { cookies, path, progress } = visit
    this.#options.browsers.forget(this.#nameOf(visit))
    const browser = randomId()
    cookies.set('connect', browser, { path, maxAge: COOKIE_MS })
    progress.owner = tokenHash(browser)
    this.#report('signed in', visit)
    return { ...visit, browser }
  }

  #report(event: GrantEvent['event'], { link: { principal, server }, progress, request }: Visit): void {
    const scopes = progress.asked
    this.#options.onEvent?.({ event, principal, server: server.name, scopes, address: addressOf(request) })
  }

  #again({ response, path }: Visit): void {
    redirect(response, path)
  }

  /** Returns the key of a link in one browser. */
  #nameOf({ link, browser }: Visit): string {
    return `${link.id}.${tokenHash(browser)}`
  }

  #form(visit: Visit, problem?: string) {
    return { path: visit.path, csrf: this.#csrf(visit), problem }
  }

  #csrf(visit: Visit): string {
    return createHmac('sha256', this.#csrfKey).update(this.#nameOf(visit)).digest('base64url')
  }
}

const isOwners = ({ progress, browser }: Visit): boolean =>
  progress.owner !== undefined && isSameText(progress.owner, tokenHash(browser))

const hostOf = (address: string): string => (URL.canParse(address) ? new URL(address).host : address)

const messageOf = (thrown: unknown): string => Fault.from(thrown).message
