import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { rootCertificates } from 'node:tls'
import { type Clock, systemClock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { isLoopbackHost } from '../../kernel/loopback.js'
import { type ForwardProxy, type ProxyRules, proxyFor } from '../../kernel/machine/forward-proxy.js'
import type { TlsSettings } from '../../kernel/machine/tls-settings.js'
import { bareHost } from '../../kernel/url-address.js'
import type { HttpClient, HttpHeaders, OutboundRequest } from '../../wire/http.js'
import { createHttpClient } from './client.js'
import { ACCEPT_ENCODING } from './decoding.js'
import { transferFault, urlOrigin } from './faults.js'

/** Addresses that a guarded fetch may use. */
export interface GuardedFetchOptions {
  /**
   * Configured URLs. Their hosts may have private addresses. If one of them is on loopback, other URLs may be
   * too, also with `http`.
   */
  readonly trusted: readonly string[]
  /** Allows `http` for hosts of trusted URLs (`allowHttp` of an issuer). */
  readonly allowHttp?: boolean
  /** Allows private and special addresses for all hosts (`oauth.allowPrivate`). */
  readonly allowPrivate?: boolean
  /** Returns the forward proxies in force. */
  readonly proxy?: (() => ProxyRules | undefined) | undefined
  /** TLS settings of a server, and its URL. Other hosts get only its authorities, next to public ones. */
  readonly tls?: { readonly settings: TlsSettings; readonly url: string } | undefined
  readonly clock?: Clock
  /** Defaults to the system resolver. */
  readonly lookup?: Lookup
}

type Lookup = (
  host: string,
  options: { readonly all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

const LIMIT_MS = 10_000
const LIMIT_BYTES = 256 * 1024

/**
 * Creates a `fetch` for URLs from peers: metadata, keys, and endpoints of authorization servers. Except for
 * trusted URLs, it allows only `https` and public addresses, also through a forward proxy. It follows no
 * redirects, with limits of 10 s and 256 KiB; the response body is complete. Rejects with a Fault that
 * contains only scheme, host and port.
 */
export const createGuardedFetch = (options: GuardedFetchOptions): typeof fetch => {
  const { clock = systemClock } = options
  const guard = new Guard(options)
  const clients = new Clients(options, guard.lookup)
  return async (input, init) => {
    const request = new Request(input, init)
    const { origin } = new URL(request.url)
    const late = new AbortController()
    const timer = clock.after(LIMIT_MS, () =>
      late.abort(new Fault('timeout', `${origin} did not answer within ${LIMIT_MS / 1000} s`)),
    )
    try {
      guard.check(new URL(request.url))
      const { http, proxy } = clients.of(request.url)
      // The proxy resolves the name itself, so the guard asks first.
      if (proxy !== undefined) await guard.resolve(new URL(request.url).hostname)
      return await exchange(http, request, AbortSignal.any([request.signal, late.signal]))
    } catch (thrown) {
      if (request.signal.aborted) throw request.signal.reason
      throw transferFault(thrown, origin)
    } finally {
      timer.cancel()
    }
  }
}

/** Keeps the HTTP clients for the rules in force. */
class Clients {
  readonly #options: GuardedFetchOptions
  readonly #lookup: LookupFunction
  #rules: ProxyRules | undefined
  #known: ReadonlyMap<boolean, HttpClient> | undefined

  constructor(options: GuardedFetchOptions, lookup: LookupFunction) {
    this.#options = options
    this.#lookup = lookup
  }

  of(url: string): { readonly http: HttpClient; readonly proxy: ForwardProxy | undefined } {
    const rules = this.#options.proxy?.()
    const { tls } = this.#options
    const isOwn = tls !== undefined && new URL(tls.url).origin === new URL(url).origin
    if (this.#known === undefined || rules !== this.#rules) {
      this.#rules = rules
      this.#known = new Map([
        [true, this.#create(rules, tls?.settings)],
        [false, this.#create(rules, alsoTrusting(tls?.settings))],
      ])
    }
    return { http: this.#known.get(isOwn) as HttpClient, proxy: proxyFor(rules, url) }
  }

  #create(proxy: ProxyRules | undefined, tls: TlsSettings | undefined): HttpClient {
    return createHttpClient({
      connectTimeoutMs: LIMIT_MS,
      maxRedirects: 0,
      ...{ proxy, tls, lookup: this.#lookup },
      // No connection is reused: each request has its address checked, and nothing needs closing. The
      // resolver returns all addresses of a name, regardless of Node's flags.
      agent: { pipelining: 0, autoSelectFamily: true },
    })
  }
}

/** For other hosts: a server's own authority vouches for them too, but gets no client certificate. */
const alsoTrusting = ({ ca }: TlsSettings = {}): TlsSettings | undefined =>
  ca === undefined ? undefined : { ca: [...rootCertificates, ca].join('\n') }

const exchange = async (http: HttpClient, request: Request, signal: AbortSignal): Promise<Response> => {
  const body = request.body === null ? undefined : Buffer.from(await request.arrayBuffer())
  return await new Promise((resolve, reject) => {
    const stop = (reason: unknown): void => {
      sent.abort()
      reject(Fault.from(reason))
    }
    const chunks: Buffer[] = []
    let [status, length] = [0, 0]
    let got: HttpHeaders = {}
    const sent = http.send(
      {
        method: request.method as OutboundRequest['method'],
        url: request.url,
        headers: { 'accept-encoding': ACCEPT_ENCODING, ...Object.fromEntries(request.headers) },
        ...(body && { body }),
      },
      {
        head: (...head) => {
          ;[status, got] = head
        },
        data: chunk => {
          chunks.push(chunk)
          length += chunk.length
          if (length > LIMIT_BYTES) stop(tooLong(request.url))
        },
        ended: fault => {
          if (fault === undefined) resolve(responseOf(status, got, chunks))
          else reject(fault)
        },
      },
    )
    signal.addEventListener('abort', () => stop(signal.reason), { once: true })
    if (signal.aborted) stop(signal.reason)
  })
}

const tooLong = (url: string): Fault =>
  new Fault('too-large', `the response of ${urlOrigin(url)} is longer than ${LIMIT_BYTES / 1024} KiB`)

/** Headers about the body as sent, and cookies, which metadata does not need. */
const OMITTED: ReadonlySet<string> = new Set(['content-encoding', 'content-length', 'set-cookie'])

const responseOf = (status: number, headers: HttpHeaders, chunks: readonly Buffer[]): Response => {
  const pairs = Object.entries(headers).filter(
    (pair): pair is [string, string] => pair[1] !== undefined && !OMITTED.has(pair[0]),
  )
  const body = Buffer.concat(chunks)
  return new Response(body.length === 0 ? null : body, { status, headers: pairs })
}

class Guard {
  readonly #hosts: ReadonlySet<string>
  readonly #trustsLoopback: boolean
  readonly #allowHttp: boolean
  readonly #allowPrivate: boolean
  readonly #lookup: Lookup

  constructor(options: GuardedFetchOptions) {
    const { trusted, allowHttp = false, allowPrivate = false, lookup = systemLookup } = options
    this.#hosts = new Set(trusted.flatMap(url => (URL.canParse(url) ? new URL(url).hostname : [])))
    this.#trustsLoopback = [...this.#hosts].some(isLoopbackHost)
    this.#allowHttp = allowHttp
    this.#allowPrivate = allowPrivate
    this.#lookup = lookup
  }

  /** Throws a Fault for a forbidden URL, as far as known before the name is resolved. */
  check({ protocol, hostname }: URL): void {
    const isHere = this.#trustsLoopback && isLoopbackHost(hostname)
    const isPlain = isHere || (this.#allowHttp && this.#hosts.has(hostname))
    if (protocol !== 'https:' && !(protocol === 'http:' && isPlain)) {
      throw refused(hostname, 'its address does not begin with https://')
    }
    // The connector does not resolve literal addresses; `URL` has normalized them.
    const address = bareHost(hostname)
    if (isIP(address) !== 0 && !this.#trusts(hostname) && isSpecial(address)) throw refused(hostname)
  }

  /** Resolver of the connector: refuses a name with any forbidden address. */
  readonly lookup: LookupFunction = (host, _options, done) => {
    this.#lookup(host, { all: true }, (error, addresses) => {
      if (error !== null) done(error, '')
      else if (!this.#trusts(host) && addresses.some(({ address }) => isSpecial(address)))
        done(refused(host), '')
      else done(null, addresses)
    })
  }

  /**
   * Refuses a name with a forbidden address before a proxy gets it. Resolves for a name that only the proxy
   * can look up. Rejects with a Fault.
   */
  resolve(hostname: string): Promise<void> {
    if (this.#trusts(hostname) || isIP(bareHost(hostname)) !== 0) return Promise.resolve()
    return new Promise((resolve, reject) => {
      this.lookup(hostname, { all: true }, error => {
        if (error instanceof Fault) reject(error)
        else resolve()
      })
    })
  }

  #trusts(host: string): boolean {
    return this.#allowPrivate || this.#hosts.has(host) || (this.#trustsLoopback && isLoopbackHost(host))
  }
}

const refused = (host: string, why = 'its address is private and not configured'): Fault =>
  new Fault('unavailable', `${host} is not visited: ${why}`, { data: { reason: NOT_VISITED } })

/** Reason in the data of a fault if an address was refused before connecting. */
export const NOT_VISITED = 'not-visited'

/** IANA's special-purpose registries (RFC 6890), and notations of IPv4 addresses in IPv6. */
const SPECIAL = new BlockList()
const SUBNETS = [
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24',
  '192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4',
  '::/96 ::ffff:0:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 2002::/16 3fff::/20 5f00::/16',
  'fc00::/7 fe80::/10 fec0::/10 ff00::/8',
]
for (const subnet of SUBNETS.join(' ').split(' ')) {
  const [net = '', bits] = subnet.split('/')
  SPECIAL.addSubnet(net, Number(bits), familyOf(net))
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4'
}

/** Also detects `::ffff:` addresses, as `BlockList` does. */
const isSpecial = (address: string): boolean => SPECIAL.check(address.replace(/%.*$/, ''), familyOf(address))
