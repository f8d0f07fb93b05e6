import type { Catalog } from '../../catalog/catalog.js'
import type { Owned, Owners } from '../../catalog/owners.js'
import { Fault } from '../../kernel/faults.js'
import { at, type JsonText, stringOf, textMember, textOf, withAt } from '../../kernel/json/text.js'
import type { Call, Client, Downlink, Request } from '../../model/links.js'
import { failed, resulted } from '../../model/outcome.js'
import type { Connection } from '../../peers/connection.js'
import type { Server } from '../../peers/server.js'
import { mayNeedInput } from '../input-required/retry/digests.js'
import { bare, type Resumed, type Retry } from '../input-required/retry/input-retries.js'
import type { LogLevels } from '../notifications/log-levels.js'
import type { Asking } from '../server-requests/asking.js'
import { mayBecomeTask } from '../tasks/following-tasks.js'
import type { CallTable } from './call-table.js'
import { stillWanted } from './cancellation.js'
import { ClientTurns } from './client-turns.js'
import { InFlightCall, type InFlightCallContext, type RoutedCall } from './in-flight-call.js'
import { type NamedAt, type NamedBy, namedAt } from './named.js'
import { NO_COMPLETIONS } from './result-presenter.js'

/** How long a task is to live: as long as a person may take to answer a question. */
const TASK_TTL_MS = 600_000

const NO_REF = 'completion/complete: ref.type must be ref/prompt or ref/resource'

/** What one request names. */
interface Named extends NamedAt {
  readonly exposed: string
}

/** What the way to an owner needs of the router. */
export interface ForwarderContext {
  readonly catalog: Catalog
  readonly owners: Owners
  readonly calls: CallTable
  readonly asking: Asking
  readonly levels: LogLevels
  nowMs(): number
}

/** Requests that exactly one server can answer: found by what they name, sent under the server's own name for it. */
export class Forwarder {
  readonly #context: ForwarderContext
  readonly #liveContext: InFlightCallContext
  readonly #turns = new ClientTurns()

  constructor(context: ForwarderContext) {
    this.#context = context
    this.#liveContext = {
      nowMs: () => context.nowMs(),
      prepare: live => this.#prepare(live),
      run: (live, link) => context.asking.asks.undertake(live, link, this.#requestFor(live.errand, link)),
      firstCalled: live => {
        const { heldRoots, asks } = context.asking
        for (const ask of heldRoots.firstCalled(live)) asks.asked(live.connection, ask)
      },
      forget: call => {
        context.calls.remove(call)
        this.#turns.leave(call)
      },
      present: (call, outcome) => context.asking.presenter.present(call, outcome),
    }
  }

  /** Routes a call; whatever goes wrong ends it. */
  take(call: Call, by: NamedBy): void {
    try {
      const { retries } = this.#context.asking
      const retry = retries.read(call)
      if (retry !== undefined && retries.isTaken(call, retry)) return
      const place = namedAt(by, call.params)
      if (place === undefined) throw new Fault('invalid-params', NO_REF)
      // No spread: on this way of every call it costs as much as all else here.
      const named = { by: place.by, path: place.path, exposed: textAt(call, place.path) }
      const owner = this.#ownerOf(call.client, named, retry)
      if (owner instanceof Promise) this.#sendLater(call, owner, named, retry)
      else this.#send(call, owner, named, retry)
    } catch (thrown) {
      call.end(failed(Fault.from(thrown)))
    }
  }

  #ownerOf(client: Client, named: Named, retry: Retry | undefined): Owned | Promise<Owned> {
    const { owners, catalog } = this.#context
    const { by, exposed } = named
    // Whether a tool may be called again is written in its list.
    if (retry?.state?.kind === 'park')
      return catalog.readOnce(client, 'tools').then(() => this.#ownerOf(client, named, undefined))
    switch (by) {
      case 'tool':
        return owners.named(client, 'tools', exposed)
      case 'prompt':
        return owners.named(client, 'prompts', exposed)
      case 'uri':
        return owners.uri(client, exposed)
      case 'template':
        return owners.template(client, exposed)
    }
  }

  /** The owner must be looked for first; a client that gives up meanwhile causes nothing at any server. */
  #sendLater(call: Call, owner: Promise<Owned>, named: Named, retry: Retry | undefined): void {
    const isWanted = stillWanted(call)
    owner
      .then(owned => {
        if (isWanted()) this.#send(call, owned, named, retry)
      })
      .catch((thrown: unknown) => call.end(failed(Fault.from(thrown))))
  }

  #send(call: Call, { server, own }: Owned, { path, exposed }: Named, retry: Retry | undefined): void {
    if (call.method === 'completion/complete' && this.#completesNothing(server, call.client)) {
      call.end(resulted(NO_COMPLETIONS))
      return
    }
    call.servedBy = server.name
    const { heldRoots, retries } = this.#context.asking
    const connection = server.connectionFor(call.client)
    const full = this.#isFull(connection)
    if (full !== undefined) {
      call.end(failed(full))
      return
    }
    const isAskable = call.client.serverRequests === 'returned' && mayNeedInput(call.method)
    const question = isAskable && retry === undefined ? heldRoots.question(connection, call) : undefined
    if (question !== undefined) {
      call.end(question)
      return
    }
    const resumed = retry === undefined ? { params: call.params } : retries.resume(call, retry, connection)
    if ('kind' in resumed) {
      call.end(resumed)
      return
    }
    const isRetry = retry !== undefined
    const errand: RoutedCall = { request: call, exposed, own, path, params: resumed.params, isRetry }
    const adopted = isAskable ? resumed : undefined
    if (resumed.after === undefined) this.#start(errand, connection, adopted)
    else this.#startAfter(resumed.after, errand, connection, adopted)
  }

  /** A server that completes nothing has no suggestions; one that could not declare it is asked. */
  #completesNothing(server: Server, client: Client): boolean {
    return this.#context.catalog.facts(server, client)?.capabilities.completions === false
  }

  /** With `adopted`, the client is asked by answers to its requests: something stands in for it. */
  #start(errand: RoutedCall, connection: Connection, adopted: Resumed | undefined): void {
    const call = adopted === undefined ? errand.request : this.#adopt(errand.request, connection, adopted)
    const live = new InFlightCall(call, connection, errand, this.#liveContext)
    this.#context.calls.add(live)
    live.start()
  }

  #startAfter(
    after: Promise<void>,
    errand: RoutedCall,
    connection: Connection,
    adopted: Resumed | undefined,
  ): void {
    const isWanted = stillWanted(errand.request)
    void after.then(() => {
      if (isWanted()) this.#start(errand, connection, adopted)
    })
  }

  /** Why a server gets no more requests at the moment, if so. */
  #isFull(connection: Connection): Fault | undefined {
    const { bounds, server } = connection
    const { size } = this.#context.calls.on(connection)
    if (size < bounds.max.callsPerServer) return undefined
    const words = `Server ${server.name} has ${size} requests under way`
    return bounds.overloaded('callsPerServer', words, { server: server.name })
  }

  /** What must be known and done at the server before a call is sent there; undefined if nothing has to be waited for. */
  #prepare(live: InFlightCall): Promise<unknown> | undefined {
    const turn = takesTurns(live) ? this.#turns.turn(live) : undefined
    return turn === undefined ? this.#ready(live) : turn.then(() => this.#ready(live))
  }

  #ready({ connection, call, errand }: InFlightCall): Promise<unknown> | undefined {
    const { catalog, levels } = this.#context
    const ready = levels.prepare(connection, call)
    const mayNeedTask = call.method === 'tools/call' && connection.link?.facts.capabilities.tasks === true
    if (!mayNeedTask || catalog.find(call.client, 'tools', errand.exposed) !== undefined) return ready
    return Promise.all([ready, catalog.readOnce(call.client, 'tools')])
  }

  /** A tool that its server calls only as a task (2025-11-25, basic/utilities/tasks, "Tool-Level Negotiation"). */
  #needsTask({ request, exposed }: RoutedCall, link: Downlink): boolean {
    if (request.method !== 'tools/call' || !link.facts.capabilities.tasks) return false
    const tool = this.#context.catalog.find(request.client, 'tools', exposed)
    return tool !== undefined && stringOf(at(tool.text, 'execution', 'taskSupport')) === 'required'
  }

  /** What stands in for the client, so that its call can wait for answers while no request of it is open. */
  #adopt(call: Call, connection: Connection, { earlier }: Resumed): Call {
    const { server } = connection
    const { retries, parks } = this.#context.asking
    const mayReplay = (): boolean => retries.mayReplay(call, server)
    return parks.adopt(call, { connection, server: server.name, alias: server.alias, mayReplay }, earlier)
  }

  #requestFor(errand: RoutedCall, link: Downlink): Request {
    const { method, client, named, wantsProgress, logLevel } = errand.request
    const { levels } = this.#context
    const isPushed = link.serverRequests === 'pushed'
    return {
      method,
      params: renamed(errand, isPushed),
      isBare: named !== undefined,
      wantsProgress,
      followsTasks: mayBecomeTask(method, link),
      taskTtlMs: isPushed && this.#needsTask(errand, link) ? TASK_TTL_MS : undefined,
      caller: { capabilities: client.capabilities, logLevel: logLevel ?? levels.wantedBy(client) },
    }
  }
}

/** Whether a call may be why its server asks somebody, where it could also be another client's. */
const takesTurns = ({ connection, call: { client } }: InFlightCall): boolean => {
  const { roots, sampling, elicitation } = client.capabilities
  const canBeAsked = roots !== undefined || sampling !== undefined || elicitation !== undefined
  return connection.server.serialize && connection.link?.serverRequests === 'pushed' && canBeAsked
}

/** A text that a request must have; throws a Fault `invalid-params` without it. */
const textAt = (call: Call, path: readonly string[]): string => {
  if (call.named !== undefined && path[0] === 'name') return call.named
  const text = call.params && textOfName(call.params, path)
  if (text === undefined) throw new Fault('invalid-params', `${call.method}: ${path.join('.')} must be text`)
  return text
}

/**
 * The request's params with the server's own name in them; the same reference if that is the client's too. A server that pushes
 * its questions knows nothing of retries.
 */
const renamed = (errand: RoutedCall, isPushed: boolean): JsonText | undefined => {
  const { own, exposed, path } = errand
  const params = errand.isRetry && isPushed ? bare(errand.params) : errand.params
  return params === undefined || exposed === own ? params : withAt(params, path, textOf(own))
}

/** Most names stand at the top. */
const textOfName = (params: JsonText, path: readonly string[]): string | undefined =>
  path.length === 1 ? textMember(params, path[0] ?? '') : stringOf(at(params, ...path))
