import type { Catalog } from '../../catalog/catalog.js'
import type { Clock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Deferred } from '../../kernel/async/deferred.js'
import type { Principal } from '../../kernel/caller.js'
import { Fault } from '../../kernel/faults.js'
import { arrayText, objectText, textOf } from '../../kernel/json/text.js'
import { textBlock } from '../../model/content.js'
import type { Call, Client } from '../../model/links.js'
import { type LoginReason, loginReasonOf } from '../../model/login.js'
import { failed, type Outcome, succeeded } from '../../model/outcome.js'
import { ownErrorText } from '../../model/rpc-error.js'
import type { ServerOptions } from '../../peers/dial.js'
import type { Server } from '../../peers/server.js'
import { stillWanted } from '../calls/call-events.js'
import { inputRequired, noInput } from '../input-required/questions.js'
import { declinedVisit, type Retry } from '../input-required/retry/input-retries.js'
import { mayNeedInput, type RequestStates } from '../input-required/retry/request-states.js'
import { URL_ELICITATION_REQUIRED } from '../input-required/url-elicitations.js'

/** A page on which one principal can sign in at one server, once. */
export interface SignInLink {
  readonly id: string
  readonly url: string
  /** For how many minutes it is there. */
  readonly minutes: number
}

/** PORT. The pages on which people sign in at servers, and what came of it (`auth/pages`). */
export interface SignInPages {
  /** Whether there may be a page for a call: else nobody looks at how calls end. */
  readonly isOpen: boolean
  /** Whether the principal that a server is for has signed in there. */
  isSignedIn(server: ServerOptions): boolean
  /** Undefined where nobody could open a page, or where the principal must not sign in. */
  linkFor(server: ServerOptions, principal: Principal): SignInLink | undefined
}

export interface SignInsContext {
  readonly catalog: Catalog
  readonly clock: Clock
  readonly states: Pick<RequestStates, 'seal'>
  readonly pages: SignInPages | undefined
}

/** How long a call that was made again waits for the login. */
const LOGIN_WAIT_MS = 30_000
/** How long a client may take to come back. */
const STATE_MS = 3_600_000
/** How many links are remembered with the clients that were shown them; the oldest is forgotten. */
const SHOWN_MAX = 1000

const PERSON_CAN_HELP: ReadonlySet<LoginReason | undefined> = new Set<LoginReason>([
  'needs-auth',
  'insufficient-scope',
])

interface Shown {
  readonly done: Deferred<void>
  readonly clients: Set<Client>
}

/** Sends people to sign in at servers as themselves, and their calls on once they have. */
export class SignIns {
  readonly #context: SignInsContext
  /** By the ids of links. */
  readonly #shown = new Map<string, Shown>()

  constructor(context: SignInsContext) {
    this.#context = context
  }

  /** Has a call that ends for want of a login end with the way to it. */
  watch(call: Call): void {
    // A literal assigned to a call would be allocated in V8's old space, and keep the call for long.
    if (this.#context.pages?.isOpen === true) call.onFault = this.#answer
  }

  /** Answers a call of the tool with which people sign in. */
  callTool(call: Call, server: Server): void {
    if (this.#context.pages?.isSignedIn(server.options) === true) {
      const words = `Signed in to ${server.name}: its tools are here now. List the tools again, and go on.`
      call.end(succeeded(objectText([['content', arrayText([textBlock(words)])]])))
    } else call.end(this.#wayTo(call, server) ?? noInput(call.method, noPage(server), server.name))
  }

  /** Goes on with a call that is made again once its user has signed in, or after a while. */
  resume(call: Call, { state, responses }: Retry, goOn: () => void): void {
    if (state?.kind !== 'sign-in') return
    const declined = declinedVisit(call, responses, state.server)
    if (declined !== undefined) {
      call.end(declined)
      return
    }
    const isWanted = stillWanted(call)
    const done = this.#shown.get(state.link)?.done.promise ?? Promise.resolve()
    void within(done, { clock: this.#context.clock, ms: LOGIN_WAIT_MS }).then(() => {
      if (isWanted()) goOn()
    })
  }

  /** Somebody signed in by a link: the clients that were shown it, and no others, are told. */
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

  readonly #answer = (fault: Fault, call: Call): Outcome => {
    const reason = loginReasonOf(fault)
    const server = PERSON_CAN_HELP.has(reason) ? this.#serverOf(call, fault) : undefined
    if (server === undefined) return failed(fault)
    if (server.options.owned !== undefined) return this.#wayTo(call, server, reason) ?? failed(fault)
    const link = this.#context.pages?.linkFor(server.options, call.caller.principal)
    return link === undefined
      ? failed(fault)
      : // The address would be masked in a fault.
        { kind: 'fault', fault, message: `${fault.message}, or open ${link.url}` }
  }

  #serverOf(call: Call, { data }: Fault): Server | undefined {
    return [...this.#context.catalog.visibleTo(call).keys()].find(({ name }) => name === data?.['server'])
  }

  /** How somebody hears of the page where the login is (2025-11-25 and 2026-07-28, client/elicitation). */
  #wayTo(call: Call, server: Server, reason: LoginReason = 'needs-auth'): Outcome | undefined {
    const { pages, states } = this.#context
    const { client, method, caller } = call
    const link = pages?.linkFor(server.options, caller.principal)
    if (link === undefined) return undefined
    const { id, url, minutes } = link
    const { name, options } = server
    const what = reason === 'needs-auth' ? `Sign in to ${name}` : `Allow this proxy more at ${name}`
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
  `Server ${name} needs a login, and this proxy has no page for it here: run \`mcp-proxy auth login ${name}\``
