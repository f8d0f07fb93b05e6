import type { Catalog } from '../../catalog/catalog.js'
import type { Clock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Deferred } from '../../kernel/async/deferred.js'
import { Fault } from '../../kernel/faults.js'
import { elementsOf, type JsonText, kindOf, memberOf, stringOf } from '../../kernel/json/text.js'
import { type Call, type Client, type ServerRequest, viewerOf } from '../../model/links.js'
import { type Answer, failed, type Outcome } from '../../model/outcome.js'
import type { ServerPool } from '../../peers/server-pool.js'
import { inputRequired } from '../input-required/questions.js'
import { bare, type InputRetries } from '../input-required/retry/input-retries.js'
import { mayNeedInput, type RequestStates } from '../input-required/retry/request-states.js'
import type { ServerStarter } from './server-starter.js'

export interface WorkspacesContext {
  readonly pool: Pick<ServerPool, 'needsWorkspace' | 'moved'>
  readonly catalog: Pick<Catalog, 'reconnected'>
  readonly starter: Pick<ServerStarter, 'startAll'>
  readonly retries: Pick<InputRetries, 'read'>
  readonly states: Pick<RequestStates, 'seal'>
  readonly clock: Clock
  /** The first of these roots, as URIs, that is a folder to work in. */
  readonly findWorkspace?: ((uris: readonly string[]) => string | undefined) | undefined
}

/** How long the calls of a client wait for its roots. */
const ROOTS_MS = 5000
const ROOTS_MAX = 100
/** How long a client that is asked in an answer may take to come back. */
const STATE_MS = 600_000
const ROOTS = 'roots/list'
const KEY = 'roots'

/**
 * Finds out in which folder a client works whose way in does not say: it is asked for its roots once, while
 * its first call waits or, where requests are returned, in the answer to its first call that may have such a
 * one. Until then that client works where it was started. Nothing is asked while no server depends on it.
 */
export class Workspaces {
  readonly #context: WorkspacesContext
  readonly #asked = new WeakMap<Client, Promise<void>>()
  readonly #settled = new WeakSet<Client>()
  /** Those that were asked in an answer, and have come back. */
  readonly #told = new WeakSet<Client>()

  constructor(context: WorkspacesContext) {
    this.#context = context
  }

  /** A client has come: one without roots works where it was started. */
  met(client: Client): void {
    if (client.workspace === undefined && !mayBeAsked(client)) this.#settle(client, undefined)
  }

  /** What a call has to wait for before it is routed, if anything; never rejects. */
  settling(call: Call): Promise<void> | undefined {
    const { client } = call
    if (!this.#context.pool.needsWorkspace || client.workspace !== undefined || this.#settled.has(client))
      return undefined
    if (!mayBeAsked(client)) {
      this.#settle(client, undefined)
      return undefined
    }
    let asked = this.#asked.get(client)
    if (asked === undefined) {
      asked = this.#ask(client, call)
      this.#asked.set(client, asked)
    }
    return asked
  }

  /**
   * How a call ends whose client is asked first; undefined for all others. A call that is made again with the
   * answer goes on as if nothing had been asked.
   */
  question(call: Call): Outcome | undefined {
    const { client, method } = call
    if (!this.#context.pool.needsWorkspace || !isAskedInAnswers(client) || !mayNeedInput(method))
      return undefined
    try {
      const retry = this.#context.retries.read(call)
      if (retry?.state?.kind === 'roots') {
        call.params = bare(call.params)
        this.#tell(client, retry.responses)
      }
      // What is under way is not for us to interrupt.
      if (retry !== undefined || this.#told.has(client)) return undefined
      const state = this.#context.states.seal(call, '', { kind: 'roots' }, STATE_MS)
      return { kind: 'input', result: inputRequired([{ key: KEY, method: ROOTS, params: undefined }], state) }
    } catch (thrown) {
      return failed(Fault.from(thrown))
    }
  }

  /** A client has come back, with its roots or without. */
  #tell(client: Client, responses: JsonText | undefined): void {
    if (this.#told.has(client)) return
    this.#told.add(client)
    const answer = responses && memberOf(responses, KEY)
    const before = client.workspace
    this.#settle(client, this.#context.findWorkspace?.(answer === undefined ? [] : urisIn(answer)))
    if (client.workspace !== before) this.#context.pool.moved(client, before)
  }

  /** Its roots have changed: one that works nowhere yet is asked again. */
  rootsChanged(client: Client): void {
    if (client.workspace !== undefined) return
    this.#settled.delete(client)
    this.#asked.delete(client)
  }

  async #ask(client: Client, during: Call): Promise<void> {
    const { clock, findWorkspace, starter } = this.#context
    const answered = new Deferred<Answer>()
    const request: ServerRequest = {
      method: ROOTS,
      params: undefined,
      about: undefined,
      wantsProgress: false,
      answer: outcome => answered.resolve(outcome),
      progress: () => undefined,
      onWithdrawn: undefined,
    }
    client.ask(request, during)
    const answer = await within(answered.promise, { clock, ms: ROOTS_MS })
    if (answer === undefined) request.onWithdrawn?.('timed out')
    const uris = answer?.kind === 'result' ? urisIn(answer.result) : []
    this.#settle(client, findWorkspace?.(uris))
    await starter.startAll(viewerOf(client))
  }

  #settle(client: Client, found: string | undefined): void {
    this.#settled.add(client)
    client.workspace = found ?? client.caller.cwd
    if (client.workspace !== undefined) this.#context.catalog.reconnected(client)
  }
}

const mayBeAsked = ({ serverRequests, capabilities }: Client): boolean =>
  serverRequests === 'pushed' && capabilities.roots !== undefined

/** Over HTTP it may be several people, who work in several folders. */
const isAskedInAnswers = ({ serverRequests, capabilities, caller, via }: Client): boolean =>
  serverRequests === 'returned' &&
  capabilities.roots !== undefined &&
  caller.workspace === undefined &&
  via !== 'http'

const urisIn = (result: JsonText): readonly string[] => {
  const roots = memberOf(result, 'roots')
  if (roots === undefined || kindOf(roots) !== 'array') return []
  return [...elementsOf(roots)].slice(0, ROOTS_MAX).flatMap(root => stringOf(memberOf(root, 'uri')) ?? [])
}
