import type { Asking, Client } from '../model/links.js'
import { type ClientCapabilities, NO_CAPABILITIES } from '../model/peer.js'
import type { Sharing } from './options.js'

/** Which connections of a server a client uses, one for each way in which the server asks, and what is declared on them. */
export interface Share {
  readonly key: string
  readonly capabilities: ClientCapabilities
}

/** The connections that belong to no client: before the first one came. */
export const nobodysShare = (sharing: Sharing): Share => ({
  key: sharing === 'principal' ? keyOf('local', NO_CAPABILITIES) : '',
  capabilities: NO_CAPABILITIES,
})

/**
 * A downstream connection is keyed by what its users may share: the session, or the principal and what its clients can be
 * asked, or nothing at all. Capabilities are declared only where we know whose they are.
 */
export const shareOf = (sharing: Sharing, client: Client): Share => {
  switch (sharing) {
    case 'session':
      return { key: `session ${client.id}`, capabilities: client.capabilities }
    case 'principal':
      return {
        key: keyOf(client.principal, client.capabilities),
        capabilities: client.capabilities,
      }
    case 'all':
      return nobodysShare('all')
  }
}

/** What is declared on the connection that a client uses. */
export const declaredFor = (sharing: Sharing, { capabilities }: Client): ClientCapabilities =>
  sharing === 'all' ? NO_CAPABILITIES : capabilities

/**
 * What decides what a server says of itself and lists on a connection, beside the server: how it asks, and what it is told that its
 * clients can be asked. One that keeps nothing about us lists the same to all (2026-07-28, server/tools, "Listing Tools").
 */
export const profileOf = (capabilities: ClientCapabilities, asking: Asking): string => {
  if (asking === 'returned') return asking
  const known = profiles.get(capabilities)
  if (known !== undefined) return known
  const profile = `${asking} ${fingerprint(capabilities)}`
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
