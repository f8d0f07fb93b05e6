import type { Exposure } from '../../../src/catalog/exposure.js'
import { Fault } from '../../../src/kernel/faults.js'
import { type JsonText, rawText, textOf, valueOf } from '../../../src/kernel/json/text.js'
import type {
  CallSink,
  CancelReason,
  Downlink,
  DownlinkListener,
  DownstreamCall,
  OnLate,
  Request,
  Requester,
  ServerRequest,
  ServerRequestMode,
} from '../../../src/model/links.js'
import { LIST_NAMES, LISTS, type ListName } from '../../../src/model/listing.js'
import { failed, type Outcome, succeeded } from '../../../src/model/outcome.js'
import type { ServerCapabilities, ServerFacts } from '../../../src/model/peer.js'
import type { Revision } from '../../../src/model/revision.js'
import type { Greeting, ServerOptions } from '../../../src/peers/dial.js'
import { askingOf, parsed, plain, progressOf } from '../values.js'

// ── servers ──

type Items = readonly object[]

/** A scripted server's properties. */
export interface Script {
  readonly tools?: Items
  readonly prompts?: Items
  readonly resources?: Items
  readonly templates?: Items
  readonly skills?: Items
  readonly revision?: Revision
  /** Another revision that it speaks on request. */
  readonly otherRevision?: Revision
  /** Its own version. */
  readonly version?: string
  readonly capabilities?: Partial<ServerCapabilities>
  /** The capabilities as the server announces them. */
  readonly announced?: object
  readonly instructions?: string
  readonly showing?: Partial<Exposure>
  readonly options?: Partial<ServerOptions>
  /** Items per list page. */
  readonly pageSize?: number
  readonly receivesUnsolicited?: boolean
  /** Connection-specific lists and capabilities. */
  readonly own?: (greeting: Greeting) => Partial<Pick<Script, ListName | 'capabilities'>>
  /** Its caching hints for lists. */
  readonly hints?: { readonly ttlMs: number; readonly cacheScope: 'public' | 'private' }
}

const PARTS: Readonly<Record<string, readonly [ListName, string] | undefined>> = Object.fromEntries(
  LIST_NAMES.map(list => [LISTS[list].method, [list, LISTS[list].member]]),
)

const BY_ITSELF = new Set(['logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'])

/** Returns a server's default options for tests. */
export const serverOptions = (name: string): ServerOptions => ({
  name,
  alias: name,
  sharing: 'principal',
  isPerPrincipal: false,
  signInTool: true,
  isProcess: false,
  limits: {},
  start: 'lazy',
  replay: false,
  serialize: false,
  propagate: true,
  restart: { firstMs: 500, maxMs: 30_000, failures: 5, windowMs: 60_000, retryMs: 60_000 },
  idleStopMs: 15 * 60_000,
  timeouts: { connectMs: 60_000, listMs: 30_000, callMs: 300_000, totalMs: 3_600_000 },
})

/** What a server with skills or tasks announces of them. */
const announcedIn = ({ skills, capabilities = {}, revision }: Script): object => {
  const settings = capabilities.skills ?? (skills && {})
  const isModern = revision === '2026-07-28'
  return {
    extensions: {
      ...(settings && { 'io.modelcontextprotocol/skills': settings }),
      ...(capabilities.tasks === true && isModern && { 'io.modelcontextprotocol/tasks': {} }),
    },
    ...(capabilities.tasks === true && !isModern && { tasks: { requests: { tools: { call: {} } } } }),
  }
}

/** A scripted server with any number of connections. */
export class FakeServer {
  readonly name: string
  readonly script: Script
  readonly links: FakeLink[] = []
  readonly greetings: Greeting[] = []
  lists: Record<ListName, Items>
  /** Outcome of dialling it; `hang` waits for `admit` or cancellation. */
  dialling: 'open' | 'refuse' | 'hang' = 'open'
  /** Methods that it does not answer by itself. */
  readonly silent = new Set<string>()
  /** Methods that it answers with an error or a fault. */
  readonly failing = new Map<string, Outcome>()
  /** Makes its connections throw when used, like a bug of ours. */
  isBroken = false
  #waiting: (() => void)[] = []

  constructor(name: string, script: Script) {
    this.name = name
    this.script = script
    const { tools = [], prompts = [], resources = [], templates = [], skills = [] } = script
    this.lists = { tools, prompts, resources, templates, skills }
  }

  get facts(): ServerFacts {
    const { script } = this
    return {
      revision: script.revision ?? '2025-11-25',
      capabilities: {
        tools: script.tools && { listChanged: true },
        prompts: script.prompts && { listChanged: true },
        resources: (script.resources ?? script.templates) && { listChanged: true, subscribe: true },
        completions: script.revision === '2024-11-05' && 'undeclared',
        logging: false,
        tasks: false,
        ...(script.skills && { skills: { directoryRead: false } }),
        ...script.capabilities,
      },
      announced: textOf(script.announced ?? announcedIn(script)),
      info: textOf({ name: this.name, version: script.version ?? '1' }),
      instructions: script.instructions,
    }
  }

  get options(): ServerOptions {
    return { ...serverOptions(this.name), ...this.script.options }
  }

  /** Returns the newest connection. */
  get link(): FakeLink {
    const link = this.links.at(-1)
    if (link === undefined) throw new Error(`server ${this.name} was not dialled`)
    return link
  }

  /** Returns all requests of one method, over all connections. */
  got(method: string): FakeRequest[] {
    return this.links.flatMap(link => link.requests).filter(request => request.method === method)
  }

  /** Returns the newest request of a method. */
  last(method: string): FakeRequest {
    const request = this.got(method).at(-1)
    if (request === undefined) throw new Error(`server ${this.name} got no ${method}`)
    return request
  }

  async dial(greeting: Greeting, listener: DownlinkListener, signal: AbortSignal): Promise<Downlink> {
    this.greetings.push(greeting)
    if (this.dialling === 'refuse') throw new Fault('unavailable', 'connection refused')
    if (this.dialling === 'hang') {
      await new Promise<void>((resolve, reject) => {
        this.#waiting.push(resolve)
        signal.addEventListener('abort', () => reject(new Fault('cancelled', 'called off')), { once: true })
      })
    }
    const link = new FakeLink(this, greeting, listener)
    this.links.push(link)
    return link
  }

  /** Admits waiting connections. */
  admit(): void {
    this.dialling = 'open'
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  answerTo({ method, params }: FakeRequest, link?: FakeLink): Outcome | undefined {
    const failure = this.failing.get(method)
    if (failure !== undefined) return failure
    if (this.silent.has(method)) return undefined
    const part = PARTS[method]
    if (part !== undefined) return this.#page(link?.lists[part[0]] ?? this.lists[part[0]], part[1], params)
    return BY_ITSELF.has(method) ? succeeded(rawText('{}')) : undefined
  }

  #page(items: Items, member: string, params: unknown): Outcome {
    const { pageSize = Number.POSITIVE_INFINITY } = this.script
    const from = Number((params as { cursor?: string } | undefined)?.cursor ?? 0)
    const isMore = from + pageSize < items.length
    return succeeded(
      textOf({
        [member]: items.slice(from, from + pageSize),
        ...(isMore && { nextCursor: String(from + pageSize) }),
        ...this.script.hints,
      }),
    )
  }
}

/** One connection to a scripted server. */
export class FakeLink implements Downlink {
  readonly server: FakeServer
  readonly serverRequests: ServerRequestMode
  readonly hasOtherMode: boolean
  readonly mayReturnTasks: boolean
  readonly listener: DownlinkListener
  readonly facts: ServerFacts
  readonly requests: FakeRequest[] = []
  /** Lists specific to this connection. */
  lists: Partial<Record<ListName, Items>>
  /** Notifications that it received: method and params. */
  readonly told: (readonly [string, unknown])[] = []
  readonly asks: FakeServerRequest[] = []
  receivesUnsolicited: boolean
  isClosed = false

  constructor(server: FakeServer, greeting: Greeting, listener: DownlinkListener) {
    const { revision = '2025-11-25', otherRevision, own } = server.script
    const { capabilities, ...lists } = own?.(greeting) ?? {}
    const hasWanted = otherRevision !== undefined && askingOf(otherRevision) === greeting.serverRequests
    const other = hasWanted ? otherRevision : undefined
    this.lists = lists
    this.server = server
    this.listener = listener
    const { facts } = server
    const all = { ...facts.capabilities, ...capabilities }
    this.facts = { ...facts, capabilities: all, revision: other ?? revision }
    this.serverRequests = askingOf(this.facts.revision)
    this.hasOtherMode = otherRevision !== undefined
    this.mayReturnTasks = this.serverRequests === 'returned' ? all.tasks : this.facts.revision >= '2025-11-25'
    this.receivesUnsolicited = server.script.receivesUnsolicited ?? true
  }

  call(request: Request, sink: CallSink): DownstreamCall {
    if (this.server.isBroken) throw new Error('bug')
    const call = new FakeRequest(request, sink)
    this.requests.push(call)
    const answer = this.server.answerTo(call, this)
    if (answer !== undefined) queueMicrotask(() => call.end(answer))
    return call
  }

  notify(method: string, params: JsonText | undefined): void {
    this.told.push([method, parsed(params)])
  }

  pause(): void {}

  resume(): void {}

  close(): Promise<void> {
    this.drop(new Fault('disconnected', 'closed by us'))
    return Promise.resolve()
  }

  /** Asks a question, as if on the stream of `about`. */
  ask(method: string, params?: object, about?: DownstreamCall): FakeServerRequest {
    const ask = new FakeServerRequest(method, params, { wantsProgress: true, about })
    this.asks.push(ask)
    this.listener.requested(ask)
    return ask
  }

  notice(method: string, params?: object, about?: DownstreamCall): void {
    this.listener.notified(method, params && textOf(params), about)
  }

  /**
   * Breaks the connection. As in real links, calls end first, then questions are withdrawn, then it closes.
   */
  drop(why = new Fault('disconnected', 'the connection broke')): void {
    if (this.isClosed) return
    this.isClosed = true
    this.receivesUnsolicited = false
    for (const request of this.requests) request.end(failed(why))
    for (const ask of this.asks) ask.withdraw()
    this.listener.closed(why)
  }
}

/** One request as the server received it. */
export class FakeRequest implements DownstreamCall {
  readonly method: string
  readonly params: unknown
  /** Params as sent. */
  readonly text: string | undefined
  readonly wantsProgress: boolean
  readonly requester: Requester | undefined
  readonly followsTasks: boolean
  readonly taskTtlMs: number | undefined
  /** The task that its client requests, as text. */
  readonly task: string | undefined
  /** Reasons of each cancellation. */
  readonly cancels: CancelReason[] = []
  readonly #sink: CallSink
  #onLate: OnLate | undefined
  isOver = false

  constructor(
    { method, params, wantsProgress, requester, followsTasks, taskTtlMs, task }: Request,
    sink: CallSink,
  ) {
    this.method = method
    this.followsTasks = followsTasks ?? false
    this.taskTtlMs = taskTtlMs
    this.task = task?.toString()
    this.requester = requester
    this.params = parsed(params)
    this.text = params?.toString()
    this.wantsProgress = wantsProgress
    this.#sink = sink
  }

  get owner(): object | undefined {
    return this.#sink.owner
  }

  cancel(reason: CancelReason, onLate?: OnLate): void {
    if (this.isOver) return
    this.isOver = true
    this.cancels.push(reason)
    this.#onLate = onLate
  }

  /** Sends a notification on the stream of the request. */
  notice(method: string, params: object): void {
    if (!this.isOver) this.#sink.notified?.(method, textOf(params))
  }

  /** Answers after the cancellation. */
  late(): void {
    this.#onLate?.()
  }

  end(outcome: Outcome): void {
    if (this.isOver) return
    this.isOver = true
    this.#sink.ended(outcome)
  }

  answer(result: object = { content: [] }): void {
    this.end(succeeded(textOf(result)))
  }

  /** Answers that input is required. */
  returns(inputRequests: object | undefined, requestState?: string): void {
    this.end({ kind: 'input', result: textOf({ resultType: 'input_required', inputRequests, requestState }) })
  }

  /** Answers with a task. */
  becomes(task: object): void {
    this.end({ kind: 'task', result: textOf(task) })
  }

  refuse(code: number, message: string, data?: object): void {
    this.end({ kind: 'error', error: textOf({ code, message, ...(data && { data }) }) })
  }

  fail(fault: Fault): void {
    this.end(failed(fault))
  }

  progress(progress: unknown): void {
    if (!this.isOver) this.#sink.progress(progressOf({ progressToken: 1, progress }))
  }
}

/** A server's request, with all answers that it received. */
export class FakeServerRequest implements ServerRequest {
  readonly method: string
  readonly params: JsonText | undefined
  readonly about: DownstreamCall | undefined
  readonly wantsProgress: boolean
  readonly outcomes: Outcome[] = []
  readonly progresses: unknown[] = []
  onWithdrawn: ((reason: CancelReason) => void) | undefined
  isWithdrawn = false

  constructor(
    method = 'roots/list',
    params?: object,
    { wantsProgress = false, about }: { wantsProgress?: boolean; about?: DownstreamCall | undefined } = {},
  ) {
    this.method = method
    this.params = params && textOf(params)
    this.wantsProgress = wantsProgress
    this.about = about
  }

  /** Returns the answer if exactly one arrived. */
  get answered(): unknown {
    return this.outcomes.length === 1 ? plain(this.outcomes[0]) : `${this.outcomes.length} answers`
  }

  answer(outcome: Outcome): void {
    if (!this.isWithdrawn) this.outcomes.push(outcome)
  }

  progress(params: JsonText): void {
    this.progresses.push(valueOf(params))
  }

  /** Withdraws the request. */
  withdraw(): void {
    if (this.isWithdrawn || this.outcomes.length > 0) return
    this.isWithdrawn = true
    this.onWithdrawn?.('withdrawn')
  }
}
