import type { Catalog } from '../../catalog/catalog.js'
import { rewriteUris } from '../../catalog/names/rewrite.js'
import type { Owners } from '../../catalog/owners.js'
import { hasMoreParts, repairResult } from '../../catalog/repair/results.js'
import { Fault } from '../../kernel/faults.js'
import {
  at,
  type JsonText,
  kindOf,
  memberOf,
  rawText,
  stringOf,
  textOf,
  withAt,
} from '../../kernel/json/text.js'
import type { Meter } from '../../kernel/meter.js'
import type { CallTrace } from '../../model/call-trace.js'
import type { Call, Client } from '../../model/links.js'
import { answerOf, type Outcome, succeeded } from '../../model/outcome.js'
import { errorCode, ownErrorText, RPC_CODES } from '../../model/rpc-error.js'
import type { Connection } from '../../peers/connection.js'
import { inputRequired, noInput } from '../input-required/questions.js'
import { mayNeedInput, type RequestStates } from '../input-required/retry/request-states.js'
import {
  type UrlElicitation,
  type UrlElicitations,
  urlElicitationsOf,
  urlMessage,
} from '../input-required/url-elicitations.js'
import { namesUri } from '../routes.js'
import type { ServerRequests } from '../server-requests/server-requests.js'
import type { InFlightCall } from './in-flight-call.js'

export const NO_COMPLETIONS = rawText('{"completion":{"values":[],"hasMore":false}}')
/** Maximum time for a client to return from a URL elicitation. */
const URL_STATE_MS = 3_600_000
/** Results above this size are timed, since their conversion may take long. */
const LARGE_BYTES = 65_536
const SLOW_MS = 100

export interface PresenterContext {
  readonly catalog: Catalog
  readonly owners: Owners
  readonly serverRequests: ServerRequests
  readonly states: RequestStates
  readonly urlElicitations: UrlElicitations
  readonly tasks: TaskPresenter
  readonly meter?: Meter | undefined
}

/** Converts outcomes about tasks that clients follow by themselves. Throws Faults. */
interface TaskPresenter {
  created(inFlight: InFlightCall, result: JsonText): Outcome
  passed(inFlight: InFlightCall, result: JsonText): void
  about(inFlight: InFlightCall, result: JsonText, convert: (result: JsonText) => ShownResult): Outcome
}

type ShownResult = Outcome & { readonly kind: 'result' }

/** Converts server outcomes for clients: repairs invalid parts, and exposes URIs under the alias. */
export class ResultPresenter {
  readonly #context: PresenterContext

  constructor(context: PresenterContext) {
    this.#context = context
  }

  /** Converts an outcome. Throws a Fault for outcomes that must not reach the client. */
  present(inFlight: InFlightCall, outcome: Outcome): Outcome {
    switch (outcome.kind) {
      case 'input':
        return inFlight.call.client.serverRequests === 'returned'
          ? this.#context.serverRequests.relay(inFlight, outcome.result)
          : answerOf(outcome)
      case 'error':
        return this.#error(inFlight, outcome)
      case 'result':
        if (outcome.isPlain !== true) return this.#timed(inFlight, outcome)
        if (outcome.isStructured !== true)
          this.#checkOutput(inFlight.call, inFlight.record.exposed, outcome.result)
        return outcome
      case 'task':
        return this.#task(inFlight, outcome)
      case 'fault':
        return answerOf(outcome)
    }
  }

  #task(inFlight: InFlightCall, outcome: Outcome & { readonly kind: 'task' }): Outcome {
    const { isAboutTask, followsTask } = inFlight.record
    if (isAboutTask) return this.#about(inFlight, outcome.result)
    return followsTask ? this.#context.tasks.created(inFlight, outcome.result) : answerOf(outcome)
  }

  #about(inFlight: InFlightCall, result: JsonText): Outcome {
    if (kindOf(result) !== 'object') throw notAnObject()
    const { client, trace } = inFlight.call
    return this.#context.tasks.about(inFlight, result, inner =>
      this.#converted('tools/call', inner, { client, trace, connection: inFlight.connection }),
    )
  }

  /** Converts the result of a task's tool for a client. Throws a Fault for a result that it must not get. */
  toolResult(result: JsonText, client: Client, connection: Connection): JsonText {
    return this.#converted('tools/call', result, { client, connection }).result
  }

  /** Counts large results whose conversion delayed all other messages. */
  #timed(inFlight: InFlightCall, outcome: Outcome & { readonly kind: 'result' }): Outcome {
    const { meter, serverRequests } = this.#context
    if (meter === undefined || outcome.result.length < LARGE_BYTES) return this.#result(inFlight, outcome)
    const beganMs = serverRequests.clock.nowMs()
    try {
      return this.#result(inFlight, outcome)
    } finally {
      const { call, connection } = inFlight
      if (serverRequests.clock.nowMs() - beganMs >= SLOW_MS)
        meter.counter('mcp_proxy_slow_results', connection.server.name, call.method).add()
    }
  }

  #result(inFlight: InFlightCall, outcome: ShownResult): Outcome {
    const { call, connection, record } = inFlight
    const { result } = outcome
    if (outcome.passedFrom !== undefined) {
      if (call.method === 'tools/call') this.#context.tasks.passed(inFlight, result)
      return outcome
    }
    if (record.isAboutTask) return this.#about(inFlight, result)
    // Every result is an object (2025-11-25, schema, `Result`); clients would reject anything else.
    if (kindOf(result) !== 'object') throw notAnObject()
    if (call.method === 'tools/call') this.#checkOutput(call, record.exposed, result)
    const { client, trace } = call
    return this.#converted(call.method, result, { client, trace, connection })
  }

  /** Repairs a result, and exposes its URIs. Throws a Fault if it is too large. */
  #converted(method: string, result: JsonText, { client, connection, trace }: Recipient): ShownResult {
    const { catalog, owners } = this.#context
    const { bounds } = connection
    if (hasMoreParts(method, result, bounds.max.items)) {
      throw bounds.tooLarge('items', 'its result has too many parts')
    }
    const view = catalog.viewOf(connection.server)
    const nullIsValue = connection.facts && connection.serverRequests === 'returned'
    const seen = { isError: false }
    const repaired = repairResult(method, result, nullIsValue, seen)
    if (repaired !== result) {
      this.#context.meter?.counter('mcp_proxy_repairs', view.server.name, 'result').add()
      if (trace !== undefined) trace.isRepaired = true
    }
    const shown = rewriteUris(method, repaired, uri => {
      if (view.exposure.uris === 'preserve') owners.noteUri(view.server, uri)
      return catalog.exposedUri(client, connection.server, uri)
    })
    return { kind: 'result', result: shown, isError: seen.isError }
  }

  /** Records a tool without its promised structured output; the next list will not promise it. */
  #checkOutput(call: Call, name: string, result: JsonText): void {
    if (this.#context.catalog.find(call, 'tools', name)?.hasOutputSchema !== true) return
    const hasOutput = memberOf(result, 'structuredContent') !== undefined
    if (hasOutput || memberOf(result, 'isError')?.toString('latin1') === 'true') return
    this.#context.catalog.hideOutputSchema(call, name)
  }

  #error(inFlight: InFlightCall, outcome: Outcome & { readonly kind: 'error' }): Outcome {
    const { call, connection } = inFlight
    const { error } = outcome
    if (isUncompleted(call, connection, error)) return succeeded(NO_COMPLETIONS)
    const elicitations = urlElicitationsOf(error)
    if (elicitations.length > 0) return this.#urlRequired(inFlight, outcome, elicitations)
    return namesUri(call.method) ? { ...outcome, error: this.#inClientsWords(inFlight, error) } : outcome
  }

  /** Converts a URLElicitationRequiredError (2025-11-25, client/elicitation). */
  #urlRequired(
    { call, connection, record }: InFlightCall,
    outcome: Outcome & { readonly kind: 'error' },
    elicitations: readonly UrlElicitation[],
  ): Outcome {
    const { client, method } = call
    const { server } = connection
    const canVisit = client.capabilities.elicitation?.url === true
    const ids = elicitations.flatMap(({ id }) => id ?? [])
    if (client.serverRequests === 'returned') {
      if (!canVisit || !mayNeedInput(method)) return outcome
      for (const id of ids) this.#context.urlElicitations.shown(connection, client, id)
      const { states } = this.#context
      const approval = record.approval?.next()
      const isHere = approval !== undefined && { approval, replica: states.replica }
      const state = states.seal(
        call,
        server.alias,
        { kind: 'url', elicitations: ids, ...isHere },
        URL_STATE_MS,
      )
      const questions = elicitations.map(({ params }, index) => ({
        key: `1-${index + 1}`,
        method: 'elicitation/create',
        params,
      }))
      return { kind: 'input', result: inputRequired(questions, state) }
    }
    if (!canVisit) {
      const words = urlMessage(server.name, outcome.error, elicitations)
      if (method === 'tools/call') return noInput(method, words, server.name)
      // The server's own message: addresses in it must not be masked or cut.
      return { ...outcome, error: ownErrorText(RPC_CODES.internal, words, { server: server.name }) }
    }
    for (const id of ids) this.#context.urlElicitations.shown(connection, client, id)
    return outcome
  }

  /** Replaces the server's URI in an error with the client's spelling. */
  #inClientsWords({ call, connection, record }: InFlightCall, error: JsonText): JsonText {
    const named = stringOf(at(error, 'data', 'uri'))
    const written = call.params && stringOf(memberOf(call.params, 'uri'))
    if (named === undefined || named === written) return error
    const exposed = this.#context.catalog.exposedUri(call.client, connection.server, named)
    return withAt(error, ['data', 'uri'], textOf(named === record.ownName ? written : exposed))
  }
}

/** The client of a result, and the connection that it came from. */
interface Recipient {
  readonly client: Client
  readonly connection: Connection
  readonly trace?: CallTrace | undefined
}

const notAnObject = (): Fault => new Fault('internal', 'its result is not an object')

/** Returns whether an error shows that a server without a declared capability has no completions. */
const isUncompleted = (call: Call, connection: Connection, error: JsonText): boolean =>
  call.method === 'completion/complete' &&
  connection.facts?.capabilities.completions === 'undeclared' &&
  errorCode(error) === RPC_CODES['unknown-method']
