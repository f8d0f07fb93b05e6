import type { ServerRequestMode } from '../../model/links.js'

export interface Evidence<C, L> {
  /** The known call; `another` if that call is over, or a request of the proxy itself. */
  readonly about: L | 'another' | undefined
  /** The latest call in flight on the connection. */
  readonly latest: L | undefined
  /**
   * True if all possible origins belong to one party: calls in flight, parked, cancelled and timed-out ones,
   * and the proxy's own requests.
   */
  readonly isOnes: boolean
  readonly onlyClient: C | undefined
}

export type Origin<C, L> =
  /** Without `isCertain`, any other call on the connection is possible too; all belong to one party. */
  | { readonly is: 'call'; readonly call: L; readonly isCertain: boolean }
  | { readonly is: 'client'; readonly client: C }
  | { readonly is: 'ambiguous' }
  | { readonly is: 'none' }

/**
 * Decides the origin of a server request or log message: the known call; else the latest call in flight, if
 * all possible origins belong to one party; else the only client that ever used the connection, if it can
 * receive messages outside its requests. The rest is never guessed and never broadcast. Pure.
 */
export const originOf = <C extends { readonly serverRequests: ServerRequestMode }, L>({
  about,
  latest,
  isOnes,
  onlyClient,
}: Evidence<C, L>): Origin<C, L> => {
  if (about !== undefined && about !== 'another') return { is: 'call', call: about, isCertain: true }
  if (about === undefined && latest !== undefined)
    return isOnes ? { is: 'call', call: latest, isCertain: false } : { is: 'ambiguous' }
  return onlyClient?.serverRequests === 'pushed' ? { is: 'client', client: onlyClient } : { is: 'none' }
}
