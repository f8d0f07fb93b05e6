import type { Catalog } from '../catalog/catalog.js'
import type { Owned, Owners } from '../catalog/owners.js'
import { repairResult } from '../catalog/repair.js'
import { rewriteUris } from '../catalog/rewrite.js'
import { Fault } from '../kernel/faults.js'
import {
  at,
  type JsonText,
  memberOf,
  rawText,
  stringOf,
  textOf,
  withAt,
  withMember,
} from '../kernel/json-text.js'
import type { Call } from '../model/links.js'
import { failed, type Outcome, resulted } from '../model/outcome.js'
import type { Connection } from '../peers/connection.js'
import type { CallTable } from './call-table.js'
import { LiveCall, type LiveCallContext } from './live-call.js'

const NO_COMPLETIONS = rawText('{"completion":{"values":[],"hasMore":false}}')

/** What a request names: by that its owner is found. */
type NamedBy = 'tool' | 'prompt' | 'uri' | 'ref'

/** Requests that exactly one server can answer: found by what they name, sent under the server's own name for it. */
export class WayToOwner {
  readonly #catalog: Catalog
  readonly #owners: Owners
  readonly #calls: CallTable
  readonly #context: LiveCallContext

  constructor(catalog: Catalog, owners: Owners, calls: CallTable, nowMs: () => number) {
    this.#catalog = catalog
    this.#owners = owners
    this.#calls = calls
    this.#context = {
      nowMs,
      forget: call => calls.remove(call),
      present: (call, outcome) => this.#present(call, outcome),
    }
  }

  /** Routes a call; whatever goes wrong ends it. */
  take(call: Call, by: NamedBy): void {
    try {
      switch (by) {
        case 'tool':
          this.#named(call, 'tools')
          return
        case 'prompt':
          this.#named(call, 'prompts')
          return
        case 'uri': {
          const owned = this.#owners.uri(textAt(call, 'uri'))
          this.#send(call, owned, renamed(call, ['uri'], owned.own))
          return
        }
        case 'ref':
          this.#completion(call)
      }
    } catch (thrown) {
      call.end(failed(Fault.from(thrown)))
    }
  }

  #named(call: Call, list: 'tools' | 'prompts'): void {
    const exposed = textAt(call, 'name')
    const known = this.#owners.known(list, exposed)
    if (known !== undefined) {
      this.#send(call, known, renamed(call, ['name'], known.own))
      return
    }
    this.#owners.named(list, exposed).then(
      owned => this.#send(call, owned, renamed(call, ['name'], owned.own)),
      (thrown: unknown) => call.end(failed(Fault.from(thrown))),
    )
  }

  /** A completion names a prompt, or a resource template by its exact text (server/utilities/completion). */
  #completion(call: Call): void {
    const type = textAt(call, 'ref', 'type')
    if (type === 'ref/prompt') {
      const exposed = textAt(call, 'ref', 'name')
      this.#owners.named('prompts', exposed).then(
        owned => this.#complete(call, owned, renamed(call, ['ref', 'name'], owned.own)),
        (thrown: unknown) => call.end(failed(Fault.from(thrown))),
      )
    } else if (type === 'ref/resource') {
      const owned = this.#owners.template(textAt(call, 'ref', 'uri'))
      this.#complete(call, owned, renamed(call, ['ref', 'uri'], owned.own))
    } else {
      throw new Fault('invalid-params', 'completion/complete: ref.type must be ref/prompt or ref/resource')
    }
  }

  /** A server that completes nothing has no suggestions; 2024-11-05 has no capability to tell, so it is asked. */
  #complete(call: Call, owned: Owned, params: JsonText | undefined): void {
    const { facts } = owned.server
    if (facts !== undefined && !facts.capabilities.completions && facts.revision !== '2024-11-05') {
      call.end(resulted(NO_COMPLETIONS))
    } else this.#send(call, owned, params)
  }

  #send(call: Call, { server }: Owned, params: JsonText | undefined): void {
    let live: LiveCall
    try {
      const connection = server.connectionFor(call.client)
      live = new LiveCall(
        call,
        connection,
        { method: call.method, params, wantsProgress: call.wantsProgress },
        this.#context,
      )
    } catch (thrown) {
      call.end(failed(Fault.from(thrown)))
      return
    }
    this.#calls.add(live)
    live.start()
  }

  /** A server's outcome as clients may read it: repaired where it would be refused, its URIs under its alias. */
  #present({ call, connection }: LiveCall, outcome: Outcome): Outcome {
    if (outcome.kind !== 'result')
      return isUncompleted(call, connection, outcome) ? resulted(NO_COMPLETIONS) : outcome
    const view = this.#catalog.viewOf(connection.server)
    const repaired = repairResult(call.method, outcome.result, connection.link?.facts.revision)
    return resulted(
      rewriteUris(call.method, repaired, uri => {
        if (view.showing.uris === 'preserve') this.#owners.saw(view.server, uri)
        return view.exposeUri(uri)
      }),
    )
  }
}

/** A server of 2024-11-05 without completions: it had no capability to say so. */
const isUncompleted = (call: Call, connection: Connection, outcome: Outcome): boolean =>
  call.method === 'completion/complete' &&
  outcome.kind === 'error' &&
  connection.link?.facts.revision === '2024-11-05' &&
  memberOf(outcome.error, 'code')?.toString('latin1') === '-32601'

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
  return path.length === 1 && path[0] !== undefined
    ? withMember(params, path[0], textOf(own))
    : withAt(params, path, textOf(own))
}
