import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { Agent, type Dispatcher, errors, request as send } from 'undici'
import { type Clock, systemClock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { isLoopbackHost } from '../../kernel/loopback.js'
import { nothing } from '../../kernel/nothing.js'
import { ACCEPT_ENCODING, createDecoder, Decoder } from './decoding.js'
import { originOf, transferFault } from './faults.js'

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
 * trusted URLs, it allows only `https` and public addresses. It follows no redirects, with limits of 10 s and
 * 256 KiB; the response body is complete. Rejects with a Fault that contains only scheme, host and port.
 */
export const createGuardedFetch = (options: GuardedFetchOptions): typeof fetch => {
  const { clock = systemClock } = options
  const guard = new Guard(options)
  const dispatcher = new Agent({
    // No connection is reused: each request has its address checked, and nothing needs closing.
    pipelining: 0,
    maxResponseSize: LIMIT_BYTES,
    // The resolver then returns all addresses of a name, regardless of Node's flags.
    autoSelectFamily: true,
    connect: { lookup: guard.lookup, timeout: LIMIT_MS },
  })
  return async (input, init) => {
    const request = new Request(input, init)
    const { origin } = new URL(request.url)
    const late = new AbortController()
    const timer = clock.after(LIMIT_MS, () =>
      late.abort(new Fault('timeout', `${origin} did not answer within ${LIMIT_MS / 1000} s`)),
    )
    try {
      guard.check(new URL(request.url))
      return await exchange(request, { dispatcher, signal: AbortSignal.any([request.signal, late.signal]) })
    } catch (thrown) {
      if (request.signal.aborted) throw request.signal.reason
      if (thrown instanceof errors.ResponseExceededMaxSizeError) {
        throw new Fault('too-large', `the response of ${origin} is longer than ${LIMIT_BYTES / 1024} KiB`)
      }
      throw transferFault(thrown, origin)
    } finally {
      timer.cancel()
    }
  }
}

const exchange = async (
  request: Request,
  options: { readonly dispatcher: Dispatcher; readonly signal: AbortSignal },
): Promise<Response> => {
  const { statusCode, headers, body } = await send(request.url, {
    ...options,
    method: request.method,
    headers: { 'accept-encoding': ACCEPT_ENCODING, ...Object.fromEntries(request.headers) },
    body: request.body === null ? null : Buffer.from(await request.arrayBuffer()),
  })
  const bytes = await decoded(Buffer.from(await body.arrayBuffer()), headers['content-encoding'], request.url)
  const pairs = Object.entries(headers).flatMap(([name, value = []]) =>
    CODING_HEADERS.has(name) ? [] : [value].flat().map((each): [string, string] => [name, each]),
  )
  return new Response(bytes.length === 0 ? null : bytes, { status: statusCode, headers: pairs })
}

/** Describe the body as sent, not as returned. */
const CODING_HEADERS: ReadonlySet<string> = new Set(['content-encoding', 'content-length'])

/** Decodes a body up to the limit. Rejects with a Fault. */
const decoded = (bytes: Buffer, coding: string | string[] | undefined, url: string): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const decoder = createDecoder(coding ?? '', {
      origin: originOf(url),
      data: chunk => {
        chunks.push(chunk)
        length += chunk.length
        if (length <= LIMIT_BYTES) return
        reject(new errors.ResponseExceededMaxSizeError())
        if (decoder instanceof Decoder) decoder.destroy()
      },
      ended: fault => (fault === undefined ? resolve(Buffer.concat(chunks)) : reject(fault)),
      drained: nothing,
    })
    if (decoder === undefined) resolve(bytes)
    else if (decoder instanceof Fault) reject(decoder)
    else {
      if (bytes.length > 0) decoder.write(bytes)
      decoder.end(undefined)
    }
  })

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
    const address = hostname.replace(/^\[(.*)\]$/, '$1')
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
