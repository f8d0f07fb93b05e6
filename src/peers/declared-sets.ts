import { createHash } from 'node:crypto'
import { type Declaration, keyOfDeclaration, narrowDeclaration } from '../model/extensions.js'
import type { Client, ServerRequestMode } from '../model/links.js'
import { type ClientCapabilities, NO_CAPABILITIES } from '../model/peer.js'

/** Maximum number of different declarations that reach one server. */
const SETS_MAX = 16

/** The extensions that a client declared, as one server learns of them. */
export interface DeclaredSet {
  /** Equal for equal declarations; empty if nothing is declared. */
  readonly key: string
  /** Declared on the proxy's own requests for such clients; undefined if nothing is declared. */
  readonly own: ClientCapabilities | undefined
}

/** The set of clients that declare nothing. */
export const NOTHING_DECLARED: DeclaredSet = { key: '', own: undefined }

interface Known {
  readonly set: DeclaredSet
  /** The client's capabilities for a server of each mode. */
  readonly capabilities: Readonly<Record<ServerRequestMode, ClientCapabilities>>
}

/**
 * The different declarations of the clients of one server. Its lists may depend on them, so their number is
 * limited: the server learns nothing of a further one.
 */
export class DeclaredSets {
  readonly #isAlone: boolean
  /** The clients of each set; a set without clients makes room for another. */
  readonly #clients = new Map<string, Set<Client>>()
  readonly #known = new WeakMap<Client, Known>()

  /** `isAlone` if the server is the only one, and exposed unchanged. */
  constructor(isAlone: boolean) {
    this.#isAlone = isAlone
  }

  /** True if lists of the server may differ between clients, because some declared anything. */
  get isSplit(): boolean {
    return this.#clients.size > 0
  }

  setOf(client: Client): DeclaredSet {
    return this.#of(client)?.set ?? NOTHING_DECLARED
  }

  /** Returns a client's capabilities for a server of a mode; the same object for each request. */
  capabilitiesFor(client: Client, mode: ServerRequestMode): ClientCapabilities {
    return this.#of(client)?.capabilities[mode] ?? client.capabilities
  }

  release(client: Client): void {
    this.#known.delete(client)
    for (const clients of this.#clients.values()) clients.delete(client)
  }

  /** Undefined for clients that declare nothing, which cost nothing. */
  #of(client: Client): Known | undefined {
    const { declared } = client.capabilities
    if (declared === undefined) return undefined
    let known = this.#known.get(client)
    if (known === undefined) {
      known = this.#add(client, declared)
      this.#known.set(client, known)
    }
    return known
  }

  #add(client: Client, declared: Declaration): Known {
    const returned = narrowDeclaration(declared, this.#isAlone, 'returned')
    const key = digest(keyOfDeclaration(returned))
    const isKnown = key === '' || this.#admit(key, client)
    const { capabilities } = client
    const to = (one: Declaration | undefined): ClientCapabilities => ({ ...capabilities, declared: one })
    if (!isKnown)
      return { set: NOTHING_DECLARED, capabilities: { pushed: to(undefined), returned: to(undefined) } }
    const pushed = narrowDeclaration(declared, this.#isAlone, 'pushed')
    return {
      set: key === '' ? NOTHING_DECLARED : { key, own: { ...NO_CAPABILITIES, declared: returned } },
      capabilities: { pushed: to(pushed), returned: to(returned) },
    }
  }

  /** Returns whether there is room for the set of a client. */
  #admit(key: string, client: Client): boolean {
    let clients = this.#clients.get(key)
    if (clients === undefined) {
      for (const [other, users] of this.#clients) {
        if (this.#clients.size < SETS_MAX) break
        if (users.size === 0) this.#clients.delete(other)
      }
      if (this.#clients.size >= SETS_MAX) return false
      clients = new Set()
      this.#clients.set(key, clients)
    }
    clients.add(client)
    return true
  }
}

/** Keys stay in memory and on disk, so long ones are hashed. */
const digest = (text: string): string =>
  text === '' ? '' : createHash('sha256').update(text).digest('base64url')

/** Returns a text that is equal for capabilities with equal declarations; empty for none. */
export const declaredKey = ({ declared }: ClientCapabilities): string => {
  if (declared === undefined) return ''
  let key = keys.get(declared)
  if (key === undefined) {
    key = digest(keyOfDeclaration(declared))
    keys.set(declared, key)
  }
  return key
}

/** Cached: canonical JSON takes time. */
const keys = new WeakMap<Declaration, string>()
