import type { Client, ServerRequestMode } from '../model/links.js'
import { type ClientCapabilities, NO_CAPABILITIES } from '../model/peer.js'
import type { ConnectionSharing, ServerOptions } from './dial.js'

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

/** Returns the share of a client. Capabilities are declared only on connections with known owners. */
export const shareOf = (sharing: ConnectionSharing, client: Client): Share => {
  if (sharing === 'all') return ALL
  const { [sharing]: known } = shares
  let found = known.get(client)
  if (found === undefined || (sharing !== 'principal' && found.workspace !== client.workspace)) {
    found = newShare(sharing, client)
    known.set(client, found)
  }
  return found
}

const newShare = (
  sharing: Exclude<ConnectionSharing, 'all'>,
  { id, principal, capabilities, workspace }: Client,
): Share => {
  if (sharing === 'principal') return share(keyOf(principal, capabilities), capabilities)
  if (sharing === 'session') return share(`session ${id}`, capabilities, workspace)
  // The first client's capabilities hold for the process. Later requests reach only clients that can answer.
  const declared = workspace === undefined ? capabilities : { ...capabilities, roots: { listChanged: true } }
  // A folder holds no NUL.
  const own = share(`${workspace ?? ''}\0${principal}`, declared, workspace)
  return { ...own, root: workspace }
}

/** Cached: each merged list asks for a client's share once per server. */
const shares = {
  session: new WeakMap<Client, Share>(),
  principal: new WeakMap<Client, Share>(),
  workspace: new WeakMap<Client, Share>(),
}

/** Returns whether a server cannot run for a client, because its folder is unknown. */
export const lacksWorkspace = (
  { needsWorkspace }: Pick<ServerOptions, 'needsWorkspace'>,
  { workspace }: Pick<Client, 'workspace'>,
): boolean => needsWorkspace === true && workspace === undefined

/**
 * Returns the key that a server's lists depend on: the mode of its requests and the declared capabilities. A
 * sessionless server lists the same to all (2026-07-28, server/tools, "Listing Tools").
 */
export const profileOf = (capabilities: ClientCapabilities, mode: ServerRequestMode): string => {
  if (mode === 'returned') return mode
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

const fingerprint = ({ roots, sampling, elicitation }: ClientCapabilities): string =>
  [
    roots && `roots${roots.listChanged ? '+' : ''}`,
    sampling && `sampling${sampling.tools ? '+tools' : ''}${sampling.context ? '+context' : ''}`,
    elicitation && `elicitation${elicitation.form ? '+form' : ''}${elicitation.url ? '+url' : ''}`,
  ]
    .filter(part => part !== undefined)
    .join(' ')

const ALL = unownedShare('all')
