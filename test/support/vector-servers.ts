import { openLegacyHttp, openLegacyPipe } from '../../src/eras/legacy/open.js'
import { Fault } from '../../src/kernel/faults.js'
import { textOf } from '../../src/kernel/json-text.js'
import { silentLogger } from '../../src/kernel/logger.js'
import type { Downlink, DownlinkListener } from '../../src/model/links.js'
import type { Greeting } from '../../src/peers/dial.js'
import { FarEnd } from './channel-pair.js'
import type { FakeClock } from './fake-clock.js'
import { type FakeExchange, FakeHttp } from './fake-http.js'
import { Mismatch } from './vector-match.js'
import type { Json } from './vectors.js'

/** What a server of a vector has and does of its own accord. */
export interface ServerPlan {
  readonly alias: string
  readonly revision: string
  readonly capabilities: Json
  /** Its lists by method: the whole result of each. */
  readonly lists: Readonly<Record<string, Json>>
  readonly isHttp: boolean
  /** The id of its HTTP session. */
  readonly sessionId: string
  /** Nothing answers at its address. */
  readonly isDown: boolean
}

/** A message that the proxy sent to a server. */
export interface Received {
  readonly message: Json
  readonly exchange: FakeExchange | undefined
}

/** A server that a vector scripts: what the vector leaves out it does by itself, the rest waits for the vector. */
export class VectorServer {
  readonly plan: ServerPlan
  /** Methods that the vector speaks of; they are left to it. */
  scripted: ReadonlySet<string> = new Set()
  readonly #clock: FakeClock
  readonly #http = new FakeHttp()
  readonly #got: Received[] = []
  #pipe: FarEnd | undefined
  #exchange: FakeExchange | undefined

  constructor(plan: ServerPlan, clock: FakeClock) {
    this.plan = plan
    this.#clock = clock
    this.#http.onRequest = exchange => this.#take(exchange)
  }

  async dial(greeting: Greeting, listener: DownlinkListener, signal: AbortSignal): Promise<Downlink> {
    if (this.plan.isDown) throw new Fault('unavailable', 'connection refused')
    const options = {
      server: this.plan.alias,
      listener,
      signal,
      capabilities: greeting.capabilities,
      clientInfo: greeting.clientInfo ?? textOf({ name: 'proxy', version: '1' }),
      timeoutMs: 60_000,
      pingMs: Number.POSITIVE_INFINITY,
      clock: this.#clock,
      log: silentLogger,
    }
    if (this.plan.isHttp) return openLegacyHttp(this.#http, { url: 'http://s/mcp', headers: {} }, options)
    const pipe = new FarEnd()
    this.#pipe = pipe
    pipe.onMessage = message => {
      const heard = message as unknown as Json
      const result = this.#byItself(heard)
      if (result === undefined) this.#got.push({ message: heard, exchange: undefined })
      else if (heard['id'] !== undefined) pipe.say({ id: heard['id'], result })
    }
    return openLegacyPipe(pipe.channel, options)
  }

  /** The next message that waits for the vector. */
  take(): Received {
    const received = this.#got.shift()
    if (received === undefined) throw new Mismatch(`server ${this.plan.alias} got nothing`)
    this.#exchange = received.exchange
    return received
  }

  /** Messages that no step has taken. */
  get waiting(): readonly Received[] {
    return this.#got
  }

  /** Says a message; over HTTP, as the answer to the request that was taken last. */
  say(message: Json): void {
    if (!this.plan.isHttp) this.#pipe?.say(message)
    else if (typeof message['http'] === 'number') this.#exchange?.reply(message['http'])
    else this.#exchange?.json(message)
  }

  /** The answer to what the vector does not speak of; `{}` also for notifications that need none. */
  #byItself(message: Json): Json | undefined {
    const method = message['method'] as string | undefined
    if (method === undefined || this.scripted.has(method)) return undefined
    const { revision, capabilities, alias, lists } = this.plan
    switch (method) {
      case 'initialize':
        return { protocolVersion: revision, capabilities, serverInfo: { name: alias, version: '1' } }
      case 'notifications/initialized':
      case 'logging/setLevel':
        return {}
      default:
        return lists[method]
    }
  }

  #take(exchange: FakeExchange): boolean {
    if (exchange.method !== 'POST') {
      exchange.reply(405)
      return true
    }
    const message = exchange.message as unknown as Json
    const result = this.#byItself(message)
    if (result === undefined) this.#got.push({ message, exchange })
    else if (message['id'] === undefined) exchange.reply(202)
    else {
      const isGreeting = message['method'] === 'initialize'
      exchange.json({ result }, isGreeting ? { 'mcp-session-id': this.plan.sessionId } : {})
    }
    return true
  }
}
