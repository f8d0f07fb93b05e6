import { randomBytes } from 'node:crypto'
import { Cluster } from '../../src/cluster/cluster.js'
import type { ClusterStore } from '../../src/cluster/engine/store.js'
import { createHttpListener, type HttpListener } from '../../src/eras/listen/http-listener.js'
import { type Caller, LOCAL } from '../../src/kernel/caller.js'
import { Fault } from '../../src/kernel/faults.js'
import { textOf } from '../../src/kernel/json/text.js'
import type { Limits } from '../../src/kernel/limits.js'
import { type Logger, silentLogger } from '../../src/kernel/logger.js'
import type { HttpClient, HttpRequest, OutboundRequest, ReplyListener } from '../../src/wire/http.js'
import { FakeClock, settled } from './fake-clock.js'
import { FakeHandler } from './proxy/listeners.js'
import { SharedMemory } from './shared-memory.js'
import { boundsOf, IDENTITY } from './values.js'
import { FakeResponder, httpRequest } from './wire/fake-http.js'
import { LinkExchange } from './wire/link-exchange.js'

export const LEASE_MS = 6000
const STEP_MS = 250
const JSON_POST = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
const HELLO = {
  protocolVersion: '2025-11-25',
  capabilities: { elicitation: {}, roots: {} },
  clientInfo: { name: 'c', version: '1' },
}

/** One replica of a room, with `handler` as its service. */
export interface Replica {
  readonly id: string
  readonly address: string
  readonly cluster: Cluster
  readonly listener: HttpListener
  readonly handler: FakeHandler
  /** Disconnects it from the engine only. */
  isCutOff: boolean
  /** Makes it receive messages without answering. */
  isSilent: boolean
  send(method: string, headers: Record<string, string>, body?: object): FakeResponder
  greet(): FakeResponder
  /** Begins a session and resolves with its id. */
  begin(): Promise<string>
  /** Sends a request within a session. */
  ask(session: string, id: number | string, asked?: Asked): FakeResponder
  listen(session: string, lastEventId?: string): FakeResponder
}

interface Asked {
  readonly method?: string
  readonly caller?: Caller
}

interface RoomOptions {
  readonly keys?: readonly string[]
  readonly address?: string
  /** Version of its link protocol. */
  readonly speaks?: number
  /** Digest of its configuration. */
  readonly digest?: string
  readonly log?: Logger
  readonly wrap?: (store: ClusterStore) => ClusterStore
}

/** Several replicas in this process with one fake clock; the test controls all connections between them. */
export class ReplicaRoom {
  readonly clock = new FakeClock()
  readonly memory = new SharedMemory(this.clock)
  readonly keys = [randomBytes(32).toString('base64')]
  readonly replicas: Replica[] = []
  /** Replicas that cannot reach each other, as `FROM TO`. */
  readonly cuts = new Set<string>()
  /** Number of event loop turns per exchange between replicas. */
  turnsOfLink: () => number = () => 0
  readonly #exchanges = new Set<LinkExchange>()
  readonly #limits: Partial<Limits>
  #last = 0

  constructor(limits: Partial<Limits> = {}) {
    this.#limits = limits
  }

  async start(options: RoomOptions = {}): Promise<Replica> {
    const { keys = this.keys, address, wrap = store => store, digest = '' } = options
    const { log = silentLogger, speaks } = options
    const { clock } = this
    this.#last += 1
    const id = this.#last.toString(16).padStart(16, '0')
    const at = address ?? `127.0.0.1:${this.#last}`
    const way = { isCutOff: false, isSilent: false }
    const bounds = boundsOf(this.#limits, clock)
    const cluster = new Cluster({
      ...{ id, address: at, keys, bounds, clock, scheme: 'http', version: '1', log, speaks },
      digest: () => digest,
      engine: wrap(cutable(this.memory.store(), way)),
      leaseMs: LEASE_MS,
      http: this.#linkOf(at),
      waitsIn: state => /^waits in (.*)$/.exec(state)?.[1],
    })
    const handler = new FakeHandler()
    handler.onCall = call => {
      if (call.method === 'tools/list') call.end({ kind: 'result', result: textOf({ tools: [] }) })
    }
    const { relay, directory } = cluster
    const listener = createHttpListener({
      ...{ handler, clock, identity: IDENTITY, log: silentLogger, bounds, relay, directory },
    })
    const replica: Replica = Object.assign(way, {
      ...{ id, address: at, cluster, listener, handler },
      ...clientsOf(listener),
    })
    this.replicas.push(replica)
    const joined = cluster.join()
    await this.pass(0)
    if (!this.memory.isUp) await this.pass(2500)
    await joined
    return replica
  }

  /** Starts three replicas that know each other. */
  async three(): Promise<readonly [Replica, Replica, Replica]> {
    const all = [await this.start(), await this.start(), await this.start()] as const
    await this.pass(LEASE_MS / 3)
    return all
  }

  /** Advances the time and runs all resulting work. */
  async pass(ms: number): Promise<void> {
    await settled()
    for (let leftMs = ms; leftMs > 0; leftMs -= STEP_MS) {
      this.clock.advance(Math.min(STEP_MS, leftMs))
      await settled()
    }
  }

  /** Simulates kill -9: its exchanges break and its address stops answering. */
  async kill(replica: Replica): Promise<void> {
    this.replicas.splice(this.replicas.indexOf(replica), 1)
    replica.isCutOff = true
    this.reset(replica)
    await settled()
  }

  /** Breaks all exchanges in flight between it and others. */
  reset(replica: Replica): void {
    for (const exchange of [...this.#exchanges]) {
      if (exchange.to === replica.address) exchange.break()
      if (exchange.from === replica.address) exchange.abort()
    }
  }

  #linkOf(from: string): HttpClient {
    return {
      send: (request, listener) => this.#send(from, request, listener),
      close: () => Promise.resolve(),
    }
  }

  #send(from: string, request: OutboundRequest, listener: ReplyListener): LinkExchange {
    const url = new URL(request.url)
    const exchange = new LinkExchange(from, url.host, listener)
    this.#exchanges.add(exchange)
    exchange.whenOver(() => this.#exchanges.delete(exchange))
    const arrive = (): void => {
      const to = this.replicas.find(({ address }) => address === url.host)
      const isFromDead = this.replicas.every(({ address }) => address !== from)
      if (to === undefined || isFromDead || this.cuts.has(`${from} ${url.host}`)) {
        exchange.break(new Fault('unavailable', 'refused'))
        return
      }
      if (to.isSilent) return
      const { method, headers, body = Buffer.alloc(0) } = request
      const caller = to.cluster.admit({ method, target: url.pathname + url.search, headers })
      if (typeof caller === 'number') exchange.responder.send(caller, {})
      else {
        const seen: HttpRequest = {
          ...{ method, path: url.pathname, query: url.searchParams, headers, body, caller },
          ...{ remoteAddress: '127.0.0.1', remotePort: 1 },
        }
        to.cluster.serve(() => faceOf(to.listener))(seen, exchange.responder)
      }
    }
    void (async () => {
      await Promise.resolve()
      for (let left = this.turnsOfLink(); left > 0; left -= 1)
        await new Promise(resolve => setImmediate(resolve))
      arrive()
    })()
    return exchange
  }
}

const faceOf = (listener: HttpListener) => ({
  serve: listener.relayed,
  has: (id: string) => listener.has(id),
  sessionOf: ({ headers }: HttpRequest) => headers['mcp-session-id'],
})

/** Wraps a store that is unreachable while its replica is cut off. */
const cutable = (store: ClusterStore, way: { readonly isCutOff: boolean }): ClusterStore => {
  const cut =
    <A extends readonly unknown[], R>(work: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      way.isCutOff ? Promise.reject(new Fault('unavailable', 'cut off')) : work(...args)
  return {
    get isUp() {
      return store.isUp && !way.isCutOff
    },
    beat: cut(store.beat),
    leave: cut(store.leave),
    write: cut(store.write),
    read: cut(store.read),
    claim: cut(store.claim),
    remove: cut(store.remove),
    take: cut(store.take),
    release: cut(store.release),
    note: cut(store.note),
    noted: cut(store.noted),
    news: cut(store.news),
    count: cut(store.count),
    charge: cut(store.charge),
    close: () => store.close(),
  }
}

const clientsOf = (listener: HttpListener) => {
  const send = (
    method: string,
    headers: Record<string, string>,
    body?: object,
    caller: Caller = LOCAL,
  ): FakeResponder => {
    const responder = new FakeResponder()
    listener.handle({ ...httpRequest(method, headers, body), caller }, responder)
    return responder
  }
  const greet = (): FakeResponder => send('POST', JSON_POST, { id: 0, method: 'initialize', params: HELLO })
  return {
    send,
    greet,
    async begin() {
      const greeting = greet()
      await settled()
      return greeting.headers['mcp-session-id'] ?? ''
    },
    ask: (session: string, id: number | string, { method = 'tools/list', caller }: Asked = {}) =>
      send(
        'POST',
        { ...JSON_POST, 'mcp-session-id': session },
        { id, method, params: { name: 't' } },
        caller,
      ),
    listen: (session: string, last?: string) =>
      send('GET', {
        accept: 'text/event-stream',
        'mcp-session-id': session,
        ...(last !== undefined && { 'last-event-id': last }),
      }),
  }
}
