import { withCredential } from '../auth/client/proven-http.js'
import type { Logins } from '../auth/store/logins.js'
import type { ServerConfig, ServerTransport, UrlTransport } from '../config/types.js'
import { inWorkspace } from '../control/workspace.js'
import { EraCache, openLegacySse, openServerHttp, openServerPipe, statedIn } from '../eras/index.js'
import { within } from '../kernel/async/deadline.js'
import { Fault } from '../kernel/faults.js'
import type { PassedHeaders } from '../kernel/header-patterns.js'
import { textOf } from '../kernel/json/text.js'
import { lateModule } from '../kernel/late-module.js'
import type { Logger } from '../kernel/logger.js'
import { IDENTITY } from '../kernel/machine/identity.js'
import type { Downlink } from '../model/links.js'
import { loginReasonOf, NEEDS_CREDENTIALS } from '../model/login.js'
import { isLegacyRevision, type LegacyRevision, NEWEST_LEGACY } from '../model/revision.js'
import type { Dial, ServerOptions } from '../peers/dial.js'
import type { createHttpClient, RemoteHttpClient } from '../transport/http/client.js'
import type { HttpClient } from '../wire/http.js'
import type { HttpCredential } from '../wire/http-credential.js'
import { type ProgramOptions, ProgramStarter, type ProgramsContext } from './programs.js'

const CONNECT_MS = 10_000
/** Time limit for children to end; longer than the escalation that ends each of them. */
const GONE_MS = 6000

const httpClient = lateModule(() => import('../transport/http/client.js'))
const decoding = lateModule(() => import('../transport/http/decoding.js'))
const wsClient = lateModule(() => import('../transport/ws/client.js'))
const socketClient = lateModule(() => import('../transport/socket/client.js'))
const socketPaths = lateModule(() => import('../transport/socket/path.js'))

export interface DialerContext extends ProgramsContext {
  readonly log: Logger
  readonly logins: Pick<Logins, 'of'>
}

interface ServerMemory {
  readonly eraCache: EraCache
  readonly nextId: () => number
}

/** Connects to servers as configured, and owns the resources that connections share. */
export class Dialer {
  readonly #configOf: (server: ServerOptions) => ServerConfig | undefined
  readonly #context: DialerContext
  readonly #memories = new WeakMap<ServerOptions, ServerMemory>()
  readonly #programs: ProgramStarter
  /** For servers without settings of their own. */
  #http: RemoteHttpClient | undefined
  readonly #ownHttp = new Map<ServerOptions, RemoteHttpClient>()

  constructor(configOf: (server: ServerOptions) => ServerConfig | undefined, context: DialerContext) {
    this.#configOf = configOf
    this.#context = context
    this.#programs = new ProgramStarter(context)
  }

  readonly dial: Dial = async (owner, greeting, listener, signal) => {
    const server = this.#configOf(owner)
    if (server === undefined) throw new Fault('unavailable', 'it is not configured')
    const { clock, log, bounds } = this.#context
    const { name, timeouts } = server
    const identity = textOf(IDENTITY)
    const { workspace } = greeting
    const transport = withHeaders(inWorkspace(server.transport, workspace), greeting.headers)
    return await this.#open(
      { ...server, transport },
      {
        ...this.#memoryOf(owner),
        owner,
        server: name,
        listener,
        signal,
        capabilities: greeting.capabilities,
        declares: greeting.declares,
        isAlone: greeting.isAlone,
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
    await this.#programs.close()
    await children.close()
    await this.#http?.close()
    await Promise.all([...this.#ownHttp.values()].map(http => http.close()))
  }

  #memoryOf(owner: ServerOptions): ServerMemory {
    const known = this.#memories.get(owner)
    if (known !== undefined) return known
    const memory = { eraCache: new EraCache(this.#context.clock), nextId: counter() }
    this.#memories.set(owner, memory)
    return memory
  }

  async #open(server: ServerConfig, options: ProgramOptions): Promise<Downlink> {
    const { transport } = server
    const connectTimeoutMs = Math.min(CONNECT_MS, options.timeoutMs)
    switch (transport.kind) {
      case 'stdio':
        return this.#programs.open(transport, options)
      case 'http':
      case 'auto':
      case 'sse':
        return this.#openRemote(server, transport, options)
      case 'ws': {
        const { connectWs } = await wsClient()
        const credential = await this.#context.logins.of(options.owner, server)
        await credential?.prepare()
        const to = { ...transport, ...options, connectTimeoutMs, credential, statedIn }
        return openServerPipe(() => connectWs(to), options)
      }
      case 'socket': {
        const { connectSocket } = await socketClient()
        return openServerPipe(() => connectSocket({ ...transport, ...options, connectTimeoutMs }), options)
      }
    }
  }

  async #openRemote(
    server: ServerConfig,
    transport: UrlTransport,
    options: ProgramOptions,
  ): Promise<Downlink> {
    const { socketPath } = transport
    if (socketPath !== undefined) (await socketPaths()).checkSocketPath(socketPath)
    const [http, to] = [await this.#httpClient(server, options), await addressOf(transport)]
    try {
      if (transport.kind === 'sse') return await openLegacySse(http, to, options)
      return await openServerHttp(http, to, { ...options, hasSse: transport.kind === 'auto' })
    } catch (thrown) {
      throw aboutToken(server, thrown)
    }
  }

  /** Loaded with the first remote server: a proxy with local servers starts faster without it. */
  async #httpClient(server: ServerConfig, { owner }: ProgramOptions): Promise<HttpClient> {
    const { createHttpClient } = await httpClient()
    const http = this.#clientOf(server, owner.owned?.by ?? owner, createHttpClient).forConnection()
    const credential = await this.#context.logins.of(owner, server)
    if (credential === undefined) return hasToken(server) ? withCredential(http, fixedToken(server)) : http
    await credential.prepare()
    return withCredential(http, credential)
  }

  /** All connections of a server share its client, also the ones of its users. */
  #clientOf(
    { transport }: ServerConfig,
    owner: ServerOptions,
    create: typeof createHttpClient,
  ): RemoteHttpClient {
    const { proxy, tls, socketPath } = transport as UrlTransport
    if (proxy === undefined && tls === undefined && socketPath === undefined) {
      this.#http ??= create()
      return this.#http
    }
    const known = this.#ownHttp.get(owner)
    if (known !== undefined) return known
    // The last calls of a replaced server keep its client until they end.
    for (const former of this.#ownHttp.keys())
      if (this.#configOf(former) === undefined) this.#ownHttp.delete(former)
    const http = create({ proxy, tls, socketPath })
    this.#ownHttp.set(owner, http)
    return http
  }
}

/** Adds the headers that all clients of a connection have. */
const withHeaders = (transport: ServerTransport, headers: PassedHeaders | undefined): ServerTransport =>
  headers === undefined || !('url' in transport)
    ? transport
    : { ...transport, headers: { ...headers, ...transport.headers } }

/** Returns the address and headers of a server; a configured `Accept-Encoding` takes precedence. */
const addressOf = async ({ url, headers }: UrlTransport): Promise<Pick<UrlTransport, 'url' | 'headers'>> => {
  const { ACCEPT_ENCODING } = await decoding()
  const isGiven = Object.keys(headers).some(name => name.toLowerCase() === 'accept-encoding')
  return { url, headers: isGiven ? headers : { ...headers, 'accept-encoding': ACCEPT_ENCODING } }
}

const hasToken = ({ transport }: ServerConfig): boolean =>
  'headers' in transport &&
  Object.keys(transport.headers).some(name => name.toLowerCase() === 'authorization')

/** Uses the static token in a server's headers. The answer to a refused one may have its reason. */
const fixedToken = (server: ServerConfig): HttpCredential => ({
  authorize: () => undefined,
  refused: ({ status: httpStatus, headers }) => {
    if (httpStatus !== 401 || headers['www-authenticate'] === undefined) return undefined
    return Promise.reject(new Fault('unauthorized', refusedToken(server), { data: { httpStatus } }))
  },
})

const refusedToken = ({ transport }: ServerConfig): string =>
  'hasUrlLogin' in transport
    ? 'it refused the user and password in its address: check "url"'
    : 'it refused the token in the configuration: check "headers.Authorization"'

/**
 * Names the setting in the fault of a server that refused its static token without a challenge, or that needs
 * one because the proxy does not sign in there.
 */
const aboutToken = (server: ServerConfig, thrown: unknown): Fault => {
  const fault = Fault.from(thrown)
  const { code, message, data, remote } = fault
  const isRefused = loginReasonOf(fault) === undefined && data?.['httpStatus'] === 401
  if (code !== 'unauthorized' || !isRefused || message === refusedToken(server)) return fault
  const said = remote === 'reason' ? ` (${message})` : ''
  if (hasToken(server))
    return new Fault(code, `${refusedToken(server)}${said}`, { data, remote, cause: fault })
  if (server.oauth !== undefined) return fault
  const why = `it requires credentials${said}: write an Authorization header into "headers"`
  return new Fault('unavailable', why, { data: { ...data, reason: NEEDS_CREDENTIALS }, remote, cause: fault })
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
