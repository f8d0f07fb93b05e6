import type { Catalog } from '../catalog/catalog.js'
import type { Owned, Owners } from '../catalog/owners.js'
import { repairResult } from '../catalog/repair.js'
import { rewriteUris } from '../catalog/rewrite.js'
import { Fault } from '../kernel/faults.js'
import {
  at,
  elementsOf,
  type JsonText,
  memberOf,
  rawText,
  stringOf,
  textOf,
  withAt,
} from '../kernel/json-text.js'
import type { Call } from '../model/links.js'
import { failed, type Outcome, resulted } from '../model/outcome.js'
import type { Connection } from '../peers/connection.js'
import type { Server } from '../peers/server.js'
import type { CallTable } from './call-table.js'
import { LiveCall, type LiveCallContext } from './live-call.js'
import { stillWanted } from './still-wanted.js'

/** Only 2025-11-25 has it (schema, `URL_ELICITATION_REQUIRED`). */
const URL_ELICITATION_REQUIRED = '-32042'
const NO_COMPLETIONS = rawText('{"completion":{"values":[],"hasMore":false}}')

/** What a request names: by that its owner is found. */
type NamedBy = 'tool' | 'prompt' | 'uri' | 'ref'

/** Where a request of each kind says what it is about. */
const PATHS = { tool: ['name'], prompt: ['name'], uri: ['uri'] } as const

/** What the way to an owner needs of the router. */
export interface WayToOwnerContext {
  readonly catalog: Catalog
  readonly owners: Owners
  readonly calls: CallTable
  nowMs(): number
  /** A client was told in an error to open the URL of this elicitation. */
  urlShown(call: LiveCall, elicitationId: string): void
}

/** Requests that exactly one server can answer: found by what they name, sent under the server's own name for it. */
export class WayToOwner {
  readonly #context: WayToOwnerContext
  readonly #liveContext: LiveCallContext

  constructor(context: WayToOwnerContext) {
    this.#context = context
    this.#liveContext = {
      nowMs: () => context.nowMs(),
      forget: call => context.calls.remove(call),
      present: (call, outcome) => this.#present(call, outcome),
    }
  }

  /** Routes a call; whatever goes wrong ends it. */
  take(call: Call, by: NamedBy): void {
    try {
      const path = by === 'ref' ? refPath(call) : PATHS[by]
      const owner = this.#ownerOf(by === 'ref' ? refKind(call) : by, textAt(call, ...path))
      if (owner instanceof Promise) this.#sendLater(call, owner, path)
      else this.#send(call, owner, path)
    } catch (thrown) {
      call.end(failed(Fault.from(thrown)))
    }
  }

  #ownerOf(by: Exclude<NamedBy, 'ref'> | 'template', exposed: string): Owned | Promise<Owned> {
    const { owners } = this.#context
    switch (by) {
      case 'tool':
        return owners.named('tools', exposed)
      case 'prompt':
        return owners.named('prompts', exposed)
      case 'uri':
        return owners.uri(exposed)
      case 'template':
        return owners.template(exposed)
    }
  }

  /** The owner must be looked for first; a client that gives up meanwhile causes nothing at any server. */
  #sendLater(call: Call, owner: Promise<Owned>, path: readonly string[]): void {
    const isWanted = stillWanted(call)
    owner
      .then(owned => {
        if (isWanted()) this.#send(call, owned, path)
      })
      .catch((thrown: unknown) => call.end(failed(Fault.from(thrown))))
  }

  #send(call: Call, { server, own }: Owned, path: readonly string[]): void {
    if (call.method === 'completion/complete' && completesNothing(server)) {
      call.end(resulted(NO_COMPLETIONS))
      return
    }
    const request = {
      method: call.method,
      params: renamed(call, path, own),
      wantsProgress: call.wantsProgress,
    }
    const live = new LiveCall(call, server.connectionFor(call.client), request, this.#liveContext)
    this.#context.calls.add(live)
    live.start()
  }

  /** A server's outcome as clients may read it: repaired where it would be refused, its URIs under its alias. */
  #present(live: LiveCall, outcome: Outcome): Outcome {
    const { call, connection } = live
    if (outcome.kind === 'error') this.#noteUrls(live, outcome.error)
    if (outcome.kind !== 'result')
      return isUncompleted(call, connection, outcome) ? resulted(NO_COMPLETIONS) : outcome
    const { catalog, owners } = this.#context
    if (call.method === 'tools/call' && isTask(outcome.result)) return failed(taskFault(connection))
    const view = catalog.viewOf(connection.server)
    const repaired = repairResult(call.method, outcome.result, connection.link?.facts.revision)
    return resulted(
      rewriteUris(call.method, repaired, uri => {
        if (view.showing.uris === 'preserve') owners.saw(view.server, uri)
        return view.exposeUri(uri)
      }),
    )
  }

  /** URLElicitationRequiredError (2025-11-25, client/elicitation): the server will say when they are complete. */
  #noteUrls(live: LiveCall, error: JsonText): void {
    if (codeOf(error) !== URL_ELICITATION_REQUIRED) return
    for (const elicitation of elementsOf(at(error, 'data', 'elicitations') ?? error)) {
      const id = stringOf(memberOf(elicitation, 'elicitationId'))
      if (id !== undefined) this.#context.urlShown(live, id)
    }
  }
}

/**
 * A task in place of a result (2025-11-25, utilities/tasks), although none was asked for: SDK clients from 1.12 on read it as an
 * empty success.
 */
const isTask = (result: JsonText): boolean =>
  memberOf(result, 'content') === undefined && memberOf(result, 'task') !== undefined

const taskFault = ({ server: { name } }: Connection): Fault =>
  new Fault('internal', `Server ${name} started a task, which this proxy cannot follow`, {
    data: { server: name },
  })

/** A server that completes nothing has no suggestions; 2024-11-05 has no capability to tell, so it is asked. */
const completesNothing = ({ facts }: Server): boolean =>
  facts !== undefined && !facts.capabilities.completions && facts.revision !== '2024-11-05'

/** The code of an error as it was written. */
const codeOf = (error: JsonText): string | undefined => memberOf(error, 'code')?.toString('latin1')

/** A server of 2024-11-05 without completions: it had no capability to say so. */
const isUncompleted = (call: Call, connection: Connection, outcome: Outcome): boolean =>
  call.method === 'completion/complete' &&
  outcome.kind === 'error' &&
  connection.link?.facts.revision === '2024-11-05' &&
  codeOf(outcome.error) === '-32601'

/** A completion names a prompt, or a resource template by its exact text (server/utilities/completion). */
const refKind = (call: Call): 'prompt' | 'template' => {
  const type = textAt(call, 'ref', 'type')
  if (type === 'ref/prompt') return 'prompt'
  if (type === 'ref/resource') return 'template'
  throw new Fault('invalid-params', 'completion/complete: ref.type must be ref/prompt or ref/resource')
}

const refPath = (call: Call): readonly string[] =>
  refKind(call) === 'prompt' ? ['ref', 'name'] : ['ref', 'uri']

/** A text that a request must have; throws a Fault `invalid-params` without it. */
const textAt = (call: Call, ...path: readonly string[]): string => {
  const text = call.params && stringOf(at(call.params, ...path))
  if (text === undefined) throw new Fault('invalid-params', `${call.method}: ${path.join('.')} must be text`)
  return text
}

/** The request's params with the server's own name in them; the same reference if that is the client's too. */
const renamed = (call: Call, path: readonly string[], own: string): JsonText | undefined => {
  const { params } = call
  if (params === undefined || stringOf(at(params, ...path)) === own) return params
  return withAt(params, path, textOf(own))
}
