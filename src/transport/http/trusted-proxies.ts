import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { parseNetwork, unmapped } from '../../kernel/machine/networks.js'

/** Maximum addresses examined in an `X-Forwarded-For`, from the nearest proxy on. */
const MOST_HOPS = 32

/** Finds the address of clients behind reverse proxies in these networks. */
export class TrustedProxies {
  readonly #networks = new BlockList()

  /** Ignores invalid networks. */
  constructor(networks: readonly string[]) {
    for (const text of networks) {
      const network = parseNetwork(text)
      if (network !== undefined) this.#networks.addSubnet(...network)
    }
  }

  /**
   * Returns the client's address from `X-Forwarded-For`; undefined if the peer is the client, or untrusted.
   */
  clientOf({ headers, socket: { remoteAddress = '' } }: IncomingMessage): string | undefined {
    const forwarded = headers['x-forwarded-for']?.toString()
    if (forwarded === undefined || !this.#has(plain(remoteAddress))) return undefined
    let client: string | undefined
    // Each proxy appends the address of its peer: entries left of an untrusted address may be forged.
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

/** Strips port, brackets, zone and the IPv6 mapping from an address. */
const plain = (text: string): string =>
  unmapped(
    text
      .trim()
      .replace(/^\[(.*)\](?::\d+)?$/, '$1')
      .replace(/^([\d.]+):\d+$/, '$1')
      .replace(/%.*$/, ''),
  )
