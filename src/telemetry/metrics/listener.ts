import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { ClientTries } from '../../auth/authorization-server/client-tries.js'
import { addressOf } from '../../auth/authorization-server/grant-events.js'
import type { MetricsConfig } from '../../config/types.js'
import { type Clock, systemClock } from '../../kernel/async/clock.js'
import { Fault, systemCode } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import { isLoopbackHost } from '../../kernel/loopback.js'
import { hostAllowed, resolveHosts } from '../../transport/http/guards.js'
import { inTurn } from '../../transport/http/pipelining.js'
import type { MetricsPages } from './pages.js'

/** A metrics-only listener. */
export interface MetricsEndpoint {
  readonly host: string
  readonly port: number
  close(): Promise<void>
}

const CONNECTIONS = 64
/** Wrong tokens of a network within a minute. Beyond that, one attempt per second is checked. */
const FAILURES = 20
const CREDENTIAL = 'metrics.token'

/** Answers an authorized metrics request. */
export const sendMetrics = async (
  pages: MetricsPages,
  { headers, method }: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const found = await pages.page(headers.accept, headers['accept-encoding']?.toString())
  response.writeHead(200, {
    ...found.headers,
    'content-length': found.body.length,
    'cache-control': 'no-store',
  })
  response.end(method === 'HEAD' ? undefined : found.body)
}

/**
 * Serves the metrics at their own address. Rejects with a Fault: `invalid-params` if other machines can reach
 * the address and no token is set, `unavailable` if it cannot listen.
 */
export const listenMetrics = async (
  { listen, token }: MetricsConfig,
  pages: () => Promise<MetricsPages>,
  log: Logger,
  clock: Clock = systemClock,
): Promise<MetricsEndpoint | undefined> => {
  if (listen === undefined) return undefined
  const { host, port } = listen
  if (token === undefined && !isLoopbackHost(host)) {
    throw new Fault(
      'invalid-params',
      `metrics.listen: ${host} is reachable from other machines: set "metrics.token", or listen on 127.0.0.1`,
    )
  }
  const tries = new ClientTries(clock, FAILURES)
  let hosts: ReadonlySet<string> = new Set()
  const server = createServer({ maxHeaderSize: 16 * 1024, headersTimeout: 10_000 })
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const denial = slowedDown(request, tries) ?? denialOf(request, { token, hosts })
    if (denial !== undefined) {
      if (denial.status === 401) {
        const address = addressOf(request)
        if (request.headers.authorization !== undefined) tries.failed(CREDENTIAL, address)
        log.warn({ address, path: '/metrics', why: denial.message }, 'refused a credential')
      }
      response.writeHead(denial.status, { 'content-type': 'text/plain', ...denial.headers })
      response.end(`${denial.message}\n`)
      return
    }
    const answer = async (): Promise<void> => sendMetrics(await pages(), request, response)
    answer().catch((thrown: unknown) => {
      log.error({ err: thrown }, 'cannot write the metrics')
      if (!response.headersSent) response.writeHead(500)
      response.end()
    })
  }
  server.on('request', inTurn(onRequest))
  server.maxConnections = CONNECTIONS
  await listening(server, host, port)
  server.on('error', thrown => log.error({ err: thrown }, 'the metrics listener reported an error'))
  server.unref()
  const address = server.address()
  const bound = typeof address === 'object' && address !== null ? address.port : port
  hosts = resolveHosts({ host, port: bound, configured: [] })
  log.info({ host, port: bound }, 'serving the metrics')
  return {
    host,
    port: bound,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Rejects with a Fault. */
const listening = (server: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (thrown: Error) => {
      const code = systemCode(thrown) ?? 'unknown reason'
      const message = `metrics.listen: cannot listen on ${host} port ${port} (${code})`
      reject(new Fault('unavailable', message, { cause: thrown }))
    })
    server.listen(port, host, resolve)
  })

interface Guards {
  readonly token: string | undefined
  readonly hosts: ReadonlySet<string>
}

interface Denial {
  readonly status: number
  readonly message: string
  readonly headers?: Record<string, string>
}

/** Operators choose the token, which may be guessable. */
const slowedDown = (request: IncomingMessage, tries: ClientTries): Denial | undefined =>
  request.headers.authorization === undefined || tries.admits(CREDENTIAL, addressOf(request))
    ? undefined
    : { status: 429, message: 'Too many wrong tokens', headers: { 'retry-after': '1' } }

/** With a token, the host check is unnecessary: web pages do not know the token. */
const denialOf = (
  { headers, method, url = '/' }: IncomingMessage,
  { token, hosts }: Guards,
): Denial | undefined => {
  if (token === undefined && !hostAllowed(headers.host, hosts))
    return { status: 403, message: 'Host not allowed' }
  if (token !== undefined && !isToken(headers.authorization, token))
    return {
      status: 401,
      message: 'The token is missing or wrong',
      headers: { 'www-authenticate': 'Bearer' },
    }
  if (url.split('?', 1)[0] !== '/metrics')
    return { status: 404, message: 'Not found: the metrics are at /metrics' }
  if (method === 'GET' || method === 'HEAD') return undefined
  return { status: 405, message: 'Use GET', headers: { allow: 'GET, HEAD' } }
}

const isToken = (authorization: string | undefined, token: string): boolean => {
  const [, given = ''] = /^Bearer +(.+)$/i.exec(authorization ?? '') ?? []
  return timingSafeEqual(digestOf(given), digestOf(token))
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()
