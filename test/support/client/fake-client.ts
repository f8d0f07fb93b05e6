import { randomUUID } from 'node:crypto'
import { projectServerRequest } from '../../../src/eras/legacy/project/server-request.js'
import { type Caller, unauthenticatedCaller } from '../../../src/kernel/caller.js'
import { Fault } from '../../../src/kernel/faults.js'
import { type JsonText, rawText, textOf, valueOf } from '../../../src/kernel/json/text.js'
import type {
  Call,
  Client,
  ProjectedRequest,
  ServerRequest,
  ServerRequestMode,
  Via,
} from '../../../src/model/links.js'
import { Cancellable } from '../../../src/model/links.js'
import { LISTS, listOfMethod } from '../../../src/model/listing.js'
import type { McpLogLevel } from '../../../src/model/log-level.js'
import { failed, type Outcome } from '../../../src/model/outcome.js'
import type { ClientCapabilities } from '../../../src/model/peer.js'
import type { Progress } from '../../../src/model/progress.js'
import { isLegacyRevision, type Revision } from '../../../src/model/revision.js'
import type { Router } from '../../../src/mux/router.js'
import { settled } from '../fake-clock.js'
import { abilitiesAt, askingOf, parsed, plain } from '../values.js'

// ── clients ──

/** A question from the client's view. */
export interface SeenAsk {
  readonly ask: ServerRequest
  readonly during: Call | undefined
  /** True once the client received the cancellation of the question. */
  withdrawn: boolean
}

let clients = 0

/** Returns a caller with these scopes, or one that needs no credentials. */
export const callerWith = (principal: string, scopes?: readonly string[]): Caller => ({
  ...unauthenticatedCaller(principal),
  scopes: scopes && new Set(scopes),
})

/** A client that records everything it receives. */
export class FakeClient implements Client {
  readonly id: number
  readonly principal: string
  /** Caller of its further calls. */
  caller: Caller
  readonly revision: Revision
  readonly serverRequests: ServerRequestMode
  workspace: string | undefined
  readonly capabilities: ClientCapabilities
  readonly info: JsonText
  readonly via: Via
  readonly view: string | undefined
  readonly told: (readonly [string, unknown])[] = []
  readonly asked: SeenAsk[] = []
  readonly calls: FakeCall[] = []
  readonly #router: Router
  isGone = false

  constructor(
    router: Router,
    about: {
      principal?: string
      scopes?: readonly string[]
      revision?: Revision
      capabilities?: ClientCapabilities
      name?: string
      view?: string
      via?: Via
    } = {},
  ) {
    clients += 1
    this.id = clients
    this.#router = router
    this.principal = about.principal ?? 'local'
    this.caller = callerWith(this.principal, about.scopes)
    this.revision = about.revision ?? '2025-11-25'
    this.serverRequests = askingOf(this.revision)
    this.capabilities = about.capabilities ?? abilitiesAt(this.revision)
    this.info = textOf({ name: about.name ?? `client ${this.id}`, version: '1' })
    this.via = about.via ?? 'http'
    this.view = about.view
  }

  notify(method: string, params: JsonText | undefined): void {
    if (this.isGone) throw new Error('told something after it left')
    this.told.push([method, parsed(params)])
  }

  ask(ask: ServerRequest, during: Call | undefined): void {
    const seen: SeenAsk = { ask, during, withdrawn: false }
    this.asked.push(seen)
    ask.onWithdrawn = () => {
      seen.withdrawn = true
    }
  }

  project(method: string, params: JsonText | undefined, isShared: boolean): ProjectedRequest {
    const { revision, capabilities } = this
    if (!isLegacyRevision(revision)) return { is: 'impossible', what: 'a request outside an answer' }
    return projectServerRequest(method, params, {
      revision,
      capabilities,
      isShared,
      newElicitationId: randomUUID,
    })
  }

  /** Returns the notifications of one method. */
  heard(method: string): unknown[] {
    return this.told.filter(([told]) => told === method).map(([, params]) => params)
  }

  /** Starts a call; string params are JSON text. */
  call(
    method: string,
    params?: object | string,
    more: { wantsProgress?: boolean; logLevel?: McpLogLevel } = {},
  ): FakeCall {
    const call = new FakeCall(this, method, params, more.wantsProgress ?? false, more.logLevel)
    this.calls.push(call)
    this.#router.call(call)
    return call
  }

  /** Calls and waits for all work that needs no timers. */
  async get(method: string, params?: object): Promise<unknown> {
    const call = this.call(method, params)
    await settled()
    return call.ended
  }

  /** Returns the names, URIs or templates of a whole list, page by page. */
  async list(method: string, key = 'name'): Promise<string[]> {
    const member = LISTS[listOfMethod(method) ?? 'tools'].member
    const names: string[] = []
    let params: { cursor: string } | undefined
    do {
      const { result } = (await this.get(method, params)) as { result: Record<string, unknown> }
      names.push(...(result[member] as Record<string, string>[]).map(item => item[key] ?? '?'))
      params = typeof result['nextCursor'] === 'string' ? { cursor: result['nextCursor'] } : undefined
    } while (params !== undefined)
    return names
  }

  /** Disconnects as sessions do: answers its questions, cancels its calls and informs the router. */
  leave(): void {
    if (this.isGone) return
    for (const { ask } of this.asked) ask.answer(failed(new Fault('disconnected', 'The client is gone')))
    for (const call of this.calls) call.cancel('the session ended')
    this.isGone = true
    this.#router.left(this)
  }
}

/** A call with everything that was reported about it. */
export class FakeCall extends Cancellable implements Call {
  readonly client: FakeClient
  readonly caller: Caller
  readonly method: string
  readonly params: JsonText | undefined
  readonly wantsProgress: boolean
  readonly logLevel: McpLogLevel | undefined
  readonly ends: Outcome[] = []
  readonly progresses: unknown[] = []
  readonly told: (readonly [string, unknown])[] = []
  /** Number of reports after the end. */
  late = 0
  isCancelled = false

  constructor(
    client: FakeClient,
    method: string,
    params: object | string | undefined,
    wantsProgress: boolean,
    logLevel: McpLogLevel | undefined = undefined,
  ) {
    super()
    this.client = client
    this.caller = client.caller
    this.logLevel = logLevel
    this.method = method
    this.params = typeof params === 'string' ? rawText(params) : params && textOf(params)
    this.wantsProgress = wantsProgress
  }

  get progressToken(): JsonText | undefined {
    return this.wantsProgress ? textOf('token') : undefined
  }

  get isOver(): boolean {
    return this.isCancelled || this.ends.length > 0
  }

  /** Returns the outcome as its client reads it. */
  get ended(): unknown {
    return this.ends.length === 1 ? plain(this.ends[0]) : `ended ${this.ends.length} times`
  }

  progress({ params }: Progress): void {
    if (this.isOver) this.late += 1
    else this.progresses.push((valueOf(params) as { progress: unknown }).progress)
  }

  notify(method: string, params: JsonText | undefined): void {
    if (this.isOver) this.late += 1
    else this.told.push([method, parsed(params)])
  }

  end(outcome: Outcome): void {
    if (!this.isCancelled) this.ends.push(outcome)
  }

  cancel(reason?: string): void {
    if (this.isOver) return
    this.isCancelled = true
    this.cancelled(reason)
  }
}
