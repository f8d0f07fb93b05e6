import type { Clock } from '../../kernel/async/clock.js'
import { type JsonText, textMember } from '../../kernel/json/text.js'
import type { Meter, RefusalReason } from '../../kernel/meter.js'
import type { Counter, Histogram } from '../../kernel/series.js'
import { traceIdOf } from '../../model/call-trace.js'
import { failureOf, isFine, OTHER } from '../../model/failure.js'
import type { Call, Client, ClientHandler, Viewer } from '../../model/links.js'
import { type Answer, bytesOf, type Outcome } from '../../model/outcome.js'
import { ROUTES } from '../routes.js'
import type { OnAsked } from '../server-requests/server-requests.js'
import { CallHistory } from './call-history.js'
import { inFrontOf } from './in-front.js'

const METHODS: ReadonlySet<string> = new Set([...ROUTES.keys(), 'initialize', 'server/discover', 'ping'])

const QUESTIONS: ReadonlySet<string> = new Set(['sampling/createMessage', 'elicitation/create', 'roots/list'])

/** Of so many tools of a server the series are kept at hand: it may list others all the time. */
const TOOLS = 10_000

/** Why a call waited inside the proxy. */
export type WaitReason = 'start' | 'turn' | 'parked' | 'asked'

/** How a call of a tool ended. */
export type ToolOutcome = 'ok' | 'tool_error' | 'error' | 'fault' | 'cancelled'

export interface CallMeterOptions {
  readonly meter: Meter
  readonly clock: Clock
  /** Whether each tool has a histogram of its own. */
  readonly hasToolHistograms: boolean
  /** Whether a server lists a tool under these names, its own one last. */
  readonly isListed: (viewer: Viewer, exposed: string, server: string, own: string) => boolean
}

/** The series of one method, by how its requests ended; made as they are needed. */
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

interface ServerSeries {
  readonly operations: Map<string, Operations>
  readonly tools: Map<string, Partial<Record<ToolOutcome, ToolSeries>>>
  readonly sent: Counter
  readonly received: Counter
}

/** Counts calls, sessions and questions. A call costs a few additions and look-ups in small tables. */
export class CallMeter {
  readonly #options: CallMeterOptions
  readonly #meter: Meter
  readonly #clock: Clock
  readonly #methods = new Map<string, Operations>()
  readonly #servers = new Map<string, ServerSeries>()
  readonly #overhead: Histogram
  /** The calls themselves, for people who look. */
  readonly history = new CallHistory()
  readonly #waits: Readonly<Record<WaitReason, Histogram>>
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

  /** What we ourselves added to this share of the requests, at most; undefined before the first one. */
  overheadMs(share: number): number | undefined {
    const seconds = this.#overhead.quantile(share)
    return seconds && seconds * 1000
  }

  began(call: Call): void {
    call.beganMs = this.#clock.nowMs()
  }

  /** Counts a call of a client that is over; a function of its own, so that no call needs a closure. */
  readonly over = (outcome: Outcome | undefined, call: Call): void => {
    const nowMs = this.#clock.nowMs()
    const ms = nowMs - (call.beganMs ?? nowMs)
    if (call.number !== undefined) this.history.over(call, outcome, ms, nowMs)
    this.#operationsOf(call.method)
      .of(outcome)
      .observe(ms / 1000, traceIdOf(call))
    if (call.awayMs !== undefined) this.#overhead.observe(Math.max(0, ms - call.awayMs) / 1000)
    const { servedBy, ownName } = call
    if (call.method !== 'tools/call' || servedBy === undefined || ownName === undefined) return
    const how = toolOutcome(outcome)
    if (how === undefined) return
    const series = this.#toolOf(call, servedBy, ownName, how)
    series.calls.add()
    series.seconds.add(ms / 1000)
  }

  /** Counts a request to a server that is over, cancelled if it has no outcome; `call` is the client's. */
  served(call: Call, server: string, outcome: Outcome | undefined, ms: number): void {
    call.awayMs = (call.awayMs ?? 0) + ms
    const series = this.#serverOf(server)
    this.#requestsOf(series, server, call)
      .of(outcome)
      .observe(ms / 1000, traceIdOf(call))
    series.sent.add(call.params?.length ?? 0)
    if (outcome !== undefined) series.received.add(bytesOf(outcome))
  }

  /** Counts a wait of a call that is not a server's time. */
  held(call: Call, reason: 'start' | 'turn', ms: number): void {
    call.awayMs = (call.awayMs ?? 0) + ms
    this.waited(reason, ms)
  }

  readonly refused = (reason: RefusalReason): void => {
    this.#meter.counter('mcp_proxy_refused', reason).add()
  }

  /** Counts a call that is sent a second time, because its server did not run it. */
  resent(server: string): void {
    this.#meter.counter('mcp_proxy_repairs', server, 'resend').add()
  }

  waited(reason: WaitReason, ms: number): void {
    this.#waits[reason].observe(ms / 1000)
  }

  /** Wraps a handler, to count sessions. */
  wrap(behind: ClientHandler): ClientHandler {
    const sessions = new Map<Client, number>()
    return inFrontOf(behind, {
      welcome: client => {
        if (client.serverRequests === 'pushed' && !sessions.has(client))
          sessions.set(client, this.#clock.nowMs())
        return behind.welcome(client)
      },
      left: client => {
        const openedMs = sessions.get(client)
        sessions.delete(client)
        if (openedMs !== undefined) {
          const seconds = (this.#clock.nowMs() - openedMs) / 1000
          const name = protocolOf(client.via)
          this.#meter.histogram('mcp_server_session_duration_seconds', client.revision, name).observe(seconds)
        }
        behind.left(client)
      },
    })
  }

  /** Counts each question of a server once it is over. */
  readonly asked: OnAsked = ({ method }) => {
    const about = QUESTIONS.has(method) ? method : OTHER
    return answer => this.#meter.counter('mcp_proxy_questions', about, answerWord(answer)).add()
  }

  #operationsOf(method: string): Operations {
    this.#refresh()
    const known = this.#methods.get(method)
    if (known !== undefined) return known
    const name = METHODS.has(method) ? method : OTHER
    const family = 'mcp_server_operation_duration_seconds'
    const made =
      this.#methods.get(name) ??
      new Operations('server', (type, code) => this.#meter.histogram(family, name, type, code))
    this.#methods.set(name, made)
    return made
  }

  #requestsOf({ operations }: ServerSeries, server: string, call: Call): Operations {
    const { method } = call
    const tool = this.#options.hasToolHistograms && method === 'tools/call' ? this.#toolName(call) : ''
    const key = tool === '' ? method : `${method} ${tool}`
    let known = operations.get(key)
    if (known === undefined) {
      const name = METHODS.has(method) ? method : OTHER
      const family = 'mcp_client_operation_duration_seconds'
      const make = (type: string, code: string) =>
        this.#meter.histogram(family, server, name, type, code, tool)
      known = new Operations('client', make)
      operations.set(key, known)
    }
    return known
  }

  #toolName(call: Call): string {
    const { servedBy = '', ownName = '' } = call
    return this.#isListed(call, servedBy, ownName) ? ownName : OTHER
  }

  #serverOf(server: string): ServerSeries {
    this.#refresh()
    let known = this.#servers.get(server)
    if (known === undefined) {
      known = {
        operations: new Map(),
        tools: new Map(),
        sent: this.#meter.counter('mcp_proxy_bytes', server, 'sent'),
        received: this.#meter.counter('mcp_proxy_bytes', server, 'received'),
      }
      this.#servers.set(server, known)
    }
    return known
  }

  /** Only what its server lists gets a series of its own: clients may write any name. */
  #toolOf(call: Call, server: string, own: string, outcome: ToolOutcome): ToolSeries {
    const { tools } = this.#serverOf(server)
    const known = tools.get(own)?.[outcome]
    if (known !== undefined) return known
    const isKept = tools.has(own) || (tools.size < TOOLS && this.#isListed(call, server, own))
    const name = isKept ? own : OTHER
    const outcomes = tools.get(name) ?? {}
    tools.set(name, outcomes)
    outcomes[outcome] ??= {
      calls: this.#meter.counter('mcp_proxy_tool_calls', server, name, outcome),
      seconds: this.#meter.counter('mcp_proxy_tool_call_seconds', server, name, outcome),
    }
    return outcomes[outcome]
  }

  #isListed(call: Call, server: string, own: string): boolean {
    const exposed = call.named ?? nameIn(call.params)
    return exposed !== undefined && this.#options.isListed(call, exposed, server, own)
  }

  #refresh(): void {
    const { epoch } = this.#meter
    if (epoch === this.#epoch) return
    this.#epoch = epoch
    this.#methods.clear()
    this.#servers.clear()
  }
}

const nameIn = (params: JsonText | undefined): string | undefined => params && textMember(params, 'name')

/** A round of questions is no end of the call: it goes on. */
const toolOutcome = (outcome: Outcome | undefined): ToolOutcome | undefined => {
  switch (outcome?.kind) {
    case undefined:
      return 'cancelled'
    case 'result':
      return outcome.isError === true ? 'tool_error' : 'ok'
    case 'error':
    case 'fault':
      return outcome.kind
    case 'input':
    case 'task':
      return undefined
  }
}

const answerWord = (answer: Answer | undefined): string => answer?.kind ?? 'withdrawn'

/** `network.protocol.name` of a way in or out; none for pipes. */
const protocolOf = (via: Client['via']): string =>
  via === 'http' || via === 'sse' ? 'http' : via === 'websocket' ? via : ''
