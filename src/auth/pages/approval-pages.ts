import { createHmac, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { basePathOf, baseUrlOf } from '../../kernel/base-url.js'
import { LOCAL, type Principal } from '../../kernel/caller.js'
import { Fault } from '../../kernel/faults.js'
import { escapeForeign } from '../../kernel/hidden-text.js'
import { randomId } from '../../kernel/ids.js'
import type { Logger } from '../../kernel/logger.js'
import { isLoopbackHost } from '../../kernel/loopback.js'
import { maskSecrets } from '../../kernel/secrets/mask.js'
import { tokenHash } from '../../kernel/secrets/personal-token.js'
import { boxLines, ownLines } from '../../mux/rules/approval-question.js'
import type { Approval } from '../../mux/rules/approval-records.js'
import type { CallApprovals } from '../../mux/rules/approvals.js'
import { addressOf } from '../authorization-server/grant-events.js'
import { CALLBACK_PATH } from '../authorization-server/metadata.js'
import { Cookies } from '../authorization-server/sign-in/cookies.js'
import { type PendingSignIn, SignInRefused } from '../authorization-server/sign-in/identity-provider.js'
import { redirect, sendPage } from '../authorization-server/sign-in/page.js'
import type { Account } from '../authorization-server/sign-in/people.js'
import { isSameText } from '../authorization-server/store.js'
import { readForm } from '../authorization-server/token-request.js'
import { decidedPage, decidePage, NO_APPROVAL, notYoursPage, whoDecidesPage } from './approval-views.js'
import type { Browsers, IdentificationMethods } from './browser.js'
import { APPROVAL_PATH } from './sign-in-links.js'
import { AGAIN_S, FOREIGN, NOT_HERE } from './views.js'

const COOKIE_MS = 3_600_000
/** Maximum number of browsers that are remembered for one approval, and of those that sign in elsewhere. */
const BROWSERS_MAX = 32

export interface ApprovalPagesOptions {
  /** Base address for browsers, without a slash at the end. */
  readonly origin: string
  readonly approvals: () => CallApprovals | undefined
  readonly browsers: Browsers
  /** Returns whether a cookie belongs to a page that `mcp-proxy ui` opened. */
  readonly isUiCookie: (cookie: string | undefined) => boolean
  readonly log: Logger
}

/** What a browser has proved about its user. */
interface Proven {
  readonly account?: Account | undefined
  readonly problem?: string
  /** True if the user is not the one that the cookies name. */
  readonly isOther?: boolean
}

interface Visit {
  readonly approvals: CallApprovals
  readonly approval: Approval
  readonly path: string
  readonly cookies: Cookies
  readonly browser: string
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** The pages on which people decide about calls. A visitor learns nothing before it may decide. */
export class ApprovalPages {
  readonly #options: ApprovalPagesOptions
  readonly #base: URL
  readonly #csrfKey = randomBytes(32)
  readonly #proven = new WeakMap<Approval, Map<string, Proven>>()
  /** Browsers at the identity provider, by `state`. */
  readonly #away = new Map<string, { readonly id: string; readonly pending: PendingSignIn }>()

  constructor(options: ApprovalPagesOptions) {
    this.#options = options
    this.#base = new URL(options.origin)
  }

  /** Reports whether the response of a sign-in belongs here. */
  awaits(state: string | null): boolean {
    return state !== null && this.#away.has(state)
  }

  readonly handle = (request: IncomingMessage, response: ServerResponse): void => {
    this.#answer(request, response).catch((thrown: unknown) => {
      this.#options.log.error({ err: thrown }, 'a page of an approval failed')
      if (response.headersSent) response.destroy()
      else sendPage(response, { ...NOT_HERE, status: 500 })
    })
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = '' } = request
    const { path, query } = partsOf(url)
    const isBack = path === CALLBACK_PATH
    if (!takesMethod(request, isBack)) {
      response.writeHead(405, { Allow: isBack ? 'GET' : 'GET, POST', 'Cache-Control': 'no-store' }).end()
      return
    }
    const answer = new URLSearchParams(query)
    const away = isBack ? this.#away.get(answer.get('state') ?? '') : undefined
    const visit = this.#visitOf(away?.id ?? path.slice(APPROVAL_PATH.length + 1), request, response)
    if (visit === undefined) sendPage(response, NO_APPROVAL)
    else if (this.#isElsewhere(request)) {
      redirect(response, `${baseUrlOf(this.#base)}${isBack ? url : path}`, 307)
    } else if (away === undefined) await this.#serve(visit)
    else await this.#back(visit, answer, away.pending)
  }

  async #serve(visit: Visit): Promise<void> {
    if (visit.request.method === 'POST') await this.#post(visit)
    else this.#show(visit)
  }

  /** Cookies of `localhost` are not sent to 127.0.0.1. */
  #isElsewhere({ headers }: IncomingMessage): boolean {
    return isLoopbackHost(this.#base.hostname) && headers.host !== this.#base.host
  }

  /** Undefined for an approval that does not wait. */
  #visitOf(id: string, request: IncomingMessage, response: ServerResponse): Visit | undefined {
    const approvals = this.#options.approvals()
    const approval = approvals?.records.find(id)
    if (approvals === undefined || approval?.state !== 'waiting') return undefined
    const path = `${basePathOf(this.#base)}${APPROVAL_PATH}/${id}`
    const cookies = new Cookies(this.#base, request, response)
    const known = cookies.get('approval', { path })
    const browser = known ?? randomId()
    if (known === undefined) cookies.set('approval', browser, { path, maxAge: COOKIE_MS })
    return { approvals, approval, path, cookies, browser, request, response }
  }

  #show(visit: Visit): void {
    const { approvals, approval, response } = visit
    const visitor = this.#visitor(visit)
    if (visitor === undefined) this.#ask(visit)
    else if (!this.#mayDecide(visit, visitor)) sendPage(response, notYoursPage(this.#form(visit)))
    else {
      const { subject, changed, endsAtMs, text } = approval
      const { method, server, name, rule, principal } = subject
      const question = { method, server, name, rule, changed, endsAtMs, url: approvals.urlOf(approval) }
      const args = method === 'resources/read' ? undefined : escapeForeign(maskSecrets(text))
      sendPage(
        response,
        decidePage({
          ...this.#form(visit),
          caller: visitor.principal === principal ? undefined : principal,
          box: boxLines(question, args),
          lines: ownLines({ ...question, arguments: undefined }),
        }),
      )
    }
  }

  #ask(visit: Visit, problem = this.#provenBy(visit)?.problem): void {
    const form = { ...this.#form(visit), ...(problem !== undefined && { problem }) }
    const methods = this.#methodsFor(visit)
    // Not while a person types a token. A `meta` element would announce each time to users of screen readers.
    if (methods.code !== undefined && !methods.byToken) visit.response.setHeader('Refresh', AGAIN_S)
    sendPage(visit.response, whoDecidesPage({ ...form, ...methods }))
  }

  #methodsFor({ approvals, approval, browser }: Visit): IdentificationMethods {
    const { browsers } = this.#options
    const what = 'a browser that decides about a call'
    const { principal, rule } = approval.subject
    const name = nameOf(approval, browser)
    if (rule.ask.of === undefined) return browsers.methodsFor(principal, name, what)
    const people = browsers.methodsFor('person ', name, what)
    return approvals.mayDecide(approval, { principal: LOCAL.principal, scopes: undefined })
      ? { ...people, code: browsers.methodsFor(LOCAL.principal, name, what).code }
      : people
  }

  /** Returns who visits; undefined if that is not known. */
  #visitor(visit: Visit): Account | undefined {
    const { browsers, isUiCookie } = this.#options
    const { approval, browser, cookies, request, response } = visit
    const proven = this.#provenBy(visit)
    if (proven?.account !== undefined || proven?.isOther === true) return proven.account
    const approved = browsers.approved(nameOf(approval, browser))
    if (approved !== undefined) return this.#prove(visit, { account: accountOf(approved) }).account
    const isUi = isUiCookie(cookies.get('page', { path: '' }))
    const principal = isUi ? LOCAL.principal : browsers.presentAs(request, response)
    return principal === undefined ? undefined : accountOf(principal)
  }

  #mayDecide({ approvals, approval }: Visit, account: Account): boolean {
    const scopes = this.#options.browsers.scopesOf(account)
    return approvals.mayDecide(approval, { principal: account.principal, scopes })
  }

  async #post(visit: Visit): Promise<void> {
    const { request, response } = visit
    const form = (await readForm(request)) ?? new URLSearchParams()
    const { origin = 'null' } = request.headers
    const isOurs = origin === 'null' || origin === this.#base.origin
    if (!isOurs || !isSameText(form.get('csrf') ?? '', this.#csrf(visit))) {
      sendPage(response, FOREIGN)
      return
    }
    const action = form.get('action')
    if (action === 'allow' || action === 'deny') this.#decide(visit, action === 'allow')
    else await this.#identify(visit, action, form.get('token') ?? '')
  }

  #decide(visit: Visit, isAllowed: boolean): void {
    const { response, approvals, approval } = visit
    const by = this.#visitor(visit)
    if (by === undefined) this.#ask(visit, 'Show first that you may decide.')
    else if (!this.#mayDecide(visit, by)) sendPage(response, notYoursPage(this.#form(visit)))
    else {
      const decider = { by: by.principal, via: 'page' } as const
      const isFirst = approvals.records.decide(approval, isAllowed, decider)
      sendPage(response, isFirst ? decidedPage(isAllowed) : NO_APPROVAL)
    }
  }

  async #identify(visit: Visit, action: string | null, token: string): Promise<void> {
    const { browsers } = this.#options
    const { approval, browser, request } = visit
    if (action === 'identify') await this.#sendToProvider(visit)
    else if (token !== '') {
      const from = { visit: nameOf(approval, browser), path: APPROVAL_PATH, server: approval.subject.server }
      const principal = browsers.byPageToken(token.trim(), { ...from, address: addressOf(request) })
      if (principal === undefined) {
        this.#ask(visit, 'No person can decide with this token.')
        return
      }
      this.#prove(visit, { account: accountOf(principal) })
      this.#again(visit)
    } else {
      this.#prove(visit, { isOther: true })
      this.#again(visit)
    }
  }

  async #sendToProvider(visit: Visit): Promise<void> {
    const { approval, cookies, path, response } = visit
    try {
      const { url, pending } = await this.#options.browsers.startSignIn()
      this.#makeRoom(visit)
      this.#away.set(pending.state, { id: approval.id, pending })
      cookies.set('approver', tokenHash(pending.state), { path, maxAge: COOKIE_MS })
      redirect(response, url.href)
    } catch (thrown) {
      this.#ask(visit, Fault.from(thrown).message)
    }
  }

  /** Forgets browsers whose sign-in is worth nothing any more, or that are too many for one approval. */
  #makeRoom({ approvals, approval }: Visit): void {
    for (const [state, { id }] of this.#away)
      if (approvals.records.find(id)?.state !== 'waiting') this.#away.delete(state)
    const own = [...this.#away].filter(([, { id }]) => id === approval.id)
    for (const [state] of own.slice(0, Math.max(0, own.length - BROWSERS_MAX + 1))) this.#away.delete(state)
  }

  /** Processes the response of the identity provider, from the same browser, once. */
  async #back(visit: Visit, answer: URLSearchParams, pending: PendingSignIn): Promise<void> {
    this.#away.delete(pending.state)
    if (visit.cookies.get('approver', { path: visit.path }) !== tokenHash(pending.state)) {
      sendPage(visit.response, NOT_HERE)
      return
    }
    try {
      this.#prove(visit, { account: await this.#options.browsers.finishSignIn(answer, pending) })
    } catch (thrown) {
      const isRefused = thrown instanceof SignInRefused
      this.#prove(visit, {
        problem: isRefused ? 'You were not signed in there.' : Fault.from(thrown).message,
      })
    }
    this.#again(visit)
  }

  #provenBy({ approval, browser }: Visit): Proven | undefined {
    return this.#proven.get(approval)?.get(browser)
  }

  #prove({ approval, browser }: Visit, proven: Proven): Proven {
    const all = this.#proven.get(approval) ?? new Map<string, Proven>()
    this.#proven.set(approval, all.set(browser, proven))
    const [oldest] = all.keys()
    if (oldest !== undefined && all.size > BROWSERS_MAX) all.delete(oldest)
    return proven
  }

  #again({ response, path }: Visit): void {
    redirect(response, path)
  }

  #form(visit: Visit) {
    return { path: visit.path, csrf: this.#csrf(visit) }
  }

  #csrf({ approval, browser }: Visit): string {
    return createHmac('sha256', this.#csrfKey).update(nameOf(approval, browser)).digest('base64url')
  }
}

const accountOf = (principal: Principal): Account => ({ principal, groups: [] })

const partsOf = (url: string): { readonly path: string; readonly query: string } => {
  const [path = '', query = ''] = url.split(/\?(.*)/s)
  return { path, query }
}

const takesMethod = ({ method = '' }: IncomingMessage, isBack: boolean): boolean =>
  method === 'GET' || method === 'HEAD' || (method === 'POST' && !isBack)

/** Returns the key of an approval in one browser. */
const nameOf = ({ id }: Approval, browser: string): string => `${id}.${tokenHash(browser)}`
