import type { Asking } from '../model/links.js'
import type { ClientCapabilities } from '../model/peer.js'
import { type Ability, hasAbility } from './abilities.js'
import { mayNeedInput } from './digests.js'

/** Who may be asked. */
interface Person {
  readonly capabilities: ClientCapabilities
  readonly asking: Asking
}

/** A request under way that a question could belong to. */
interface Candidate<C> {
  readonly call: { readonly client: C; readonly method: string }
  /** Its client has questions to answer already. */
  readonly isParked: boolean
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
 * to its request); the only request under way whose client can be asked; of several of one client, the latest that is not
 * parked; the only client that ever used the connection. A client whose questions are returned is asked in answers to a few
 * requests only (2026-07-28, basic/patterns/mrtr). What stays open is never guessed and never broadcast. Pure.
 */
export const originOf = <C extends Person, L extends Candidate<C>>(
  { about, running, onlyClient }: Evidence<C, L>,
  ability: Ability,
): Origin<C, L> => {
  const can = (client: C): boolean => hasAbility(client.capabilities, ability)
  if (about !== undefined && about !== 'another') {
    if (!mayAsk(about)) return { is: 'none' }
    return can(about.call.client) ? { is: 'call', call: about } : { is: 'incapable' }
  }
  const possible = about === 'another' ? [] : running.filter(mayAsk)
  const candidates = possible.filter(({ call }) => can(call.client))
  const latest = candidates.findLast(({ isParked }) => !isParked) ?? candidates.at(-1)
  if (latest !== undefined) {
    const isOneClient = candidates.every(({ call }) => call.client === latest.call.client)
    return isOneClient ? { is: 'call', call: latest } : { is: 'ambiguous' }
  }
  if (onlyClient?.asking === 'pushed') {
    return can(onlyClient) ? { is: 'client', client: onlyClient } : { is: 'incapable' }
  }
  return possible.length > 0 ? { is: 'incapable' } : { is: 'none' }
}

/** Whether a question may stand in the answer to this request, or be asked beside it. */
const mayAsk = ({ call }: Candidate<Person>): boolean =>
  call.client.asking === 'pushed' || mayNeedInput(call.method)
