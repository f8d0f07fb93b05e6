import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { unknownView, type Views } from '../../catalog/views/views.js'
import type { Clock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import { IDENTITY } from '../../kernel/machine/identity.js'
import { objectIn } from '../../kernel/object.js'
import {
  CONNECT_PATH,
  counterProof,
  decodeHello,
  encodeWelcome,
  HELLO_HEADER,
  type Hello,
  type HelloRefusal,
  isProven,
  LINES_PROTOCOL,
} from '../../shim/hello.js'
import type { RuntimePaths } from '../../shim/place.js'
import { removePrivate } from '../../state/private-file.js'
import type { KeptLines, LogFilter } from '../../telemetry/logs/kept-lines.js'
import { sendMetrics } from '../../telemetry/metrics/listener.js'
import type { MetricsPages } from '../../telemetry/metrics/pages.js'
import type { ProxyStatus } from '../../telemetry/status/status.js'
import { inTurn } from '../../transport/http/pipelining.js'
import { LineChannel } from '../../transport/line-channel.js'
import { currentOn, isDueOn } from '../../transport/node-internals.js'
import { bindPath } from '../../transport/socket/bind.js'
import type { Api } from '../api/api.js'
import {
  apiRequest,
  FAULT_STATUSES,
  requestBodyOf,
  sendAnswer,
  sendJson,
  targetOf,
  wantsEvents,
} from '../api/http.js'
import type { VariableStatus } from '../environment/environment.js'
import { keptToken } from './daemon-lock.js'
import { keepFacts } from './facts-file.js'
import { type InstallWatch, watchInstall } from './install-watch.js'
import { startSelfCheck } from './self-check.js'
import type { LocalSessions } from './sessions.js'

/** The parts of the proxy that its private socket controls. */
export interface Controlled {
  readonly sessions: LocalSessions
  /** See `Welcome.refusal`. */
  readonly refusal: string
  readonly status: () => ProxyStatus
  readonly isDraining: () => boolean
  readonly views: Pick<Views, 'has' | 'names'>
  /** Starts the shutdown with an exit code. */
  readonly end: (code: number) => void
  /** Reloads the configuration. Undefined without a configuration file. */
  readonly reload?: (() => Promise<void>) | undefined
  /** Undefined if clients cannot send values. */
  readonly variables?: ControlledVariables | undefined
  readonly lines: KeptLines
  readonly api: () => Promise<Api>
  readonly metrics: (() => Promise<MetricsPages>) | undefined
  /** Creates a single-use login code for the page. */
  readonly newPageCode: () => string
  /**
   * Returns the origin of the page, opening a port if necessary. Rejects with a Fault. Undefined without a
   * page.
   */
  readonly pageOrigin?: (() => Promise<string>) | undefined
  /** The configuration file to record for this process. Undefined to record nothing. */
  readonly file: string | undefined
  /** See `Welcome.kept`. */
  readonly kept: string | undefined
  /** True if a service manager restarts the proxy after exit code 75. */
  readonly isService: boolean
  /** A file that every installation replaces. Defaults to a file of this installation. */
  readonly ownFile?: URL | undefined
  readonly bounds: LimitCounters
  readonly clock: Clock
  readonly log: Logger
}

/** The variables of the active configuration. */
export interface ControlledVariables {
  /** Excludes values. */
  readonly all: () => readonly VariableStatus[]
  /** The names that servers wait for. */
  readonly wanted: () => readonly string[]
  /** Called when a client connects: the login shell may have new values. */
  readonly joined?: (() => void) | undefined
  /** Applies a client's values by name. Resolves once they are in force. Rejects with a Fault. */
  readonly bring: (values: Readonly<Record<string, unknown>>, client: string) => Promise<void>
}

/** An open private socket. */
export interface Control {
  readonly place: RuntimePaths
  close(): Promise<void>
}

/** The exit code after which service managers restart the proxy. */
const HANDED_OVER = 75
/** Answers `/v1/status` of `self-check.ts` without building the large server status. */
const OURSELVES = { version: IDENTITY.version, pid: process.pid }

/** Opens the private socket at free paths. Rejects with a Fault `unavailable`. */
export const openControl = async (place: RuntimePaths, controlled: Controlled): Promise<Control> => {
  const server = createControlServer(controlled.bounds.max.connections)
  const token = keptToken(place.token)
  const installWatch = watchOwn(controlled)
  const api = new ControlApi(controlled, token, () => installWatch.look())
  const onRequest = inTurn((request: IncomingMessage, response: ServerResponse) => {
    void api.answer(request, response)
  })
  server.on('request', onRequest)
  server.on('checkContinue', onRequest)
  server.on('upgrade', (request, socket, head) => {
    // An error response written now would become part of the response in flight.
    if (isDueOn(socket)) socket.destroy()
    else api.upgrade(request, socket, head)
  })
  const { file } = controlled
  // Done before the socket opens, as part of the start.
  const forget = file === undefined ? undefined : await keepFacts(place, file)
  const stop = await bindPath(server, place.socket).catch((thrown: unknown) => {
    forget?.()
    throw thrown
  })
  server.on('error', thrown => controlled.log.error({ err: thrown }, 'the private socket reported an error'))
  const watch = startSelfCheck(place, {
    ...controlled,
    // A proxy with other clients, or started by a user, keeps running without its socket.
    mayStay: controlled.kept === 'serve',
    handOver: () => handOver(controlled),
  })
  return {
    place,
    async close() {
      watch.cancel()
      installWatch.close()
      const stopped = stop()
      server.closeAllConnections()
      await stopped
      forget?.()
      // The place is named after this process.
      if (file === undefined && place.token !== undefined) await removePrivate(place.token)
    },
  }
}

/** Creates a server with limits: local programs of the same user can still hang or misbehave. */
const createControlServer = (maxConnections: number): Server => {
  const server = createServer({
    maxHeaderSize: 8 * 1024,
    headersTimeout: 3000,
    requestTimeout: 10_000,
    connectionsCheckingInterval: 250,
  })
  server.maxConnections = maxConnections
  server.on('clientError', (_error, socket) => socket.destroy())
  return server
}

const watchOwn = (controlled: Controlled): InstallWatch => {
  const { clock, file, kept, log, ownFile, refusal, status } = controlled
  return watchInstall({
    file: ownFile,
    // A user would have to restart the proxy.
    isStartedAgain: file !== undefined && kept !== 'serve',
    isQuiet: () => status().calls === 0,
    handOver: () => handOver(controlled),
    ...{ refusal, clock, log },
  })
}

const handOver = ({ end, isService }: Controlled): void => end(isService ? HANDED_OVER : 0)

/** Answers the paths of the private socket (docs/daemon.md). */
class ControlApi {
  readonly #controlled: Controlled
  readonly #token: Buffer | undefined
  readonly #onHello: () => void

  constructor(controlled: Controlled, token: Buffer | undefined, onHello: () => void) {
    this.#controlled = controlled
    this.#token = token
    this.#onHello = onHello
  }

  /** Never rejects. */
  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const { client, pid } = this.#helloOf(request)
      const { pathname, searchParams } = targetOf(request)
      if (request.method === 'GET' && pathname === '/v1/logs' && !wantsEvents(request)) {
        this.#logs(searchParams, response)
        return
      }
      const body = await postedTo(request, response)
      const what = `${request.method} ${pathname}`
      const found = pathname === '/v1/env' ? await this.#env(what, body, client) : await this.#run(what, pid)
      if (found !== undefined) sendJson(response, 200, found)
      else await this.#answerApi(request, response, body)
    } catch (thrown) {
      const { code, message } = Fault.from(thrown)
      const status = thrown instanceof Fault ? (FAULT_STATUSES[code] ?? 400) : 500
      if (status === 500)
        this.#controlled.log.error(
          { err: thrown, url: request.url },
          'a request on the private socket failed',
        )
      sendJson(response, status, { error: message })
    }
  }

  /** Returns the hello of one of our programs. Throws a Fault for any other program. */
  #helloOf(request: IncomingMessage): Partial<Hello> {
    const hello = helloOf(request) ?? {}
    if (!isProven(this.#token, 'client', hello))
      throw new Fault('unauthorized', 'the token is not from this proxy')
    return hello
  }

  /** Answers the paths that the port has too. */
  async #answerApi(request: IncomingMessage, response: ServerResponse, body: string): Promise<void> {
    const { pathname } = targetOf(request)
    const { api, metrics } = this.#controlled
    if (request.method === 'GET' && pathname === '/v1/metrics' && metrics !== undefined) {
      await sendMetrics(await metrics(), request, response)
      return
    }
    const isOurs = pathname.startsWith('/v1/')
    const answer = isOurs ? await (await api()).answer(apiRequest(request, response, '/v1', body)) : undefined
    if (answer !== undefined) sendAnswer(response, answer)
    else sendJson(response, 404, { error: `not found: ${request.method} ${pathname}` })
  }

  /** `pid` is the process of the caller. */
  async #run(what: string, pid: number | undefined): Promise<object | undefined> {
    const { end, kept, reload, sessions, status } = this.#controlled
    switch (what) {
      case 'GET /v1/status':
        return { ...(pid === process.pid ? OURSELVES : status()), ...(kept !== undefined && { kept }) }
      case 'GET /v1/sessions':
        return { version: 1, sessions: sessions.all }
      case 'POST /v1/stop':
        end(0)
        return this.#ending()
      case 'POST /v1/hand-over':
        handOver(this.#controlled)
        return this.#ending()
      case 'POST /v1/ui':
        return {
          version: 1,
          origin: await this.#controlled.pageOrigin?.(),
          code: this.#controlled.newPageCode(),
        }
      case 'POST /v1/reload':
        if (reload === undefined)
          throw new Fault('invalid-params', 'this proxy runs without a configuration file')
        void reload()
        return { version: 1 }
    }
    return undefined
  }

  async #env(what: string, body: string, client = 'unknown'): Promise<object | undefined> {
    if (what === 'GET /v1/env') return { version: 1, variables: this.#controlled.variables?.all() ?? [] }
    if (what !== 'POST /v1/env') return undefined
    const values = objectIn(body)
    if (values === undefined)
      throw new Fault('invalid-params', 'the body must be a JSON object of names and text values')
    await this.#controlled.variables?.bring(values, client)
    return { version: 1 }
  }

  /** Returns the work that the shutdown waits for or loses. */
  #ending(): object {
    const { sessions, status } = this.#controlled
    const { pid, calls } = status()
    return { version: 1, pid, calls, sessions: sessions.all }
  }

  #logs(query: URLSearchParams, response: ServerResponse): void {
    const { lines } = this.#controlled
    const since = query.get('since')
    const filter: LogFilter = {
      server: query.get('server') ?? undefined,
      level: query.get('level') ?? undefined,
      sinceMs: since === null ? undefined : Number(since),
    }
    response.useChunkedEncodingByDefault = false
    response.writeHead(200, { 'content-type': 'application/x-ndjson', connection: 'close' })
    // Followers get the response before the first line.
    response.flushHeaders()
    for (const line of lines.matching(filter)) response.write(line)
    const stop = query.has('follow') ? lines.follow(filter, line => this.#tell(response, line)) : undefined
    if (stop === undefined) response.end()
    else response.once('close', stop)
  }

  /** A slow follower is disconnected. The log never waits. */
  #tell(response: ServerResponse, line: string): void {
    if (response.writableLength > this.#controlled.bounds.max.clientQueue) response.destroy()
    else response.write(line)
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => undefined)
    const hello = helloOf(request)
    const refusal = hello === undefined ? NO_HELLO : this.#refusalFor(request, hello)
    if (hello === undefined || refusal !== undefined) {
      const { status, ...rest } = refusal ?? NO_HELLO
      const body = JSON.stringify(rest)
      const size = Buffer.byteLength(body)
      const lines = ['content-type: application/json', `content-length: ${size}`, 'connection: close']
      socket.end(`HTTP/1.1 ${status} Refused\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
      return
    }
    const { bounds, clock, kept, log, sessions, refusal: word, variables } = this.#controlled
    const session = sessions.newId()
    const welcome = encodeWelcome({
      version: IDENTITY.version,
      pid: process.pid,
      session,
      want: variables?.wanted() ?? [],
      kept,
      refusal: word,
      ...counterProof(this.#token, hello),
    })
    const lines = ['connection: Upgrade', `upgrade: ${LINES_PROTOCOL}`, `${HELLO_HEADER}: ${welcome}`]
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('\r\n')}\r\n\r\n`)
    if (head.length > 0) socket.unshift(head)
    this.#onHello()
    variables?.joined?.()
    void sessions.serve(session, new LineChannel(socket, { peer: 'client', log, clock, bounds }), hello)
  }

  #refusalFor(request: IncomingMessage, hello: Hello): StatedRefusal | undefined {
    const { bounds, sessions, isDraining, views } = this.#controlled
    const isLines = request.headers.upgrade?.toLowerCase() === LINES_PROTOCOL
    if (!isLines || request.url !== CONNECT_PATH) return NO_HELLO
    if (!isProven(this.#token, 'client', hello))
      return { status: 409, no: 'token', say: 'the token is not from this proxy' }
    if (hello.view !== undefined && !views.has(hello.view))
      return { status: 404, no: 'view', say: unknownView(hello.view, views.names) }
    if (isDraining()) {
      return { status: 503, no: 'draining', say: 'the proxy is stopping', retryMs: 200 }
    }
    if (sessions.size < bounds.max.sessions) return undefined
    bounds.hit('sessions')
    return { status: 503, no: 'busy', say: 'the maximum number of sessions is open', retryMs: 1000 }
  }
}

type StatedRefusal = HelloRefusal & { readonly status: number }

const NO_HELLO: StatedRefusal = { status: 400, no: 'token', say: 'the request is not from mcp-proxy connect' }

const helloOf = (request: IncomingMessage): Hello | undefined =>
  decodeHello(request.headers[HELLO_HEADER]?.toString())

const postedTo = (request: IncomingMessage, response: ServerResponse): Promise<string> => {
  if (request.method !== 'POST') return Promise.resolve('')
  if (request.headers.expect !== undefined && currentOn(request.socket) === response) response.writeContinue()
  return requestBodyOf(request)
}
