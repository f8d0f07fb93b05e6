import type { Client, ServerRequestMode } from '../model/links.js'
import { type ClientCapabilities, NO_CAPABILITIES } from '../model/peer.js'
import type { Sharing } from './options.js'

/** Which connections of a server a client uses, one for each way in which the server asks, and what is declared on them. */
export interface Share {
  readonly key: string
  /** The key of the connection on which the server asks in one way. */
  readonly keys: Readonly<Record<ServerRequestMode, string>>
  readonly capabilities: ClientCapabilities
}

const share = (key: string, capabilities: ClientCapabilities): Share => ({
  key,
  keys: { pushed: `pushed ${key}`, returned: `returned ${key}` },
  capabilities,
})

/** The connections that belong to no client: before the first one came. */
export const nobodysShare = (sharing: Sharing): Share =>
  share(sharing === 'principal' ? keyOf('local', NO_CAPABILITIES) : '', NO_CAPABILITIES)

/**
 * A downstream connection is keyed by what its users may share: the session, or the principal and what its clients can be
 * asked, or nothing at all. Capabilities are declared only where we know whose they are.
 */
export const shareOf = (sharing: Sharing, client: Client): Share => {
  if (sharing === 'all') return ALL
  const { [sharing]: known } = shares
  let found = known.get(client)
  if (found === undefined) {
    const { id, principal, capabilities } = client
    found = share(sharing === 'session' ? `session ${id}` : keyOf(principal, capabilities), capabilities)
    known.set(client, found)
  }
  return found
}

/** Each list that a client asks for asks for them, once for each server. */
const shares = { session: new WeakMap<Client, Share>(), principal: new WeakMap<Client, Share>() }

/** What is declared on the connection that a client uses. */
export const declaredFor = (sharing: Sharing, { capabilities }: Client): ClientCapabilities =>
  sharing === 'all' ? NO_CAPABILITIES : capabilities

/**
 * What decides what a server says of itself and lists on a connection, beside the server: how it asks, and what it is told that its
 * clients can be asked. One that keeps nothing about us lists the same to all (2026-07-28, server/tools, "Listing Tools").
 */
export const profileOf = (capabilities: ClientCapabilities, mode: ServerRequestMode): string => {
  if (mode === 'returned') return mode
  const known = profiles.get(capabilities)
  if (known !== undefined) return known
  const profile = `${mode} ${fingerprint(capabilities)}`
  profiles.set(capabilities, profile)
  return profile
}

/** Of what clients declare: each list that a client asks for asks for it, once for each server. */
const profiles = new WeakMap<ClientCapabilities, string>()

/** The fingerprint stands first and holds no NUL, so no principal can be written such that it meets another one's key. */
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

const ALL = nobodysShare('all')
