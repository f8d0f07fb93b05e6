import type { ClientCapabilities } from '../model/peer.js'

/** What a client must have declared to be asked something. */
export type Ability = 'roots' | 'sampling' | 'sampling.tools' | 'elicitation.form' | 'elicitation.url'

/** Whether a client declared it. */
export const hasAbility = (capabilities: ClientCapabilities, ability: Ability): boolean => {
  switch (ability) {
    case 'roots':
      return capabilities.roots !== undefined
    case 'sampling':
      return capabilities.sampling !== undefined
    case 'sampling.tools':
      return capabilities.sampling?.tools === true
    case 'elicitation.form':
      return capabilities.elicitation?.form === true
    case 'elicitation.url':
      return capabilities.elicitation?.url === true
  }
}

/** A request under way that a question could belong to. */
interface Candidate<C> {
  readonly call: { readonly client: C }
}

/** What is known about where a question comes from. */
export interface Evidence<C, L extends Candidate<C>> {
  /** The request on whose stream it came; `another` if that is none of a client that still waits. */
  readonly about: L | 'another' | undefined
  /** The requests under way on its connection, oldest first. */
  readonly running: readonly L[]
  /** The only client that ever used the connection. */
  readonly onlyClient: C | undefined
}

/** Whose question it is: of a call, of a client outside any call, or not to be known. */
export type Origin<C, L> =
  | { readonly is: 'call'; readonly call: L }
  | { readonly is: 'client'; readonly client: C }
  | { readonly is: 'incapable' }
  | { readonly is: 'ambiguous' }
  | { readonly is: 'none' }

/**
 * Whose question is it? Tried in order: the request on whose stream it came (transports: messages on a POST's stream relate
 * to its request); the only request under way whose client can be asked; of several of one client, the latest; the only
 * client that ever used the connection. What stays open is never guessed and never broadcast. Pure.
 */
export const originOf = <C extends { readonly capabilities: ClientCapabilities }, L extends Candidate<C>>(
  { about, running, onlyClient }: Evidence<C, L>,
  ability: Ability,
): Origin<C, L> => {
  const can = (client: C): boolean => hasAbility(client.capabilities, ability)
  if (about !== undefined && about !== 'another') {
    return can(about.call.client) ? { is: 'call', call: about } : { is: 'incapable' }
  }
  const possible = about === 'another' ? [] : running
  const candidates = possible.filter(({ call }) => can(call.client))
  const latest = candidates.at(-1)
  if (latest !== undefined) {
    const isOneClient = candidates.every(({ call }) => call.client === latest.call.client)
    return isOneClient ? { is: 'call', call: latest } : { is: 'ambiguous' }
  }
  if (onlyClient !== undefined) {
    return can(onlyClient) ? { is: 'client', client: onlyClient } : { is: 'incapable' }
  }
  return possible.length > 0 ? { is: 'incapable' } : { is: 'none' }
}
