import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, isIP } from 'node:net'
import { Deferred } from '../../kernel/async/deferred.js'
import { Fault, systemCode } from '../../kernel/faults.js'
import { bareHost } from '../../kernel/url-address.js'

/** Listens at a loopback address for a browser that returns from a login (RFC 8252 §7.3). */
export interface LoopbackListener {
  /** Redirect URI of the login; as configured if that has a port. */
  readonly redirectUri: string
  /** Returns the parameters of the first request with this `state`; refuses others and keeps waiting. */
  answerTo(state: string): Promise<URLSearchParams>
  close(): void
}

const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  connection: 'close',
} as const

const page = (message: string): string =>
  `<!doctype html><meta charset="utf-8"><title>mcp-proxy</title><p>${message}</p>\n`

const DONE = page('mcp-proxy has the answer. Go back to the terminal; you can close this window.')
const UNKNOWN = page('mcp-proxy is not waiting for this login. Nothing was changed.')

/** Codes for addresses that this machine does not have. */
const ABSENT: ReadonlySet<string | undefined> = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL'])

/**
 * Listens for the redirect at a loopback `http` address; port 0 selects any. Resolves with undefined if the
 * port is taken. Rejects with a Fault if listening is impossible.
 */
export const listenLoopback = async (redirect: string): Promise<LoopbackListener | undefined> => {
  const listener = new Listener(redirect)
  return (await listener.listen()) ? listener : undefined
}

class Listener implements LoopbackListener {
  readonly #written: string
  readonly #redirect: URL
  readonly #servers: Server[] = []
  readonly #answer = new Deferred<URLSearchParams>()
  #state: string | undefined

  constructor(redirect: string) {
    this.#written = redirect
    this.#redirect = new URL(redirect)
  }

  get redirectUri(): string {
    const { href, port } = this.#redirect
    return new URL(this.#written).port === port ? this.#written : href
  }

  /** Listens on both addresses of `localhost` or on none, because a browser may use either. */
  async listen(): Promise<boolean> {
    const { hostname, port } = this.#redirect
    const address = bareHost(hostname)
    const isUsual = isIP(address) === 0 || address === '127.0.0.1'
    const [first, second] = isUsual ? ['127.0.0.1', '::1'] : [address]
    try {
      const bound = await this.#bind(first, Number(port))
      this.#redirect.port = String(bound)
      if (second === undefined) return true
      await this.#bind(second, bound).catch((thrown: unknown) => {
        const isFree = hostname !== 'localhost' || ABSENT.has(systemCode(thrown))
        if (!isFree) throw thrown
      })
      return true
    } catch (thrown) {
      this.close()
      if (systemCode(thrown) === 'EADDRINUSE') return false
      throw new Fault('unavailable', `cannot listen on ${this.#redirect.origin}`, { cause: thrown })
    }
  }

  answerTo(state: string): Promise<URLSearchParams> {
    this.#state = state
    return this.#answer.promise
  }

  close(): void {
    for (const server of this.#servers) {
      server.close()
      server.closeIdleConnections()
    }
  }

  #bind(host: string, port: number): Promise<number> {
    const server = createServer(({ method, url = '' }, response) => this.#serve(method, url, response))
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen({ host, port, exclusive: true }, () => {
        this.#servers.push(server)
        resolve((server.address() as AddressInfo).port)
      })
    })
  }

  #serve(method: string | undefined, target: string, response: ServerResponse): void {
    const url = URL.canParse(target, this.#redirect.href) ? new URL(target, this.#redirect) : undefined
    if (method !== 'GET' || url?.pathname !== this.#redirect.pathname) {
      response.writeHead(404, HEADERS).end()
      return
    }
    const states = url.searchParams.getAll('state')
    if (this.#state === undefined || states.length !== 1 || states[0] !== this.#state) {
      response.writeHead(400, HEADERS).end(UNKNOWN)
      return
    }
    this.#state = undefined
    response.writeHead(200, HEADERS).end(DONE, () => this.close())
    this.#answer.resolve(url.searchParams)
  }
}
