import type { Catalog } from '../../catalog/catalog.js'
import type { Clock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Deferred } from '../../kernel/async/deferred.js'
import { elementsOf, type JsonText, kindOf, memberOf, stringOf } from '../../kernel/json/text.js'
import { type Client, type ServerRequest, viewerOf } from '../../model/links.js'
import type { Answer } from '../../model/outcome.js'
import type { ServerPool } from '../../peers/server-pool.js'
import { type CallRecord, type CallVerdict, type Interceptor, NEXT } from '../calls/call-record.js'
import { bare, type InputRetries } from '../input-required/input-retries.js'
import { inputRequired } from '../input-required/questions.js'
import { ASKABLE, type RequestStates } from '../input-required/retry/request-states.js'
import type { ServerStarter } from './server-starter.js'

export interface WorkspacesContext {
  readonly pool: Pick<ServerPool, 'moved'>
  readonly catalog: Pick<Catalog, 'reconnected'>
  readonly starter: Pick<ServerStarter, 'startAll'>
  readonly retries: Pick<InputRetries, 'read'>
  readonly states: Pick<RequestStates, 'seal'>
  readonly clock: Clock
  /** Returns the first of these root URIs that is a usable folder. */
  readonly findWorkspace?: ((uris: readonly string[]) => Promise<string | undefined>) | undefined
}

/** Maximum time that a client's calls wait for its roots. */
const ROOTS_MS = 5000
const ROOTS_MAX = 100
/** Maximum time for a client that is asked in a result to return. */
const STATE_MS = 600_000
const ROOTS = 'roots/list'
const KEY = 'roots'

/**
 * Determines the folder of a client whose transport does not reveal it. The client is asked for its roots
 * once: while its first call waits or, with returned requests, in the answer to its first suitable call.
 * Until then it counts as working in the folder where it was started. Nothing is asked while no server needs
 * it.
 */
export class Workspaces {
  readonly #context: WorkspacesContext
  readonly #asked = new WeakMap<Client, Promise<void>>()
  readonly #settled = new WeakSet<Client>()
  /** Clients that were asked in a result and have returned. */
  readonly #told = new WeakSet<Client>()

  constructor(context: WorkspacesContext) {
    this.#context = context
  }

  /** Handles a new client; one without roots uses the folder where it was started. */
  met(client: Client): void {
    if (client.workspace === undefined && !mayBeAsked(client)) this.#settle(client, undefined)
  }

  get interceptors(): readonly Interceptor[] {
    const name = 'workspaces'
    return [
      {
        ...{ name, stage: 'request', clients: 'returned', methods: ASKABLE },
        run: record => this.#question(record),
      },
      { name, stage: 'request', run: record => this.#settling(record)?.then(() => NEXT) ?? NEXT },
    ]
  }

  /** Returns the pending roots request that a call must wait for, if any; never rejects. */
  #settling(call: CallRecord): Promise<void> | undefined {
    const { client } = call
    if (client.workspace !== undefined || this.#settled.has(client)) return undefined
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
   * Returns the result that asks a client for its roots; other calls continue. The retry with the answer
   * continues as if nothing had been asked.
   */
  #question(call: CallRecord): CallVerdict | Promise<CallVerdict> {
    const { client } = call
    if (!isAskedInAnswers(client)) return NEXT
    const retry = this.#context.retries.read(call)
    if (retry?.state?.kind === 'roots') {
      call.params = bare(call.params)
      return this.#tell(client, retry.responses).then(() => NEXT)
    }
    // A retry in progress must not be interrupted.
    if (retry !== undefined || this.#told.has(client)) return NEXT
    const state = this.#context.states.seal(call, '', { kind: 'roots' }, STATE_MS)
    return { kind: 'input', result: inputRequired([{ key: KEY, method: ROOTS, params: undefined }], state) }
  }

  /** Records that a client has returned, with or without roots. */
  async #tell(client: Client, responses: JsonText | undefined): Promise<void> {
    if (this.#told.has(client)) return
    this.#told.add(client)
    const answer = responses && memberOf(responses, KEY)
    const before = client.workspace
    this.#settle(client, await this.#context.findWorkspace?.(answer === undefined ? [] : urisIn(answer)))
    if (client.workspace !== before) this.#context.pool.moved(client, before)
  }

  /** Handles changed roots: a client without a folder is asked again. */
  rootsChanged(client: Client): void {
    if (client.workspace !== undefined) return
    this.#settled.delete(client)
    this.#asked.delete(client)
  }

  async #ask(client: Client, during: CallRecord): Promise<void> {
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
    client.ask(request, during.call)
    const answer = await within(answered.promise, { clock, ms: ROOTS_MS })
    if (answer === undefined) request.onWithdrawn?.('timed out')
    const uris = answer?.kind === 'result' ? urisIn(answer.result) : []
    this.#settle(client, await findWorkspace?.(uris))
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

/** Over HTTP, the client may be several users with different folders. */
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
