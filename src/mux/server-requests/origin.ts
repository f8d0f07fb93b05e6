import type { ServerRequestMode } from '../../model/links.js'

/** A request under way that something a server says could belong to. */
interface Candidate {
  /** Whose it is: no two people have the same. */
  readonly party: number
  /** Its server asked something, and waits for the answer. */
  readonly isWaiting: boolean
}

/** What is known about where something that a server says comes from. */
export interface Evidence<C, L extends Candidate> {
  /** The request on whose stream it came; `another` if that is none of a client that still waits. */
  readonly about: L | 'another' | undefined
  /** The requests under way on its connection, oldest first. */
  readonly running: readonly L[]
  /** The only client that ever used the connection. */
  readonly onlyClient: C | undefined
}

/** Whose it is: a call's, a client's outside any call, or not to be known. */
export type Origin<C, L> =
  | { readonly is: 'call'; readonly call: L }
  | { readonly is: 'client'; readonly client: C }
  | { readonly is: 'ambiguous' }
  | { readonly is: 'none' }

/**
 * Whose is a question, or a log message, of a server? Tried in order: the request on whose stream it came (transports: messages on
 * a POST's stream relate to its request); the latest of the requests under way, if all are one party's, where those that wait for
 * answers do not count beside others; the only client that ever used the connection, if it can be told anything outside its
 * requests. What stays open is never guessed and never broadcast. Pure.
 */
export const originOf = <C extends { readonly serverRequests: ServerRequestMode }, L extends Candidate>({
  about,
  running,
  onlyClient,
}: Evidence<C, L>): Origin<C, L> => {
  if (about !== undefined && about !== 'another') return { is: 'call', call: about }
  const awake = running.filter(({ isWaiting }) => !isWaiting)
  const possible = awake.length > 0 ? awake : running
  const latest = about === undefined ? possible.at(-1) : undefined
  if (latest !== undefined) {
    const isOnes = possible.every(({ party }) => party === latest.party)
    return isOnes ? { is: 'call', call: latest } : { is: 'ambiguous' }
  }
  return onlyClient?.serverRequests === 'pushed' ? { is: 'client', client: onlyClient } : { is: 'none' }
}
