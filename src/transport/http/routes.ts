import type { LookupFunction, Socket } from 'node:net'
import type * as undici from 'undici'
import type { Dispatcher } from 'undici'
import { type ForwardProxy, type ProxyRules, proxyFor } from '../../kernel/machine/forward-proxy.js'
import { type TlsSettings, tlsOptions } from '../../kernel/machine/tls-settings.js'
import { nothing } from '../../kernel/nothing.js'
import { bareHost, portOf } from '../../kernel/url-address.js'
import { watchCertificateRequest } from './certificate-requests.js'
import { transferFault } from './faults.js'
import { proxyAddress } from './proxy-address.js'
import { openTunnel } from './tunnel.js'
import { Agent, buildConnector, errors } from './undici-parts.js'

/** The configured way to a server. */
export interface RemoteNetwork {
  /** The local socket that all requests use, whatever their host; it needs no proxy and no TLS. */
  readonly socketPath?: string | undefined
  readonly proxy?: ProxyRules | undefined
  /** For connections to servers; a proxy gets the defaults. */
  readonly tls?: TlsSettings | undefined
}

export interface RouteOptions extends RemoteNetwork {
  /** From the first packet to an open (TLS) connection, in milliseconds. */
  readonly connectTimeoutMs: number
  /** Further options of undici's agents. */
  readonly agent?: Omit<undici.Agent.Options, 'connect'>
  /** Resolves names for direct connections. */
  readonly lookup?: LookupFunction
}

/** A URL in undici's format, with the connections that lead to it. */
export interface OutboundRoute {
  readonly dispatcher: Dispatcher
  readonly origin: string
  readonly path: string
  /** Headers for the proxy. */
  readonly headers?: Readonly<Record<string, string>>
  /** Set if a proxy passes the requests on unencrypted, and its own answers look like the server's. */
  readonly proxy?: ForwardProxy
}

/** Parsing a URL costs a tenth of a call, so the few URLs in use are cached. */
const ROUTES_MAX = 100

/** Finds the connections for URLs: direct ones, or through the forward proxy that the rules name. */
export class Routes {
  readonly #options: RouteOptions
  readonly #direct: Dispatcher
  readonly #known = new Map<string, OutboundRoute>()
  /** Unencrypted requests: a proxy gets them whole, because many allow CONNECT to port 443 only. */
  #toProxy: Dispatcher | undefined
  #tunneled: Dispatcher | undefined

  constructor(options: RouteOptions) {
    this.#options = options
    const { agent, connectTimeoutMs: timeout, tls = {}, lookup, socketPath } = options
    const { autoSelectFamily } = agent ?? {}
    const direct = {
      ...tlsOptions(tls),
      ...(lookup !== undefined && { lookup }),
      ...(autoSelectFamily !== undefined && { autoSelectFamily }),
    }
    this.#direct = new Agent({
      ...agent,
      connect: connector({ timeout, ...(socketPath === undefined ? direct : { socketPath }) }),
    })
  }

  /** Throws for a URL that is not HTTP, and a Fault for an invalid proxy. */
  of(url: string): OutboundRoute {
    let route = this.#known.get(url)
    if (route === undefined) {
      route = this.#find(url)
      if (this.#known.size >= ROUTES_MAX) this.#known.clear()
      this.#known.set(url, route)
    }
    return route
  }

  async close(): Promise<void> {
    const all = [this.#direct, this.#toProxy, this.#tunneled].filter(each => each !== undefined)
    await Promise.all(all.map(each => each.destroy().catch(nothing)))
  }

  #find(url: string): OutboundRoute {
    const { origin, host, pathname, protocol, search } = new URL(url)
    if (protocol !== 'http:' && (protocol !== 'https:' || this.#options.socketPath !== undefined)) {
      throw new errors.InvalidArgumentError('not an HTTP URL')
    }
    const path = pathname + search
    const { socketPath, proxy: rules } = this.#options
    const proxy = socketPath === undefined ? proxyFor(rules, url) : undefined
    if (proxy === undefined) return { dispatcher: this.#direct, origin, path }
    const address = proxyAddress(proxy)
    if (protocol === 'https:') return { dispatcher: this.#tunnels(proxy), origin, path }
    return {
      dispatcher: this.#proxied(),
      origin: address.origin,
      path: `${origin}${path}`,
      headers: { ...address.headers, host },
      proxy,
    }
  }

  #proxied(): Dispatcher {
    const { agent, connectTimeoutMs: timeout } = this.#options
    this.#toProxy ??= new Agent({ ...agent, connect: { timeout } })
    return this.#toProxy
  }

  /** All `https` URLs have the same proxy. */
  #tunnels(proxy: ForwardProxy): Dispatcher {
    const { agent, connectTimeoutMs: timeout, tls = {} } = this.#options
    const encrypt = connector({ timeout, ...tlsOptions(tls) })
    const connect: undici.buildConnector.connector = (options, done) => {
      const host = bareHost(options.hostname)
      openTunnel(proxy, { host, port: portOf(options) }, timeout).then(
        socket => encrypt({ ...options, httpSocket: socket }, done),
        (thrown: unknown) => done(transferFault(thrown, `https://${host}`), null),
      )
    }
    this.#tunneled ??= new Agent({ ...agent, connect })
    return this.#tunneled
  }
}

/** Creates a connector whose connections tell if their server requires a client certificate. */
const connector = (options: undici.buildConnector.BuildOptions): undici.buildConnector.connector => {
  // The types lack its result.
  const connect = buildConnector(options) as (...all: Parameters<undici.buildConnector.connector>) => Socket
  return (target, done) => watchCertificateRequest(connect(target, done))
}
