import type { Clock } from '../../../kernel/async/clock.js'
import { type JsonText, textMember } from '../../../kernel/json/text.js'
import type { Meter, RefusalReason } from '../../../kernel/meter.js'
import type { Counter, Histogram } from '../../../kernel/series.js'
import { failureOf, OTHER } from '../../../model/failure.js'
import type { Client, Viewer } from '../../../model/links.js'
import { type Answer, bytesOf, isFine, type Outcome } from '../../../model/outcome.js'
import { ROUTES } from '../../routes.js'
import type { OnAsked } from '../../server-requests/server-requests.js'
import {
  type CallRecord,
  type CallVerdict,
  type ClientObserver,
  type Interceptor,
  NEXT,
} from '../call-record.js'
import { CallHistory } from './call-history.js'

const METHODS: ReadonlySet<string> = new Set([...ROUTES.keys(), 'initialize', 'server/discover', 'ping'])

const QUESTIONS: ReadonlySet<string> = new Set(['sampling/createMessage', 'elicitation/create', 'roots/list'])

/** Maximum number of cached tools per server, since a server may list new ones all the time. */
const TOOLS = 10_000

/** The reason for which a call waited inside the proxy. */
export type WaitReason = 'start' | 'turn' | 'parked' | 'asked'

export interface CallMeterOptions {
  readonly meter: Meter
  readonly clock: Clock
  /** True if each tool has a histogram of its own. */
  readonly hasToolHistograms: boolean
  /** Returns whether a server lists a tool under these names, its own one last. */
  readonly isListed: (viewer: Viewer, exposed: string, server: string, own: string) => boolean
}

interface OfServer {
  readonly requests: Map<string, Operations>
  /** By method, and by the server's own tool name. */
  readonly methods: Map<string, CallCounters>
  readonly tools: Map<string, CallCounters>
}

const createOfServer = (): OfServer => ({ requests: new Map(), methods: new Map(), tools: new Map() })

/** Counts calls, sessions and questions. A call like the last one needs no lookup. */
export class CallMeter implements ClientObserver {
  readonly #options: CallMeterOptions
  readonly #meter: Meter
  readonly #clock: Clock
  readonly #methods = new Map<string, Operations>()
  readonly #servers = new Map<string, OfServer>()
  #last: CallCounters | undefined
  readonly #overhead: Histogram
  /** The recent calls, for status displays. */
  readonly history = new CallHistory()
  readonly #waits: Readonly<Record<WaitReason, Histogram>>
  /** The start of each open session. */
  readonly #sessions = new Map<Client, number>()
  #epoch: number

  constructor(options: CallMeterOptions) {
    const { meter, clock } = options
    this.#options = options
    this.#meter = meter
    this.#clock = clock
    this.#epoch = meter.epoch
    this.#overhead = meter.histogram('mcp_proxy_overhead_seconds')
    const wait = (reason: WaitReason) => meter.histogram('mcp_proxy_wait_seconds', reason)
    this.#waits = { start: wait('start'), turn: wait('turn'), parked: wait('parked'), asked: wait('asked') }
  }

  /** Returns the proxy's own overhead at this quantile; undefined before the first request. */
  overheadMs(share: number): number | undefined {
    const seconds = this.#overhead.quantile(share)
    return seconds && seconds * 1000
  }

  get interceptors(): readonly Interceptor[] {
    return [
      { name: 'history', stage: 'request', run: this.history.began },
      { name: 'meter', stage: 'settled', seesAnswered: true, run: this.over },
    ]
  }

  /** Counts a finished client call. */
  readonly over = (call: CallRecord, outcome: Outcome | undefined): CallVerdict => {
    const nowMs = this.#clock.nowMs()
    const ms = nowMs - call.beganMs
    const { method, servedBy } = call
    if (call.number !== undefined) this.history.over(call, outcome, ms, nowMs)
    if (call.awayMs !== undefined) this.#overhead.observe(Math.max(0, ms - call.awayMs) / 1000)
    const counters = servedBy === undefined ? undefined : this.#countersOf(call, servedBy)
    const calls = counters?.calls ?? this.#operationsOf(method)
    calls.of(outcome).observe(ms / 1000, call.trace?.sampledId)
    if (counters?.tool !== undefined) counters.toolCalled(outcome, ms / 1000)
    return NEXT
  }

  /** Counts a finished request to a server; without an outcome, as cancelled. `call` is the client's. */
  served(call: CallRecord, server: string, outcome: Outcome | undefined, ms: number): void {
    call.awayMs = (call.awayMs ?? 0) + ms
    const { requests, sent, received } = this.#countersOf(call, server)
    requests.of(outcome).observe(ms / 1000, call.trace?.sampledId)
    sent.add(call.params?.length ?? 0)
    if (outcome !== undefined) received.add(bytesOf(outcome))
  }

  /** Counts a wait of a call inside the proxy. */
  held(call: CallRecord, reason: 'start' | 'turn', ms: number): void {
    call.awayMs = (call.awayMs ?? 0) + ms
    this.waited(reason, ms)
  }

  readonly refused = (reason: RefusalReason): void => {
    this.#meter.counter('mcp_proxy_refused', reason).add()
  }

  /** Counts a call that is sent again because its server did not run it. */
  resent(server: string): void {
    this.#meter.counter('mcp_proxy_repairs', server, 'resend').add()
  }

  waited(reason: WaitReason, ms: number): void {
    this.#waits[reason].observe(ms / 1000)
  }

  /** Records a client that initializes, perhaps again. */
  met(client: Client): void {
    if (client.serverRequests === 'pushed' && !this.#sessions.has(client))
      this.#sessions.set(client, this.#clock.nowMs())
  }

  /** Counts the session of a disconnected client. */
  left(client: Client): void {
    const openedMs = this.#sessions.get(client)
    if (openedMs === undefined) return
    this.#sessions.delete(client)
    this.history.clientLeft(client)
    const seconds = (this.#clock.nowMs() - openedMs) / 1000
    const name = protocolOf(client.via)
    this.#meter.histogram('mcp_server_session_duration_seconds', client.revision, name).observe(seconds)
  }

  /** Counts each server request when it is over. */
  readonly asked: OnAsked = ({ method }) => {
    const about = QUESTIONS.has(method) ? method : OTHER
    return answer => this.#meter.counter('mcp_proxy_questions', about, answerWord(answer)).add()
  }

  #operationsOf(method: string): Operations {
    if (this.#meter.epoch !== this.#epoch) this.#forget()
    const name = nameOf(method)
    const family = 'mcp_server_operation_duration_seconds'
    const make = (type: string, code: string) => this.#meter.histogram(family, name, type, code)
    return known(this.#methods, name, () => new Operations('server', make))
  }

  #countersOf(call: CallRecord, server: string): CallCounters {
    if (this.#meter.epoch !== this.#epoch) this.#forget()
    const { method } = call
    const tool = method === 'tools/call' ? (call.ownName ?? OTHER) : undefined
    const last = this.#last
    if (last?.server === server && last.method === method && last.tool === tool) return last
    this.#last = this.#find(call, server, tool)
    return this.#last
  }

  #find(call: CallRecord, server: string, tool: string | undefined): CallCounters {
    const of = known(this.#servers, server, createOfServer)
    const { method } = call
    const { methods, tools } = of
    if (tool === undefined)
      return known(methods, nameOf(method), () => this.#create(of, { server, method, tool }))
    // Only listed tools get counters of their own, since clients may send any name.
    const isKept = tools.has(tool) || (tools.size < TOOLS && this.#isListed(call, server, tool))
    const name = isKept ? tool : OTHER
    return known(tools, name, () => this.#create(of, { server, method, tool: name }))
  }

  #create({ requests }: OfServer, about: Pick<CallCounters, 'server' | 'method' | 'tool'>): CallCounters {
    const { server, tool } = about
    const method = nameOf(about.method)
    const label = this.#options.hasToolHistograms ? (tool ?? '') : ''
    const family = 'mcp_client_operation_duration_seconds'
    const make = (type: string, code: string) =>
      this.#meter.histogram(family, server, method, type, code, label)
    return new CallCounters({
      ...{ meter: this.#meter, server, method: about.method, tool, calls: this.#operationsOf(method) },
      requests: known(requests, `${method} ${label}`, () => new Operations('client', make)),
    })
  }

  #isListed(call: CallRecord, server: string, own: string): boolean {
    const exposed = call.exposed === '' ? (call.named ?? nameIn(call.params)) : call.exposed
    return exposed !== undefined && this.#options.isListed(call, exposed, server, own)
  }

  /** Forgets all series, because some may have been dropped. */
  #forget(): void {
    this.#epoch = this.#meter.epoch
    this.#last = undefined
    this.#methods.clear()
    this.#servers.clear()
  }
}

const nameOf = (method: string): string => (METHODS.has(method) ? method : OTHER)

/** Returns the value of a key, created on first use. */
const known = <T>(all: Map<string, T>, key: string, make: () => T): T => {
  const found = all.get(key)
  if (found !== undefined) return found
  const made = make()
  all.set(key, made)
  return made
}

const nameIn = (params: JsonText | undefined): string | undefined => params && textMember(params, 'name')

const answerWord = (answer: Answer | undefined): string => answer?.kind ?? 'withdrawn'

/** Returns the `network.protocol.name` of a transport; empty for pipes. */
const protocolOf = (via: Client['via']): string =>
  via === 'http' || via === 'sse' ? 'http' : via === 'websocket' ? via : ''

/** The outcome of a tool call. */
type ToolOutcome = 'ok' | 'tool_error' | 'error' | 'fault' | 'refused' | 'cancelled'

/** The metrics of one method, by outcome; created on demand. */
class Operations {
  readonly #make: (errorType: string, code: string) => Histogram
  readonly #side: 'client' | 'server'
  #ok: Histogram | undefined
  readonly #failed = new Map<string, Histogram>()

  constructor(side: 'client' | 'server', make: (errorType: string, code: string) => Histogram) {
    this.#side = side
    this.#make = make
  }

  of(outcome: Outcome | undefined): Histogram {
    if (outcome !== undefined && isFine(outcome)) {
      this.#ok ??= this.#make('', '')
      return this.#ok
    }
    const { type, code } = failureOf(outcome, this.#side)
    const key = `${type} ${code}`
    let known = this.#failed.get(key)
    if (known === undefined) {
      known = this.#make(type, code)
      this.#failed.set(key, known)
    }
    return known
  }
}

interface ToolSeries {
  readonly calls: Counter
  readonly seconds: Counter
}

/** Identifies requests of one kind at one server. */
interface CallCountersOptions {
  readonly meter: Meter
  readonly server: string
  readonly method: string
  /** The server's own name of the called tool, if any. */
  readonly tool: string | undefined
  /** Requests as clients see them, and as sent to the server. */
  readonly calls: Operations
  readonly requests: Operations
}

/** All metrics of one kind of request at one server, looked up once per call. */
class CallCounters {
  readonly server: string
  readonly method: string
  readonly tool: string | undefined
  readonly calls: Operations
  readonly requests: Operations
  readonly sent: Counter
  readonly received: Counter
  readonly #meter: Meter
  readonly #series: Partial<Record<ToolOutcome, ToolSeries>> = {}

  constructor({ meter, server, method, tool, calls, requests }: CallCountersOptions) {
    this.server = server
    this.method = method
    this.tool = tool
    this.calls = calls
    this.requests = requests
    this.sent = meter.counter('mcp_proxy_bytes', server, 'sent')
    this.received = meter.counter('mcp_proxy_bytes', server, 'received')
    this.#meter = meter
  }

  /** Counts a finished tool call; a round of questions does not finish it. */
  toolCalled(outcome: Outcome | undefined, seconds: number): void {
    const how = toolOutcome(outcome)
    if (how === undefined) return
    this.#series[how] ??= this.#create(how)
    this.#series[how].calls.add()
    this.#series[how].seconds.add(seconds)
  }

  #create(how: ToolOutcome): ToolSeries {
    const labels = [this.server, this.tool ?? '', how]
    return {
      calls: this.#meter.counter('mcp_proxy_tool_calls', ...labels),
      seconds: this.#meter.counter('mcp_proxy_tool_call_seconds', ...labels),
    }
  }
}

/** Undefined while the call continues. */
const toolOutcome = (outcome: Outcome | undefined): ToolOutcome | undefined => {
  switch (outcome?.kind) {
    case undefined:
      return 'cancelled'
    case 'result':
      return outcome.isError === true ? 'tool_error' : 'ok'
    case 'error':
      return 'error'
    case 'fault':
      return outcome.fault.code === 'refused' ? 'refused' : 'fault'
    case 'input':
    case 'task':
      return undefined
  }
}
