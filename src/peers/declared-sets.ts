import { createHash } from 'node:crypto'
import {
  type Declaration,
  joinDeclarations,
  keyOfDeclaration,
  narrowDeclaration,
} from '../model/extensions.js'
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

/** The clients with equal declarations. */
interface Declarers {
  readonly clients: Set<Client>
  readonly declared: Declaration
}

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
  /** By key; a set without clients makes room for another. */
  readonly #sets = new Map<string, Declarers>()
  readonly #known = new WeakMap<Client, Known>()
  /** Cached until a set is added. */
  #together: ClientCapabilities | undefined

  /** `isAlone` if the server is the only one, and exposed unchanged. */
  constructor(isAlone: boolean) {
    this.#isAlone = isAlone
  }

  /** True if lists of the server may differ between clients, because some declared anything. */
  get isSplit(): boolean {
    return this.#sets.size > 0
  }

  /**
   * Declared on requests that serve all clients; the same object until a set is added. Undefined if nothing
   * is declared.
   */
  get together(): ClientCapabilities | undefined {
    if (this.#together === undefined && this.isSplit) {
      const declared = joinDeclarations([...this.#sets.values()].map(one => one.declared))
      this.#together = { ...NO_CAPABILITIES, declared }
    }
    return this.#together
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
    for (const { clients } of this.#sets.values()) clients.delete(client)
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
    const isKnown = key === '' || this.#admit(key, returned, client)
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
  #admit(key: string, declared: Declaration, client: Client): boolean {
    let set = this.#sets.get(key)
    if (set === undefined) {
      for (const [other, { clients }] of this.#sets) {
        if (this.#sets.size < SETS_MAX) break
        if (clients.size === 0) this.#sets.delete(other)
      }
      if (this.#sets.size >= SETS_MAX) return false
      set = { clients: new Set(), declared }
      this.#sets.set(key, set)
      this.#together = undefined
    }
    set.clients.add(client)
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
