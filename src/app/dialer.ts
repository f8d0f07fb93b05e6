import { withCredential } from '../auth/client/proven-http.js'
import type { Logins } from '../auth/store/logins.js'
import type { Environment, ServerConfig, StdioTransport, UrlTransport } from '../config/types.js'
import { inWorkspace } from '../control/workspace.js'
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
import { lateModule } from '../kernel/late-module.js'
import type { LimitCounters } from '../kernel/limit-counters.js'
import type { Logger } from '../kernel/logger.js'
import { IDENTITY } from '../kernel/machine/identity.js'
import { inheritedEnv, wholeEnv } from '../kernel/machine/inherited-env.js'
import type { Downlink } from '../model/links.js'
import { isLegacyRevision, type LegacyRevision, NEWEST_LEGACY } from '../model/revision.js'
import type { Dial, ServerOptions } from '../peers/dial.js'
import type { Children } from '../state/processes/children.js'
import { type ChildChannel, spawnChild } from '../transport/stdio/child.js'
import { lastLines } from '../transport/stdio/child-output.js'
import type { Channel } from '../wire/channel.js'
import type { HttpClient } from '../wire/http.js'
import type { HttpCredential } from '../wire/http-credential.js'

/** Time after which a slow start no longer delays the start of other programs. */
const STARTING_MS = 10_000
const CONNECT_MS = 10_000
/** Time limit for children to end; longer than the escalation that ends each of them. */
const GONE_MS = 6000

const httpClient = lateModule(() => import('../transport/http/client.js'))
const decoding = lateModule(() => import('../transport/http/decoding.js'))
const wsClient = lateModule(() => import('../transport/ws/client.js'))
const socketClient = lateModule(() => import('../transport/socket/client.js'))

export interface DialerContext {
  readonly clock: Clock
  readonly log: Logger
  readonly children: Children
  readonly bounds: LimitCounters
  /** Ends an idle process. Returns false if there is none. */
  readonly makeRoom: () => Promise<boolean>
  readonly logins: Pick<Logins, 'of'>
  /** The environment that programs inherit from; all that the proxy knows with `isWhole`. */
  readonly programEnv: (isWhole?: boolean) => Environment | Promise<Environment>
}

interface ServerMemory {
  readonly eraCache: EraCache
  readonly nextId: () => number
}

interface DialOptions extends ServerLinkOptions {
  readonly owner: ServerOptions
  readonly bounds: LimitCounters
}

/** Connects to servers as configured, and owns the resources that connections share. */
export class Dialer {
  readonly #configOf: (server: ServerOptions) => ServerConfig | undefined
  readonly #context: DialerContext
  readonly #memories = new WeakMap<ServerOptions, ServerMemory>()
  readonly #starting: Semaphore
  #http: HttpClient | undefined

  constructor(configOf: (server: ServerOptions) => ServerConfig | undefined, context: DialerContext) {
    const { bounds, clock } = context
    this.#configOf = configOf
    this.#context = context
    this.#starting = new Semaphore({
      places: () => bounds.max.starting,
      onWait: () => bounds.hit('starting'),
      holdMs: STARTING_MS,
      clock,
    })
  }

  readonly dial: Dial = async (owner, greeting, listener, signal) => {
    const server = this.#configOf(owner)
    if (server === undefined) throw new Fault('unavailable', 'it is not configured')
    const { clock, log, bounds } = this.#context
    const { name, timeouts } = server
    const identity = textOf(IDENTITY)
    const { workspace } = greeting
    const transport = inWorkspace(server.transport, workspace)
    return await this.#open(
      { ...server, transport },
      {
        ...this.#memoryOf(owner),
        owner,
        server: name,
        listener,
        signal,
        capabilities: greeting.capabilities,
        clientInfo: greeting.clientInfo ?? identity,
        session: greeting.session,
        lastLoss: greeting.lastLoss,
        identity,
        era: server.era,
        serverRequests: greeting.serverRequests,
        offer: offerOf(server),
        probeMs: timeouts.probeMs,
        timeoutMs: timeouts.connectMs,
        initializeMs: timeouts.initializeMs,
        pingMs: timeouts.pingMs,
        bounds: bounds.narrowed(server.limits, { server: name }),
        clock,
        log: log.child({ server: name }),
      },
    )
  }

  /** Waits for the children to end. The death guard kills the remaining ones. */
  async close(): Promise<void> {
    const { children, clock } = this.#context
    await within(children.gone(), { clock, ms: GONE_MS })
    await children.close()
    await this.#http?.close()
  }

  #memoryOf(owner: ServerOptions): ServerMemory {
    const known = this.#memories.get(owner)
    if (known !== undefined) return known
    const memory = { eraCache: new EraCache(this.#context.clock), nextId: counter() }
    this.#memories.set(owner, memory)
    return memory
  }

  async #open(server: ServerConfig, options: DialOptions): Promise<Downlink> {
    const { transport } = server
    const connectTimeoutMs = Math.min(CONNECT_MS, options.timeoutMs)
    switch (transport.kind) {
      case 'stdio':
        return this.#openChild(transport, options)
      case 'http':
      case 'auto':
        return openServerHttp(await this.#httpClient(server, options), await addressOf(transport), {
          ...options,
          hasSse: transport.kind === 'auto',
        })
      case 'sse':
        return openLegacySse(await this.#httpClient(server, options), await addressOf(transport), options)
      case 'ws': {
        const { connectWs } = await wsClient()
        const credential = await this.#context.logins.of(options.owner, server)
        await credential?.prepare()
        const to = { ...transport, ...options, connectTimeoutMs, credential }
        return openServerPipe(() => connectWs(to), options)
      }
      case 'socket': {
        const { connectSocket } = await socketClient()
        return openServerPipe(() => connectSocket({ ...transport, ...options, connectTimeoutMs }), options)
      }
    }
  }

  /** Loaded with the first remote server: a proxy with local servers starts faster without it. */
  async #httpClient(server: ServerConfig, { owner }: DialOptions): Promise<HttpClient> {
    const { createHttpClient } = await httpClient()
    this.#http ??= createHttpClient()
    const credential = await this.#context.logins.of(owner, server)
    if (credential === undefined) return hasToken(server) ? withCredential(this.#http, FIXED) : this.#http
    await credential.prepare()
    return withCredential(this.#http, credential)
  }

  async #openChild(
    { command, args, cwd, env, unsetEnv, inheritEnv = false }: StdioTransport,
    options: DialOptions,
  ): Promise<Downlink> {
    const { children, makeRoom, programEnv } = this.#context
    const { bounds, log, clock } = options
    const inherited = Object.fromEntries(
      Object.entries(await programEnv(inheritEnv)).filter(([name]) => !unsetEnv.includes(name)),
    )
    let child: ChildChannel | undefined
    const start = async (): Promise<Channel> => {
      while (children.pids.length >= bounds.max.children) {
        const full = bounds.overloaded(
          'children',
          `${children.pids.length} server processes are already running`,
        )
        if (!(await makeRoom())) throw full
      }
      const guard = children.guardOf(options.owner)
      const envOf = inheritEnv ? wholeEnv : inheritedEnv
      const childEnv = { ...envOf(inherited, env, process.platform), ...children.env }
      child = spawnChild({ command, args, cwd, env: childEnv, log, clock, guard, bounds })
      return child
    }
    try {
      // The time limit of a start excludes the queue.
      const link = await this.#starting.pass(options.signal, () => openServerPipe(start, options))
      children.answered()
      return link
    } catch (thrown) {
      throw withLastOutput(Fault.from(thrown), lastLines(child?.lastStderr() ?? []))
    }
  }
}

/** Returns the address and headers of a server; a configured `Accept-Encoding` takes precedence. */
const addressOf = async ({ url, headers }: UrlTransport): Promise<Pick<UrlTransport, 'url' | 'headers'>> => {
  const { ACCEPT_ENCODING } = await decoding()
  const isGiven = Object.keys(headers).some(name => name.toLowerCase() === 'accept-encoding')
  return { url, headers: isGiven ? headers : { ...headers, 'accept-encoding': ACCEPT_ENCODING } }
}

const hasToken = ({ transport }: ServerConfig): boolean =>
  'headers' in transport &&
  Object.keys(transport.headers).some(name => name.toLowerCase() === 'authorization')

/** Uses the static token in a server's headers. */
const FIXED: HttpCredential = {
  authorize: () => undefined,
  refused: ({ status: httpStatus }) => {
    const message = 'it refused the token in the configuration: check "headers.Authorization"'
    const fault = new Fault('unauthorized', message, { data: { httpStatus } })
    return httpStatus === 401 ? Promise.reject(fault) : undefined
  },
}

const counter = (): (() => number) => {
  let last = 0
  return () => {
    last += 1
    return last
  }
}

/** Returns the revision that `initialize` offers. */
const offerOf = ({ protocolVersion }: ServerConfig): LegacyRevision =>
  protocolVersion !== undefined && isLegacyRevision(protocolVersion) ? protocolVersion : NEWEST_LEGACY

/** The program's stderr explains more than a timeout. */
const withLastOutput = (why: Fault, stderrTail: readonly string[]): Fault =>
  why.stderrTail !== undefined || stderrTail.length === 0
    ? why
    : new Fault(why.code, why.message, { ...(why.data && { data: why.data }), cause: why, stderrTail })
