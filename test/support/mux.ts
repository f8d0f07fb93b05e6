import { randomUUID } from 'node:crypto'
import type { KnownServers } from '../../src/catalog/lists/remembered.js'
import type { Showing } from '../../src/catalog/showing.js'
import { projectServerRequest } from '../../src/eras/legacy/project/server-request.js'
import { Fault } from '../../src/kernel/faults.js'
import { type JsonText, rawText, textOf, valueOf } from '../../src/kernel/json/text.js'
import type { LimitCounters } from '../../src/kernel/limit-counters.js'
import { type Logger, silentLogger } from '../../src/kernel/logger.js'
import type {
  Call,
  Caller,
  CallSink,
  CancelReason,
  Client,
  Downlink,
  DownlinkListener,
  DownstreamCall,
  ProjectedRequest,
  Request,
  ServerRequest,
  ServerRequestMode,
} from '../../src/model/links.js'
import type { LogLevel } from '../../src/model/log-level.js'
import { failed, type Outcome, resulted } from '../../src/model/outcome.js'
import {
  type ClientCapabilities,
  NO_CAPABILITIES,
  type ServerCapabilities,
  type ServerFacts,
} from '../../src/model/peer.js'
import type { Progress } from '../../src/model/progress.js'
import { isLegacyRevision, type Revision } from '../../src/model/revision.js'
import { RPC_CODES } from '../../src/model/rpc-error.js'
import { createSealer, type Sealer } from '../../src/mux/input-required/retry/sealed-state.js'
import { Router } from '../../src/mux/router.js'
import type { Dial, Greeting } from '../../src/peers/dial.js'
import type { ServerOptions } from '../../src/peers/options.js'
import { FakeClock, settled } from './fake-clock.js'
import { progressOf } from './progress.js'

export const ALL_ABILITIES: ClientCapabilities = {
  roots: { listChanged: true },
  sampling: { tools: true, context: true },
  elicitation: { form: true, url: true },
}

/** The same as a client of `revision` can have declared it. */
export const abilitiesAt = (revision: Revision): ClientCapabilities =>
  revision >= '2025-11-25'
    ? ALL_ABILITIES
    : {
        roots: { listChanged: true },
        sampling: { tools: false, context: true },
        elicitation: revision >= '2025-06-18' ? { form: true, url: false } : undefined,
      }

const parsed = (text: JsonText | undefined): unknown => (text === undefined ? undefined : valueOf(text))

/** An outcome in a form to compare: `{ result }` or `{ code, message, data }` as a peer would read it. */
export const plain = (outcome: Outcome | undefined): unknown => {
  if (outcome === undefined) return undefined
  if (outcome.kind === 'result' || outcome.kind === 'input' || outcome.kind === 'task')
    return { result: valueOf(outcome.result) }
  if (outcome.kind === 'error') return valueOf(outcome.error)
  const { fault } = outcome
  return { code: RPC_CODES[fault.code], message: fault.message, data: fault.data }
}

const askingOf = (revision: Revision): ServerRequestMode =>
  revision === '2026-07-28' ? 'returned' : 'pushed'

// ── servers ──

type Items = readonly object[]

type ListOf = 'tools' | 'prompts' | 'resources' | 'templates'

/** What a scripted server has and does. */
export interface Script {
  readonly tools?: Items
  readonly prompts?: Items
  readonly resources?: Items
  readonly templates?: Items
  readonly revision?: Revision
  /** What it speaks beside that, to those who want it. */
  readonly otherRevision?: Revision
  /** Its own. */
  readonly version?: string
  readonly capabilities?: Partial<ServerCapabilities>
  /** The same as it says it. */
  readonly announced?: object
  readonly instructions?: string
  readonly showing?: Partial<Showing>
  readonly options?: Partial<ServerOptions>
  /** Items on a page of its lists. */
  readonly pageSize?: number
  readonly hearsAmbient?: boolean
  /** What a connection has in place of what all have. */
  readonly own?: (greeting: Greeting) => Partial<Pick<Script, ListOf | 'capabilities'>>
  /** What it says about keeping its lists. */
  readonly hints?: { readonly ttlMs: number; readonly cacheScope: 'public' | 'private' }
}

const PARTS: Readonly<Record<string, readonly ['tools' | 'prompts' | 'resources' | 'templates', string]>> = {
  'tools/list': ['tools', 'tools'],
  'prompts/list': ['prompts', 'prompts'],
  'resources/list': ['resources', 'resources'],
  'resources/templates/list': ['templates', 'resourceTemplates'],
}

const BY_ITSELF = new Set(['logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'])

/** A server that does as it is told, over any number of connections. */
export class FakeServer {
  readonly name: string
  readonly script: Script
  readonly links: FakeLink[] = []
  readonly greetings: Greeting[] = []
  lists: Record<'tools' | 'prompts' | 'resources' | 'templates', Items>
  /** What dialling it comes to; `hang` waits for `admit` or for being called off. */
  dialling: 'open' | 'refuse' | 'hang' = 'open'
  /** Methods that it does not answer by itself. */
  readonly silent = new Set<string>()
  /** Methods that it answers with an error of this text, or with a fault. */
  readonly failing = new Map<string, Outcome>()
  /** Whether its connections throw when they are used: a bug of ours. */
  isBroken = false
  #waiting: (() => void)[] = []

  constructor(name: string, script: Script) {
    this.name = name
    this.script = script
    const { tools = [], prompts = [], resources = [], templates = [] } = script
    this.lists = { tools, prompts, resources, templates }
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
        ...script.capabilities,
      },
      announced: textOf(script.announced ?? {}),
      info: textOf({ name: this.name, version: script.version ?? '1' }),
      instructions: script.instructions,
    }
  }

  get options(): ServerOptions {
    return {
      name: this.name,
      alias: this.name,
      sharing: 'principal',
      isProcess: false,
      limits: {},
      start: 'lazy',
      replay: false,
      serialize: false,
      restart: { firstMs: 500, maxMs: 30_000, failures: 5, windowMs: 60_000, retryMs: 60_000 },
      idleStopMs: 15 * 60_000,
      timeouts: { connectMs: 60_000, listMs: 30_000, callMs: 300_000, totalMs: 3_600_000 },
      ...this.script.options,
    }
  }

  /** The newest connection. */
  get link(): FakeLink {
    const link = this.links.at(-1)
    if (link === undefined) throw new Error(`server ${this.name} was not dialled`)
    return link
  }

  /** All requests of one method, over all connections. */
  got(method: string): FakeRequest[] {
    return this.links.flatMap(link => link.requests).filter(request => request.method === method)
  }

  /** The newest request of a method. */
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

  /** Lets those in who wait. */
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
    return BY_ITSELF.has(method) ? resulted(rawText('{}')) : undefined
  }

  #page(items: Items, member: string, params: unknown): Outcome {
    const { pageSize = Number.POSITIVE_INFINITY } = this.script
    const from = Number((params as { cursor?: string } | undefined)?.cursor ?? 0)
    const isMore = from + pageSize < items.length
    return resulted(
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
  /** What it has in place of what all connections have. */
  lists: Partial<Record<ListOf, Items>>
  /** Notifications that it was sent: method and params. */
  readonly told: (readonly [string, unknown])[] = []
  readonly asks: ServerAsk[] = []
  hearsAmbient: boolean
  lastHeardMs = 0
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
    this.hearsAmbient = server.script.hearsAmbient ?? true
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

  /** Asks something, as if on the stream of `about`. */
  ask(method: string, params?: object, about?: DownstreamCall): ServerAsk {
    const ask = new ServerAsk(method, params, about)
    this.asks.push(ask)
    this.listener.requested(ask)
    return ask
  }

  notice(method: string, params?: object, about?: DownstreamCall): void {
    this.listener.notified(method, params && textOf(params), about)
  }

  /** The connection breaks: as in the real ones, calls end first, then questions are withdrawn, then it is closed. */
  drop(why = new Fault('disconnected', 'the connection broke')): void {
    if (this.isClosed) return
    this.isClosed = true
    this.hearsAmbient = false
    for (const request of this.requests) request.end(failed(why))
    for (const ask of this.asks) ask.withdraw()
    this.listener.closed(why)
  }
}

/** One request as the server got it. */
export class FakeRequest implements DownstreamCall {
  readonly method: string
  readonly params: unknown
  /** The params as they were written. */
  readonly text: string | undefined
  readonly wantsProgress: boolean
  readonly caller: Caller | undefined
  readonly followsTasks: boolean
  readonly taskTtlMs: number | undefined
  /** Why it was cancelled, each time that it was. */
  readonly cancels: CancelReason[] = []
  readonly #sink: CallSink
  isOver = false

  constructor({ method, params, wantsProgress, caller, followsTasks, taskTtlMs }: Request, sink: CallSink) {
    this.method = method
    this.followsTasks = followsTasks ?? false
    this.taskTtlMs = taskTtlMs
    this.caller = caller
    this.params = parsed(params)
    this.text = params?.toString()
    this.wantsProgress = wantsProgress
    this.#sink = sink
  }

  cancel(reason: CancelReason): void {
    if (this.isOver) return
    this.isOver = true
    this.cancels.push(reason)
  }

  end(outcome: Outcome): void {
    if (this.isOver) return
    this.isOver = true
    this.#sink.ended(outcome)
  }

  answer(result: object = { content: [] }): void {
    this.end(resulted(textOf(result)))
  }

  /** Wants input first. */
  returns(inputRequests: object | undefined, requestState?: string): void {
    this.end({ kind: 'input', result: textOf({ resultType: 'input_required', inputRequests, requestState }) })
  }

  /** Makes a task of it. */
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

/** A question of a server, with everything that it was answered. */
export class ServerAsk implements ServerRequest {
  readonly method: string
  readonly params: JsonText | undefined
  readonly about: DownstreamCall | undefined
  readonly wantsProgress = true
  readonly outcomes: Outcome[] = []
  readonly progresses: unknown[] = []
  onWithdrawn: ((reason: CancelReason) => void) | undefined
  isWithdrawn = false

  constructor(method: string, params: object | undefined, about: DownstreamCall | undefined) {
    this.method = method
    this.params = params && textOf(params)
    this.about = about
  }

  /** What the server got, if exactly one answer came. */
  get answered(): unknown {
    return this.outcomes.length === 1 ? plain(this.outcomes[0]) : `${this.outcomes.length} answers`
  }

  answer(outcome: Outcome): void {
    if (!this.isWithdrawn) this.outcomes.push(outcome)
  }

  progress(params: JsonText): void {
    this.progresses.push(valueOf(params))
  }

  /** The server does not want to know any more. */
  withdraw(): void {
    if (this.isWithdrawn || this.outcomes.length > 0) return
    this.isWithdrawn = true
    this.onWithdrawn?.('withdrawn')
  }
}

// ── clients ──

/** A question as a client sees it. */
export interface SeenAsk {
  readonly ask: ServerRequest
  readonly during: Call | undefined
  /** Set once the client was told that nobody waits for the answer. */
  withdrawn: boolean
}

let clients = 0

/** A client that remembers what it was told. */
export class FakeClient implements Client {
  readonly id: number
  readonly principal: string
  readonly revision: Revision
  readonly serverRequests: ServerRequestMode
  readonly capabilities: ClientCapabilities
  readonly info: JsonText
  readonly told: (readonly [string, unknown])[] = []
  readonly asked: SeenAsk[] = []
  readonly calls: FakeCall[] = []
  readonly #router: Router
  isGone = false

  constructor(
    router: Router,
    about: { principal?: string; revision?: Revision; capabilities?: ClientCapabilities } = {},
  ) {
    clients += 1
    this.id = clients
    this.#router = router
    this.principal = about.principal ?? 'local'
    this.revision = about.revision ?? '2025-11-25'
    this.serverRequests = askingOf(this.revision)
    this.capabilities = about.capabilities ?? abilitiesAt(this.revision)
    this.info = textOf({ name: `client ${this.id}`, version: '1' })
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

  /** Notifications of one method. */
  heard(method: string): unknown[] {
    return this.told.filter(([told]) => told === method).map(([, params]) => params)
  }

  /** Calls; params that are a string are JSON text. */
  call(
    method: string,
    params?: object | string,
    more: { wantsProgress?: boolean; logLevel?: LogLevel } = {},
  ): FakeCall {
    const call = new FakeCall(this, method, params, more.wantsProgress ?? false, more.logLevel)
    this.calls.push(call)
    this.#router.call(call)
    return call
  }

  /** Calls and waits for whatever needs no time. */
  async get(method: string, params?: object): Promise<unknown> {
    const call = this.call(method, params)
    await settled()
    return call.ended
  }

  /** The names, URIs or templates of a whole list, page by page. */
  async list(method: string, key = 'name'): Promise<string[]> {
    const member = { 'resources/list': 'resources', 'prompts/list': 'prompts' }[method] ?? 'tools'
    const names: string[] = []
    let params: { cursor: string } | undefined
    do {
      const { result } = (await this.get(method, params)) as { result: Record<string, unknown> }
      names.push(...(result[member] as Record<string, string>[]).map(item => item[key] ?? '?'))
      params = typeof result['nextCursor'] === 'string' ? { cursor: result['nextCursor'] } : undefined
    } while (params !== undefined)
    return names
  }

  /** Leaves as the sessions do: questions are answered in its place, calls are cancelled, the router is told. */
  leave(): void {
    if (this.isGone) return
    for (const { ask } of this.asked) ask.answer(failed(new Fault('disconnected', 'The client is gone')))
    for (const call of this.calls) call.cancel('the session ended')
    this.isGone = true
    this.#router.left(this)
  }
}

/** A call with everything that was said about it. */
export class FakeCall implements Call {
  readonly client: FakeClient
  readonly method: string
  readonly params: JsonText | undefined
  readonly wantsProgress: boolean
  readonly logLevel: LogLevel | undefined
  readonly ends: Outcome[] = []
  readonly progresses: unknown[] = []
  readonly told: (readonly [string, unknown])[] = []
  /** What was said when nothing may be said any more. */
  late = 0
  isCancelled = false
  onCancel: ((reason: CancelReason) => void) | undefined
  onOver: ((outcome: Outcome | undefined) => void) | undefined

  constructor(
    client: FakeClient,
    method: string,
    params: object | string | undefined,
    wantsProgress: boolean,
    logLevel: LogLevel | undefined = undefined,
  ) {
    this.client = client
    this.logLevel = logLevel
    this.method = method
    this.params = typeof params === 'string' ? rawText(params) : params && textOf(params)
    this.wantsProgress = wantsProgress
  }

  get isOver(): boolean {
    return this.isCancelled || this.ends.length > 0
  }

  /** The one end as its client reads it. */
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
    if (this.isCancelled) return
    this.ends.push(outcome)
    if (this.ends.length === 1) this.onOver?.(outcome)
  }

  cancel(reason?: string): void {
    if (this.isOver) return
    this.isCancelled = true
    this.onCancel?.(reason)
    this.onOver?.(undefined)
  }
}

// ── all together ──

/** Seals with a key that everybody knows, by a clock that stands still. */
export const testSealer = (clock: FakeClock, fill = 1): Sealer =>
  createSealer({ keys: [{ kid: `k${fill}`, key: Buffer.alloc(32, fill) }], nowMs: () => clock.nowMs() })

export const SHOWN: Showing = {
  prefix: true,
  uris: 'prefix',
  tools: { allow: undefined, deny: [], rename: {}, override: {} },
}

export interface WorldOptions {
  readonly isAlone?: boolean
  readonly pageSize?: number
  readonly clock?: FakeClock
  readonly log?: Logger
  readonly known?: KnownServers
  readonly bounds?: LimitCounters
}

/** Ports of a router over scripted servers. */
export const dialOf = (servers: readonly FakeServer[]): Dial => {
  return async ({ name }, greeting, listener, signal) => {
    const server = servers.find(one => one.name === name)
    if (server === undefined) throw new Fault('unavailable', 'it is not configured')
    return server.dial(greeting, listener, signal)
  }
}

/** A router with scripted servers and a clock that stands still. */
export class World {
  readonly clock: FakeClock
  readonly servers: readonly FakeServer[]
  readonly router: Router

  constructor(scripts: Readonly<Record<string, Script>>, options: WorldOptions = {}) {
    this.clock = options.clock ?? new FakeClock()
    this.servers = Object.entries(scripts).map(([name, script]) => new FakeServer(name, script))
    this.router = new Router({
      servers: this.servers.map(server => server.options),
      showingOf: ({ name }) => ({ ...SHOWN, ...scripts[name]?.showing }),
      isAlone: options.isAlone ?? false,
      known: options.known,
      dial: dialOf(this.servers),
      clock: this.clock,
      log: options.log ?? silentLogger,
      bounds: options.bounds,
      sealer: testSealer(this.clock),
      pageSize: options.pageSize ?? 100,
      startupWaitMs: 5000,
      listWaitMs: 3000,
    })
  }

  server(name: string): FakeServer {
    const server = this.servers.find(one => one.name === name)
    if (server === undefined) throw new Error(`no server ${name}`)
    return server
  }

  newcomer(about?: ConstructorParameters<typeof FakeClient>[1]): FakeClient {
    return new FakeClient(this.router, about)
  }

  /** A client that was welcomed. */
  async client(about?: ConstructorParameters<typeof FakeClient>[1]): Promise<FakeClient> {
    const client = this.newcomer(about)
    void this.router.welcome(client)
    await settled()
    return client
  }

  /** A client whose requests stand for themselves: nobody welcomes it. */
  modern(about: Omit<ConstructorParameters<typeof FakeClient>[1] & {}, 'revision'> = {}): FakeClient {
    return this.newcomer({ ...about, revision: '2026-07-28' })
  }

  /** Lets time pass in small steps, and everything happen that follows from it. */
  async pass(ms: number, stepMs = ms): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.clock.advance(Math.min(stepMs, left))
      await settled()
    }
  }
}

export const CAN_NOTHING = NO_CAPABILITIES
export const tool = (name: string, more: object = {}): object => ({
  name,
  inputSchema: { type: 'object' },
  ...more,
})
export const resource = (uri: string): object => ({ uri, name: uri })
