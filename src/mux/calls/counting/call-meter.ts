import type { Clock } from '../../../kernel/async/clock.js'
import { type JsonText, textMember } from '../../../kernel/json/text.js'
import type { Meter, RefusalReason } from '../../../metering/meter.js'
import type { Histogram } from '../../../metering/series.js'
import { traceIdOf } from '../../../model/call-trace.js'
import { OTHER } from '../../../model/failure.js'
import type { Call, Client, Viewer } from '../../../model/links.js'
import { type Answer, bytesOf, type Outcome } from '../../../model/outcome.js'
import { ROUTES } from '../../routes.js'
import type { OnAsked } from '../../server-requests/server-requests.js'
import { CallHistory } from './call-history.js'
import { Notes } from './notes.js'
import { type CallEnd, known, type RequestEnd, Tally } from './tallies.js'

const METHODS: ReadonlySet<string> = new Set([...ROUTES.keys(), 'initialize', 'server/discover', 'ping'])

const QUESTIONS: ReadonlySet<string> = new Set(['sampling/createMessage', 'elicitation/create', 'roots/list'])

/** Of so many tools of a server the series are kept at hand: it may list others all the time. */
const TOOLS = 10_000

/** How much is kept of a name that a client writes. */
const NAME = 256

/** Why a call waited inside the proxy. */
export type WaitReason = 'start' | 'turn' | 'parked' | 'asked'

export interface CallMeterOptions {
  readonly meter: Meter
  readonly clock: Clock
  /** Whether each tool has a histogram of its own. */
  readonly hasToolHistograms: boolean
  /** Whether a server lists a tool under these names, its own one last. */
  readonly isListed: (viewer: Viewer, exposed: string, server: string, own: string) => boolean
}

/** By methods, and by the server's own names of tools. */
interface Tallies {
  readonly methods: Map<string, Tally>
  readonly tools: Map<string, Tally>
}

const createTallies = (): Tallies => ({ methods: new Map(), tools: new Map() })

/** Counts calls, sessions and questions. Nothing is looked up for a call that is like the last one. */
export class CallMeter {
  readonly #options: CallMeterOptions
  readonly #meter: Meter
  readonly #clock: Clock
  /** By servers; under no name those of calls that no server is asked about. */
  readonly #tallies = new Map<string, Tallies>()
  #last: Tally | undefined
  readonly #overhead: Histogram
  /** The calls themselves, for people who look. */
  readonly history = new CallHistory((end, ms, awayMs) => this.#count(end, ms, awayMs))
  readonly #requests = new Notes<RequestEnd>((end, at) => {
    const { numbers } = this.#requests
    end.durations.observe((numbers[at] ?? 0) / 1000, end.trace)
    end.sent.add(numbers[at + 1])
    end.received.add(numbers[at + 2])
  })
  readonly #waits: Readonly<Record<WaitReason, Histogram>>
  /** When the sessions that are open began. */
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
    meter.beforeReading(() => this.#countAll())
    this.#waits = { start: wait('start'), turn: wait('turn'), parked: wait('parked'), asked: wait('asked') }
  }

  /** What we ourselves added to this share of the requests, at most; undefined before the first one. */
  overheadMs(share: number): number | undefined {
    this.#countAll()
    const seconds = this.#overhead.quantile(share)
    return seconds && seconds * 1000
  }

  /** Counts a call of a client that is over; a function of its own, so that no call needs a closure. */
  readonly over = (outcome: Outcome | undefined, call: Call): void => {
    const nowMs = this.#clock.nowMs()
    const ms = nowMs - (call.beganMs ?? nowMs)
    const end = endOf(this.#tallyOf(call, call.servedBy).calls.of(outcome), call, outcome)
    if (call.number === undefined) this.#count(end, ms, call.awayMs ?? Number.NaN)
    else this.history.over(call, end, ms, nowMs)
    // What is kept of it as an example says when it was.
    if (end.trace !== undefined) this.history.count()
  }

  /** Counts a request to a server that is over, cancelled if it has no outcome; `call` is the client's. */
  served(call: Call, server: string, outcome: Outcome | undefined, ms: number): void {
    call.awayMs = (call.awayMs ?? 0) + ms
    const end = this.#tallyOf(call, server).requests.of(outcome)
    const trace = traceIdOf(call)
    const at = this.#requests.take(trace === undefined ? end : { ...end, trace })
    const { numbers } = this.#requests
    numbers[at] = ms
    numbers[at + 1] = call.params?.length ?? 0
    numbers[at + 2] = outcome === undefined ? 0 : bytesOf(outcome)
    if (trace !== undefined) this.#requests.count()
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

  /** Hears of a client that introduces itself, perhaps again. */
  came(client: Client): void {
    if (client.serverRequests === 'pushed' && !this.#sessions.has(client))
      this.#sessions.set(client, this.#clock.nowMs())
  }

  /** Counts the session of a client that is gone. */
  left(client: Client): void {
    const openedMs = this.#sessions.get(client)
    if (openedMs === undefined) return
    this.#sessions.delete(client)
    const seconds = (this.#clock.nowMs() - openedMs) / 1000
    const name = protocolOf(client.via)
    this.#meter.histogram('mcp_server_session_duration_seconds', client.revision, name).observe(seconds)
  }

  /** Counts each question of a server once it is over. */
  readonly asked: OnAsked = ({ method }) => {
    const about = QUESTIONS.has(method) ? method : OTHER
    return answer => this.#meter.counter('mcp_proxy_questions', about, answerWord(answer)).add()
  }

  #count({ durations, trace, calls, seconds }: CallEnd, ms: number, awayMs: number): void {
    durations.observe(ms / 1000, trace)
    calls?.add()
    seconds?.add(ms / 1000)
    if (awayMs >= 0) this.#overhead.observe(Math.max(0, ms - awayMs) / 1000)
  }

  #countAll(): void {
    this.#requests.count()
    this.history.count()
  }

  #tallyOf(call: Call, server: string | undefined): Tally {
    const { epoch } = this.#meter
    if (epoch !== this.#epoch) {
      this.#epoch = epoch
      this.#last = undefined
      this.#tallies.clear()
    }
    const { method } = call
    const tool = method === 'tools/call' ? call.ownName : undefined
    const last = this.#last
    if (last !== undefined && last.server === server && last.method === method && last.tool === tool)
      return last
    this.#last = this.#find(call, server, tool)
    return this.#last
  }

  #find(call: Call, server: string | undefined, tool: string | undefined): Tally {
    const { methods, tools } = known(this.#tallies, server ?? '', createTallies)
    const { method } = call
    const label = METHODS.has(method) ? method : OTHER
    const { hasToolHistograms: hasHistogram } = this.#options
    const make = (counted: string | undefined) => () =>
      new Tally({ meter: this.#meter, server, method, label, tool: counted, hasHistogram })
    if (server === undefined || tool === undefined) return known(methods, label, make(undefined))
    // Only what its server lists has a tally of its own: clients may write any name.
    const isKept = tools.has(tool) || (tools.size < TOOLS && this.#isListed(call, server, tool))
    const name = isKept ? tool : OTHER
    return known(tools, name, make(name))
  }

  #isListed(call: Call, server: string, own: string): boolean {
    const exposed = call.named ?? nameIn(call.params)
    return exposed !== undefined && this.#options.isListed(call, exposed, server, own)
  }
}

const nameIn = (params: JsonText | undefined): string | undefined => params && textMember(params, 'name')

const answerWord = (answer: Answer | undefined): string => answer?.kind ?? 'withdrawn'

/** `network.protocol.name` of a way in or out; none for pipes. */
const protocolOf = (via: Client['via']): string =>
  via === 'http' || via === 'sse' ? 'http' : via === 'websocket' ? via : ''

/** How one call ended, where there is more to tell of it than of others. */
const endOf = (end: CallEnd, call: Call, outcome: Outcome | undefined): CallEnd => {
  const { method, ownName: name } = call
  const errorId = outcome?.kind === 'fault' ? outcome.errorId : undefined
  const trace = traceIdOf(call)
  const isUsual = errorId === undefined && trace === undefined && name === end.name && method === end.method
  return isUsual ? end : { ...end, method: cut(method), name: name && cut(name), errorId, trace }
}

const cut = (text: string): string => (text.length > NAME ? text.slice(0, NAME) : text)
