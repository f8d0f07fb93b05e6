import type { ServerConfig, StdioTransport } from '../config/types.js'
import {
  EraCache,
  openLegacySse,
  openServerHttp,
  openServerPipe,
  type ServerLinkOptions,
} from '../eras/index.js'
import type { Clock } from '../kernel/async/clock.js'
import { within } from '../kernel/async/deadline.js'
import { Semaphore } from '../kernel/async/semaphore.js'
import { Fault } from '../kernel/faults.js'
import { textOf } from '../kernel/json/text.js'
import type { LimitCounters } from '../kernel/limit-counters.js'
import type { Logger } from '../kernel/logger.js'
import type { Downlink } from '../model/links.js'
import { isLegacyRevision, type LegacyRevision, NEWEST_LEGACY } from '../model/revision.js'
import type { Dial } from '../peers/dial.js'
import type { ServerOptions } from '../peers/options.js'
import { childEnv } from '../transport/process/child-env.js'
import { type ChildChannel, spawnChild } from '../transport/stdio/child.js'
import { lastLines } from '../transport/stdio/stderr-lines.js'
import type { Channel } from '../wire/channel.js'
import type { HttpClient } from '../wire/http.js'
import { IDENTITY } from './identity.js'
import { lateModule } from './late-module.js'
import type { Children } from './processes/children.js'

/** A program that takes longer to start waits for something else than the machine, and must not keep the others from starting. */
const STARTING_MS = 10_000

/** To reach a server that runs elsewhere; its handshake has the server's own limit. */
const CONNECT_MS = 10_000

/** For the last children: longer than the ladder by which each is ended takes. */
const GONE_MS = 6000

/** A server that is silent for so long, and owes nothing, is asked for a sign of life. */
const PING_MS = 30_000

/** Opens connections to configured servers, and owns what all of them share. */
export interface Dialer {
  readonly dial: Dial
  close(): Promise<void>
}

/** What a dialer needs. */
export interface DialerContext {
  readonly clock: Clock
  readonly log: Logger
  readonly children: Children
  readonly bounds: LimitCounters
  /** Ends a process that nobody needs at the moment; false if there is none. */
  readonly makeRoom: () => Promise<boolean>
}

/** Starts or reaches servers by their configuration, which is looked up each time; one HTTP client serves them all. */
export const createDialer = (
  configOf: (server: ServerOptions) => ServerConfig | undefined,
  around: DialerContext,
): Dialer => {
  const notes = new WeakMap<ServerOptions, ServerMemory>()
  const shared = new Shared(around)
  const identity = textOf(IDENTITY)
  return {
    dial: (owner, greeting, listener, signal) => {
      const server = configOf(owner)
      if (server === undefined) return Promise.reject(new Fault('unavailable', 'it is not configured'))
      const { name } = server
      const { eraCache, nextId } = notes.get(owner) ?? {
        eraCache: new EraCache(around.clock),
        nextId: counter(),
      }
      notes.set(owner, { eraCache, nextId })
      const options = {
        owner,
        server: name,
        listener,
        signal,
        capabilities: greeting.capabilities,
        clientInfo: greeting.clientInfo ?? identity,
        identity,
        era: server.era,
        serverRequests: greeting.serverRequests,
        offer: offerOf(server),
        probeMs: server.timeouts.probeMs,
        eraCache,
        nextId,
        timeoutMs: server.timeouts.connectMs,
        initializeMs: server.timeouts.initializeMs,
        pingMs: PING_MS,
        bounds: around.bounds.narrowed(server.limits, { server: name }),
        clock: around.clock,
        log: around.log.child({ server: name }),
      }
      return open(server, shared, options)
    },
    close: () => shared.close(),
  }
}

/** What is remembered of a server from one connection to the next. */
interface ServerMemory {
  readonly eraCache: EraCache
  readonly nextId: () => number
}

/** How one connection is opened, and of whom. */
interface DialOptions extends ServerLinkOptions {
  readonly owner: ServerOptions
}

/** Counts from 1. */
const counter = (): (() => number) => {
  let last = 0
  return () => {
    last += 1
    return last
  }
}

/** What `initialize` offers. */
const offerOf = ({ protocolVersion }: ServerConfig): LegacyRevision =>
  protocolVersion !== undefined && isLegacyRevision(protocolVersion) ? protocolVersion : NEWEST_LEGACY

const open = async (server: ServerConfig, shared: Shared, options: DialOptions): Promise<Downlink> => {
  const { transport } = server
  const connectTimeoutMs = Math.min(CONNECT_MS, options.timeoutMs)
  switch (transport.kind) {
    case 'stdio':
      return openChild(transport, shared, options)
    case 'http':
      return openServerHttp(await shared.http(), transport, { ...options, hasSse: false })
    case 'sse':
      return openLegacySse(await shared.http(), transport, options)
    case 'auto':
      return openServerHttp(await shared.http(), transport, { ...options, hasSse: true })
    case 'ws': {
      const { connectWs } = await wsClient()
      return openServerPipe(() => connectWs({ ...transport, ...options, connectTimeoutMs }), options)
    }
    case 'socket': {
      const { connectSocket } = await socketClient()
      return openServerPipe(() => connectSocket({ ...transport, ...options, connectTimeoutMs }), options)
    }
  }
}

/** Starts a program when it is its turn. */
const openChild = async (
  { command, args, cwd, env, unsetEnv }: StdioTransport,
  { children, makeRoom, starting }: Shared,
  options: DialOptions,
): Promise<Downlink> => {
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !unsetEnv.includes(name)),
  )
  const { bounds, log, clock } = options
  let child: ChildChannel | undefined
  const start = async (): Promise<Channel> => {
    // While room is made, others may take it.
    while (bounds !== undefined && children.pids.length >= bounds.max.children) {
      const full = bounds.overloaded('children', `${children.pids.length} processes of servers run already`)
      if (!(await makeRoom())) throw full
    }
    const guard = children.guardOf(options.owner)
    const whole = { ...childEnv(inherited, env), ...children.env }
    child = spawnChild({ command, args, cwd, env: whole, log, clock, guard, bounds })
    return child
  }
  try {
    // Its time to start begins with its turn.
    const link = await starting.pass(options.signal, () => openServerPipe(start, options))
    children.answered()
    return link
  } catch (thrown) {
    throw withLastWords(Fault.from(thrown), lastLines(child?.lastStderr() ?? []))
  }
}

/** What a program wrote says more of why it did not start than that it did not in time. */
const withLastWords = (why: Fault, lastWords: readonly string[]): Fault =>
  why.lastWords !== undefined || lastWords.length === 0
    ? why
    : new Fault(why.code, why.message, { ...(why.data && { data: why.data }), cause: why, lastWords })

const httpClient = lateModule(() => import('../transport/http/client.js'))
const wsClient = lateModule(() => import('../transport/ws/client.js'))
const socketClient = lateModule(() => import('../transport/socket/client.js'))

/** What all connections have in common. */
class Shared {
  readonly children: Children
  readonly makeRoom: () => Promise<boolean>
  readonly #clock: Clock
  readonly starting: Semaphore
  #http: HttpClient | undefined

  constructor({ children, makeRoom, clock, bounds }: DialerContext) {
    this.children = children
    this.makeRoom = makeRoom
    this.#clock = clock
    this.starting = new Semaphore({
      places: () => bounds.max.starting,
      onWait: () => bounds.hit('starting'),
      holdMs: STARTING_MS,
      clock,
    })
  }

  /** Loaded with the first remote server: a proxy of children starts faster without. */
  async http(): Promise<HttpClient> {
    const { createHttpClient } = await httpClient()
    this.#http ??= createHttpClient()
    return this.#http
  }

  /** Whoever closes us has a limit of its own: what does not go is left to the death guard. */
  async close(): Promise<void> {
    await within(this.children.gone(), { clock: this.#clock, ms: GONE_MS })
    await this.children.close()
    await this.#http?.close()
  }
}
