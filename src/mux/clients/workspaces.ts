import type { Catalog } from '../../catalog/catalog.js'
import type { Clock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Deferred } from '../../kernel/async/deferred.js'
import { elementsOf, type JsonText, kindOf, memberOf, stringOf } from '../../kernel/json/text.js'
import { type Call, type Client, type ServerRequest, viewerOf } from '../../model/links.js'
import type { Answer } from '../../model/outcome.js'
import type { ServerPool } from '../../peers/server-pool.js'
import type { ServerStarter } from './server-starter.js'

export interface WorkspacesContext {
  readonly pool: Pick<ServerPool, 'needsWorkspace'>
  readonly catalog: Pick<Catalog, 'reconnected'>
  readonly starter: Pick<ServerStarter, 'startAll'>
  readonly clock: Clock
  /** The first of these roots, as URIs, that is a folder to work in. */
  readonly findWorkspace?: ((uris: readonly string[]) => string | undefined) | undefined
}

/** How long the calls of a client wait for its roots. */
const ROOTS_MS = 5000
const ROOTS_MAX = 100

/**
 * Finds out in which folder a client works whose way in does not say: it is asked for its roots once, while
 * its first call waits. Nothing is asked as long as no server depends on it.
 */
export class Workspaces {
  readonly #context: WorkspacesContext
  readonly #asked = new WeakMap<Client, Promise<void>>()
  readonly #settled = new WeakSet<Client>()

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
      method: 'roots/list',
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

const urisIn = (result: JsonText): readonly string[] => {
  const roots = memberOf(result, 'roots')
  if (roots === undefined || kindOf(roots) !== 'array') return []
  return [...elementsOf(roots)].slice(0, ROOTS_MAX).flatMap(root => stringOf(memberOf(root, 'uri')) ?? [])
}
