import type { PassedHeaders } from '../kernel/header-patterns.js'
import type { Client, ServerRequestMode } from '../model/links.js'
import { type ClientCapabilities, NO_CAPABILITIES } from '../model/peer.js'
import { type DeclaredSet, DeclaredSets, declaredKey, NOTHING_DECLARED } from './declared-sets.js'
import type { ConnectionSharing, HeaderPassing, ServerOptions } from './dial.js'

/**
 * Identifies a client's connection to a server in each mode of server requests, and the capabilities declared
 * on it.
 */
export interface Share {
  readonly key: string
  readonly keys: Readonly<Record<ServerRequestMode, string>>
  readonly capabilities: ClientCapabilities
  /** The folder that all clients of the connection share. */
  readonly workspace: string | undefined
  /** The folder reported as root for clients without roots. */
  readonly root?: string | undefined
  /** The headers that all clients of the connection have, and their key, for servers that get some. */
  readonly headers?: PassedHeaders | undefined
  readonly headersKey?: string | undefined
}

const share = (key: string, capabilities: ClientCapabilities, workspace?: string): Share => ({
  key,
  workspace,
  keys: { pushed: `pushed ${key}`, returned: `returned ${key}` },
  capabilities,
})

/** Returns the share of connections that open before any client uses them. */
export const unownedShare = (sharing: ConnectionSharing): Share =>
  share(sharing === 'principal' ? keyOf('local', NO_CAPABILITIES) : '', NO_CAPABILITIES)

/**
 * Returns the share of a client, whose capabilities are `declared` to the server. Nothing is declared on
 * connections without known owners.
 *
 * @internal
 */
export const shareOf = (
  sharing: ConnectionSharing,
  client: Client,
  declared: ClientCapabilities = client.capabilities,
): Share => {
  if (sharing === 'all') return ALL
  const { [sharing]: known } = shares
  let found = known.get(client)
  const isMoved = sharing !== 'principal' && found?.share.workspace !== client.workspace
  if (found?.declared !== declared || isMoved) {
    found = { declared, share: newShare(sharing, client, declared) }
    known.set(client, found)
  }
  return found.share
}

const newShare = (
  sharing: Exclude<ConnectionSharing, 'all'>,
  { id, principal, workspace }: Client,
  capabilities: ClientCapabilities,
): Share => {
  if (sharing === 'principal') return share(keyOf(principal, capabilities), capabilities)
  if (sharing === 'session') return share(`session ${id}`, capabilities, workspace)
  // The first client's capabilities hold for the process. Later requests reach only clients that can answer.
  const declared = workspace === undefined ? capabilities : { ...capabilities, roots: { listChanged: true } }
  // A folder holds no NUL.
  const own = share(`${workspace ?? ''}\0${principal}`, declared, workspace)
  return { ...own, root: workspace }
}

interface ClientShare {
  readonly declared: ClientCapabilities
  readonly share: Share
}

/** The shares of the clients of one server, and what they declare to it. */
export class ClientShares {
  /** True if the server is the only one, and exposed unchanged. */
  readonly isAlone: boolean
  readonly #server: Pick<ServerOptions, 'sharing' | 'passing'>
  readonly #passed = new WeakMap<Client, { readonly own: Share; readonly share: Share }>()
  readonly #declared: DeclaredSets

  constructor(server: Pick<ServerOptions, 'sharing' | 'passing'>, isAlone = false) {
    this.isAlone = isAlone
    this.#server = server
    this.#declared = new DeclaredSets(isAlone)
  }

  of(client: Client): Share {
    const own = shareOf(this.#server.sharing, client, this.#declared.capabilitiesFor(client, 'pushed'))
    return this.#server.passing === undefined ? own : this.#withHeaders(own, client, this.#server.passing)
  }

  /** A connection has one set of headers: the one with which the client began. */
  #withHeaders(own: Share, client: Client, passing: HeaderPassing): Share {
    const known = this.#passed.get(client)
    if (known?.own === own) return known.share
    const headers = known === undefined ? passing.of(client.caller) : known.share.headers
    const key = headers === undefined ? '' : passing.keyOf(headers)
    const { capabilities, workspace, root } = own
    // The key holds no NUL.
    const split = { ...share(`${key}\0${own.key}`, capabilities, workspace), root, headers, headersKey: key }
    this.#passed.set(client, { own, share: split })
    return split
  }

  declaredBy(client: Client): DeclaredSet {
    return this.#declared.setOf(client)
  }

  /** Returns a client's capabilities for requests to a server that learns of them in each request. */
  capabilitiesFor(client: Client): ClientCapabilities {
    return this.#declared.capabilitiesFor(client, 'returned')
  }

  /** Declared on the proxy's own requests for all clients; undefined if nothing is declared. */
  get together(): ClientCapabilities | undefined {
    return this.#declared.together
  }

  /** True if lists of the server may differ between clients, because some declared anything. */
  get isSplit(): boolean {
    return this.#declared.isSplit
  }

  release(client: Client): void {
    this.#declared.release(client)
  }
}

/** Cached: each merged list asks for a client's share once per server. */
const shares = {
  session: new WeakMap<Client, ClientShare>(),
  principal: new WeakMap<Client, ClientShare>(),
  workspace: new WeakMap<Client, ClientShare>(),
}

/** Returns whether a server cannot run for a client, because its folder is unknown. */
export const lacksWorkspace = (
  { needsWorkspace }: Pick<ServerOptions, 'needsWorkspace'>,
  { workspace }: Pick<Client, 'workspace'>,
): boolean => needsWorkspace === true && workspace === undefined

/**
 * Returns the key that a server's lists depend on: the mode of its requests and the declared capabilities.
 * Lists of a sessionless server may depend only on the extensions in the request (2026-07-28, server/tools,
 * "Listing Tools").
 */
export const profileOf = (
  capabilities: ClientCapabilities,
  mode: ServerRequestMode,
  set: DeclaredSet = NOTHING_DECLARED,
  headersKey = '',
): string => {
  if (headersKey !== '') return `${profileOf(capabilities, mode, set)} ${headersKey}`
  if (mode === 'returned') return set.key === '' ? mode : `${mode} ${set.key}`
  const known = profiles.get(capabilities)
  if (known !== undefined) return known
  const profile = `${mode} ${fingerprint(capabilities)}`
  profiles.set(capabilities, profile)
  return profile
}

/** Cached for the same reason. */
const profiles = new WeakMap<ClientCapabilities, string>()

/** The fingerprint comes first and holds no NUL, so that no principal can forge another one's key. */
const keyOf = (principal: string, capabilities: ClientCapabilities): string =>
  `${fingerprint(capabilities)}\0${principal}`

const fingerprint = (capabilities: ClientCapabilities): string => {
  const { roots, sampling, elicitation } = capabilities
  const key = declaredKey(capabilities)
  return [
    roots && `roots${roots.listChanged ? '+' : ''}`,
    sampling && `sampling${sampling.tools ? '+tools' : ''}${sampling.context ? '+context' : ''}`,
    elicitation && `elicitation${elicitation.form ? '+form' : ''}${elicitation.url ? '+url' : ''}`,
    key === '' ? undefined : `declared ${key}`,
  ]
    .filter(part => part !== undefined)
    .join(' ')
}

const ALL = unownedShare('all')
