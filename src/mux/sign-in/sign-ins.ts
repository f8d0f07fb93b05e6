import type { Catalog } from '../../catalog/catalog.js'
import type { Clock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Deferred } from '../../kernel/async/deferred.js'
import type { Principal } from '../../kernel/caller.js'
import { Fault } from '../../kernel/faults.js'
import { arrayText, objectText, textOf } from '../../kernel/json/text.js'
import { textBlock } from '../../model/content.js'
import type { Client } from '../../model/links.js'
import { type LoginReason, loginReasonOf } from '../../model/login.js'
import { type Outcome, succeeded } from '../../model/outcome.js'
import { ownErrorText } from '../../model/rpc-error.js'
import type { ServerOptions } from '../../peers/dial.js'
import type { Server } from '../../peers/server.js'
import { type CallRecord, type CallVerdict, type Interceptor, NEXT } from '../calls/call-record.js'
import { declinedVisit } from '../input-required/input-retries.js'
import { inputRequired, noInput } from '../input-required/questions.js'
import { ASKABLE, mayNeedInput, type RequestStates } from '../input-required/retry/request-states.js'
import { URL_ELICITATION_REQUIRED } from '../input-required/url-elicitations.js'

/** A page for one login of one principal at one server. */
export interface SignInLink {
  readonly id: string
  readonly url: string
  /** Lifetime of the page in minutes. */
  readonly minutes: number
}

/** PORT. The pages for logins at servers, and their results (`auth/pages`). */
export interface SignInPages {
  /** True if a page may exist; otherwise faults of calls are not checked. */
  readonly isOpen: boolean
  /** Returns whether the owner of a server has signed in there. */
  isSignedIn(server: ServerOptions): boolean
  /**
   * Returns a link for the login; undefined if no page can be opened, or if the principal must not sign in.
   */
  linkFor(server: ServerOptions, principal: Principal): SignInLink | undefined
}

export interface SignInsContext {
  readonly catalog: Catalog
  readonly clock: Clock
  readonly states: Pick<RequestStates, 'seal'>
  readonly pages: SignInPages | undefined
}

/** Maximum time that a retried call waits for the login. */
const LOGIN_WAIT_MS = 30_000
/** Maximum time for a client to return. */
const STATE_MS = 3_600_000
/** Maximum number of links remembered with the clients that received them; the oldest is dropped. */
const SHOWN_MAX = 1000

const PERSON_CAN_HELP: ReadonlySet<LoginReason | undefined> = new Set<LoginReason>([
  'needs-auth',
  'insufficient-scope',
])

interface Shown {
  readonly done: Deferred<void>
  readonly clients: Set<Client>
}

/** Sends users to their logins at servers, and resumes their calls afterwards. */
export class SignIns {
  readonly #context: SignInsContext
  /** By link id. */
  readonly #shown = new Map<string, Shown>()

  constructor(context: SignInsContext) {
    this.#context = context
  }

  get interceptors(): readonly Interceptor[] {
    const name = 'sign-in'
    const resume: Interceptor['run'] = record => this.#resume(record)
    return [
      { name, stage: 'request', clients: 'returned', methods: ASKABLE, run: resume },
      { name, stage: 'routed', methods: ['tools/call'], run: record => this.#callTool(record) },
      { name, stage: 'settled', onlyFaults: true, run: (record, outcome) => this.#withLink(record, outcome) },
    ]
  }

  /** Answers a call of a sign-in tool. */
  #callTool(call: CallRecord): CallVerdict {
    const { owner } = call
    if (owner?.isOurs !== true) return NEXT
    const { server } = owner
    if (this.#context.pages?.isSignedIn(server.options) !== true)
      return this.#wayTo(call, server) ?? noInput(call.method, noPage(server), server.name)
    const words = `Signed in to ${server.name}: its tools are available now. List the tools again and continue.`
    return succeeded(objectText([['content', arrayText([textBlock(words)])]]))
  }

  /** Lets a retried call continue once its user has signed in, or after a while. */
  #resume(record: CallRecord): CallVerdict | Promise<CallVerdict> {
    const { state, responses } = record.retry ?? {}
    if (state?.kind !== 'sign-in') return NEXT
    const declined = declinedVisit(record, responses, state.server)
    if (declined !== undefined) return declined
    const done = this.#shown.get(state.link)?.done.promise ?? Promise.resolve()
    return within(done, { clock: this.#context.clock, ms: LOGIN_WAIT_MS }).then(() => NEXT)
  }

  /** Adds a login link to a call that fails for lack of a login. */
  #withLink(call: CallRecord, outcome: Outcome | undefined): CallVerdict {
    const isWanted = outcome?.kind === 'fault' && this.#context.pages?.isOpen === true
    return isWanted ? this.#answer(outcome.fault, call) : NEXT
  }

  /** Handles a login by a link: notifies exactly the clients that received the link. */
  done(id: string): void {
    const shown = this.#shown.get(id)
    this.#shown.delete(id)
    shown?.done.resolve()
    for (const client of shown?.clients ?? [])
      client.notify('notifications/elicitation/complete', textOf({ elicitationId: id }))
  }

  forget(client: Client): void {
    for (const { clients } of this.#shown.values()) clients.delete(client)
  }

  #answer(fault: Fault, call: CallRecord): CallVerdict {
    const reason = loginReasonOf(fault)
    const server = PERSON_CAN_HELP.has(reason) ? this.#serverOf(call, fault) : undefined
    if (server === undefined) return NEXT
    if (server.options.owned !== undefined) return this.#wayTo(call, server, reason) ?? NEXT
    const link = this.#context.pages?.linkFor(server.options, call.caller.principal)
    return link === undefined
      ? NEXT
      : // A fault would mask the address.
        { kind: 'fault', fault, message: `${fault.message}, or open ${link.url}` }
  }

  #serverOf(call: CallRecord, { data }: Fault): Server | undefined {
    return [...this.#context.catalog.visibleTo(call).keys()].find(({ name }) => name === data?.['server'])
  }

  /** Returns how a client receives the login link (2025-11-25 and 2026-07-28, client/elicitation). */
  #wayTo(call: CallRecord, server: Server, reason: LoginReason = 'needs-auth'): Outcome | undefined {
    const { pages, states } = this.#context
    const { client, method, caller } = call
    const link = pages?.linkFor(server.options, caller.principal)
    if (link === undefined) return undefined
    const { id, url, minutes } = link
    const { name, options } = server
    const what = reason === 'needs-auth' ? `Sign in to ${name}` : `Grant this proxy more access at ${name}`
    if (client.capabilities.elicitation?.url === true) {
      const message = `${what} with your account there.`
      if (client.serverRequests === 'pushed') {
        this.#show(id, client)
        const elicitation = { mode: 'url', elicitationId: id, url, message }
        const data = { elicitations: [elicitation] }
        return { kind: 'error', error: ownErrorText(URL_ELICITATION_REQUIRED, `${what} first`, data) }
      }
      if (mayNeedInput(method)) {
        this.#show(id)
        const params = textOf({ mode: 'url', message, url })
        const questions = [{ key: 'sign-in', method: 'elicitation/create', params }]
        const state = states.seal(call, options.alias, { kind: 'sign-in', link: id }, STATE_MS)
        return { kind: 'input', result: inputRequired(questions, state) }
      }
    }
    if (method === 'tools/call')
      return noInput(method, `${what}, then ask again: ${url}   (${minutes} minutes)`, name)
    const fault = new Fault('unauthorized', `Server ${name} needs a login`, {
      data: { server: name, reason, url },
    })
    return { kind: 'fault', fault, message: `${fault.message}: open ${url}` }
  }

  #show(id: string, client?: Client): void {
    const shown = this.#shown.get(id) ?? { done: new Deferred<void>(), clients: new Set() }
    this.#shown.set(id, shown)
    if (client !== undefined) shown.clients.add(client)
    const [oldest] = this.#shown.keys()
    if (oldest !== undefined && this.#shown.size > SHOWN_MAX) this.#shown.delete(oldest)
  }
}

const noPage = ({ name }: Server): string =>
  `Server ${name} needs a login, and this proxy cannot show a login page here: run \`mcp-proxy auth login ${name}\``
