import { Fault } from '../../../src/kernel/faults.js'
import type { Downlink, DownlinkListener } from '../../../src/model/links.js'
import type { Greeting } from '../../../src/peers/dial.js'
import type { Channel } from '../../../src/wire/channel.js'
import { codecOf, type ServerAnswer } from '../era/codec.js'
import { HopWatch } from '../era/revision-watch.js'
import type { FakeClock } from '../fake-clock.js'
import { isObject, type Json, Mismatch } from '../match.js'
import { openServer } from '../proxy/links.js'
import { FarEnd, rpc } from '../wire/channel-pair.js'
import { type FakeExchange, FakeHttp } from '../wire/fake-http.js'

/** The lists and properties of a vector's server. */
export interface ServerPlan {
  readonly alias: string
  readonly revision: string
  readonly isModern: boolean
  readonly capabilities: Json
  /** Complete list results, by method. */
  readonly lists: Readonly<Record<string, Json>>
  /** HTTP address; undefined for a pipe. */
  readonly url: string | undefined
  /** True if it accepts GET requests, which the vector then shows. */
  readonly takesGet: boolean
  /** Id of its HTTP session. */
  readonly sessionId: string
  /** True if its address is closed. */
  readonly isDown: boolean
  /** True if it ignores the probe of its revision. */
  readonly ignoresProbe: boolean
}

/** A message from the proxy to a server. */
export interface Received {
  readonly message: Json
  readonly exchange: FakeExchange | undefined
}

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'

/** A server driven by a vector: it handles messages outside the vector itself and queues the others. */
export class ScriptedServer {
  readonly plan: ServerPlan
  /** Methods of the vector, which the server does not answer by itself. */
  scripted: ReadonlySet<string> = new Set()
  readonly watch = new HopWatch()
  readonly #clock: FakeClock
  readonly #http = new FakeHttp()
  readonly #got: Received[] = []
  #pipe: FarEnd | undefined
  #exchange: FakeExchange | undefined
  /** Listen requests outside the vector; their ends are not shown either. */
  readonly #listens: unknown[] = []
  #added = 0

  constructor(plan: ServerPlan, clock: FakeClock) {
    this.plan = plan
    this.#clock = clock
    this.#http.onRequest = exchange => this.#hear(exchange)
  }

  async dial(greeting: Greeting, listener: DownlinkListener, signal: AbortSignal): Promise<Downlink> {
    const { isDown, alias, url } = this.plan
    if (isDown) throw new Fault('unavailable', 'connection refused')
    const way = url === undefined ? { pipe: () => this.#newPipe() } : { http: this.#http, url }
    return openServer(alias, way, this.#clock, greeting, listener, signal)
  }

  /** Takes the next queued message. */
  take(): Received {
    const received = this.#got.shift()
    if (received === undefined) throw new Mismatch(`server ${this.plan.alias} got nothing`)
    const isAnswered = received.message['id'] !== undefined || received.exchange?.method === 'GET'
    if (isAnswered) this.#exchange = received.exchange
    return received
  }

  /** Returns messages that no step has taken. */
  get waiting(): readonly Received[] {
    return this.#got
  }

  /** Returns the id of the newest listen request outside the vector. */
  get ownListen(): unknown {
    return this.#listens.at(-1)
  }

  /** Sends a message; over HTTP, as the answer to the last taken request. */
  say(message: Json): void {
    const { http, event, body } = message
    if (message['method'] === 'notifications/tools/list_changed') this.#added += 1
    if (this.plan.url === undefined) this.#sayOnPipe(message)
    else if (event !== undefined) this.#startSse(message)
    else if (typeof http === 'number') this.#reply(http, body)
    else this.#exchange?.json(message)
  }

  #newPipe(): Channel {
    const pipe = new FarEnd()
    this.#pipe = pipe
    pipe.onMessage = message => {
      const heard = message as unknown as Json
      this.watch.proxySays(heard)
      if (this.#isEndOfOwnListen(heard)) return
      const own = this.#byItself(heard)
      if (own === undefined) this.#got.push({ message: heard, exchange: undefined })
      else if (own !== 'nothing' && heard['id'] !== undefined)
        this.#sayOnPipe({ id: heard['id'], ...own }, pipe)
      this.#acknowledge(heard, own, said => this.#sayOnPipe(said, pipe))
    }
    return pipe.channel
  }

  #sayOnPipe(message: Json, pipe = this.#pipe): void {
    this.watch.peerSays(message)
    pipe?.say(message)
  }

  #reply(status: number, body: unknown): void {
    const type = body === undefined ? undefined : { 'content-type': 'application/json' }
    if (isObject(body)) this.watch.peerSays(body)
    this.#exchange?.reply(status, type, isObject(body) ? rpc(body) : '')
  }

  #startSse({ event, data }: Json): void {
    this.#exchange?.sse()
    this.#exchange?.raw(`event: ${event}\ndata: ${data}\n\n`)
  }

  /** Returns the answer to a message outside the vector; undefined for messages of the vector. */
  #byItself(message: Json): ServerAnswer | undefined {
    const method = message['method'] as string | undefined
    if (method === undefined || this.scripted.has(method)) return undefined
    if (method === 'server/discover' && this.plan.ignoresProbe && !this.watch.hasSeen('initialize'))
      return 'nothing'
    return codecOf(this.plan.revision).answer(method, this.plan) ?? this.#list(method)
  }

  /** Returns a list, which changes after each list-changed notification of the server. */
  #list(method: string): ServerAnswer | undefined {
    const list = this.plan.lists[method]
    if (list === undefined) return undefined
    if (method !== 'tools/list' || this.#added === 0) return { result: list }
    const more = { name: `more-${this.#added}`, inputSchema: { type: 'object' } }
    return { result: { ...list, tools: [...(list['tools'] as Json[]), more] } }
  }

  /** Acknowledges a listen request outside the vector. */
  #acknowledge(heard: Json, own: ServerAnswer | undefined, say: (message: Json) => void): void {
    if (heard['method'] !== 'subscriptions/listen' || own !== 'nothing') return
    const { id, params } = heard
    this.#listens.push(id)
    const { notifications } = params as Json
    const _meta = { [SUBSCRIPTION]: id }
    say({ method: 'notifications/subscriptions/acknowledged', params: { notifications, _meta } })
  }

  #isEndOfOwnListen({ method, params }: Json): boolean {
    const about = (params as Json | undefined)?.['requestId']
    return method === 'notifications/cancelled' && this.#listens.includes(about)
  }

  #hear(exchange: FakeExchange): boolean {
    const { takesGet, sessionId } = this.plan
    if (exchange.method !== 'POST') {
      if (takesGet) this.#got.push({ message: {}, exchange })
      else exchange.reply(405)
      return true
    }
    const message = exchange.message as unknown as Json
    this.watch.proxySays(message)
    const own = this.#byItself(message)
    if (message['id'] === undefined) exchange.reply(202)
    if (own === undefined) this.#got.push({ message, exchange })
    else if (message['id'] === undefined) return true
    else if (own !== 'nothing') {
      const isGreeting = message['method'] === 'initialize'
      this.watch.peerSays({ id: message['id'], ...own })
      exchange.json(own, isGreeting ? { 'mcp-session-id': sessionId } : {})
    } else if (message['method'] === 'subscriptions/listen') {
      exchange.sse()
      this.#acknowledge(message, own, said => exchange.event(said))
    }
    return true
  }
}
