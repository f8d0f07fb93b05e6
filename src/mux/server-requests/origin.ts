import type { ServerRequestMode } from '../../model/links.js'

/** A call in flight that a server message could belong to. */
interface Candidate {
  readonly party: number
  readonly isWaiting: boolean
}

export interface Evidence<C, L extends Candidate> {
  /** The call on whose stream it came; `another` if that is over, or a request of our own. */
  readonly about: L | 'another' | undefined
  readonly running: readonly L[]
  readonly onlyClient: C | undefined
}

export type Origin<C, L> =
  /** `possible` are all the calls that it may belong to where that is not known. */
  | { readonly is: 'call'; readonly call: L; readonly possible: readonly L[] }
  | { readonly is: 'client'; readonly client: C }
  | { readonly is: 'ambiguous' }
  | { readonly is: 'none' }

/**
 * Decides where a server request or log message belongs: to the call on whose stream it came; else to the
 * latest of the calls in flight, if all have the same party, where calls that wait for answers count only if
 * there are no others; else to the only client that ever used the connection, if it can receive messages
 * outside its requests. What remains open is never guessed and never broadcast. Pure.
 */
export const originOf = <C extends { readonly serverRequests: ServerRequestMode }, L extends Candidate>({
  about,
  running,
  onlyClient,
}: Evidence<C, L>): Origin<C, L> => {
  if (about !== undefined && about !== 'another') return { is: 'call', call: about, possible: [] }
  const awake = running.filter(({ isWaiting }) => !isWaiting)
  const possible = awake.length > 0 ? awake : running
  const latest = about === undefined ? possible.at(-1) : undefined
  if (latest !== undefined) {
    const isOnes = possible.every(({ party }) => party === latest.party)
    return isOnes ? { is: 'call', call: latest, possible } : { is: 'ambiguous' }
  }
  return onlyClient?.serverRequests === 'pushed' ? { is: 'client', client: onlyClient } : { is: 'none' }
}
