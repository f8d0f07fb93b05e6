import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { parseNetwork } from '../../machine/networks.js'
import type { IncomingRequest } from '../node-internals.js'

/** Addresses in one `X-Forwarded-For` that are looked at, from the nearest proxy on. */
const MOST_HOPS = 32

/** Finds the clients behind reverse proxies: those in these networks say whom they pass on. */
export class TrustedProxies {
  readonly #networks = new BlockList()

  /** Leaves out texts that are not networks. */
  constructor(networks: readonly string[]) {
    for (const text of networks) {
      const network = parseNetwork(text)
      if (network !== undefined) this.#networks.addSubnet(...network)
    }
  }

  /** The client's address by `X-Forwarded-For`; undefined if the peer is the client, or not trusted. */
  clientOf({ headers, socket: { remoteAddress = '' } }: IncomingMessage): string | undefined {
    const forwarded = headers['x-forwarded-for']?.toString()
    if (forwarded === undefined || !this.#has(plain(remoteAddress))) return undefined
    let client: string | undefined
    // Each proxy appends the address of its peer: what stands left of an address that is not ours is claimed.
    for (const hop of forwarded.split(',').slice(-MOST_HOPS).reverse()) {
      const address = plain(hop)
      if (isIP(address) === 0) break
      client = address
      if (!this.#has(address)) break
    }
    return client
  }

  #has(address: string): boolean {
    const version = isIP(address)
    return version !== 0 && this.#networks.check(address, version === 4 ? 'ipv4' : 'ipv6')
  }
}

/** An address without port, brackets, zone and mapping into IPv6. */
const plain = (text: string): string =>
  text
    .trim()
    .replace(/^\[(.*)\](?::\d+)?$/, '$1')
    .replace(/^([\d.]+):\d+$/, '$1')
    .replace(/%.*$/, '')
    .replace(/^::ffff:(?=[\d.]+$)/i, '')

/** Where a request comes from: the client that a trusted proxy names, otherwise the peer. */
export const clientAddressOf = (request: IncomingMessage): string =>
  (request as Partial<IncomingRequest>).clientAddress ?? request.socket.remoteAddress ?? ''
