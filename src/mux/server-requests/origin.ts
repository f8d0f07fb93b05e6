import type { ServerRequestMode } from '../../model/links.js'

export interface Evidence<C, L> {
  /** The call that it is known to be about; `another` if that is over, or a request of the proxy itself. */
  readonly about: L | 'another' | undefined
  /** The latest call in flight on the connection. */
  readonly latest: L | undefined
  /**
   * Whether all that it could be about belongs to one party: calls in flight, parked, cancelled and timed-out
   * ones, and the proxy's own requests.
   */
  readonly isOnes: boolean
  readonly onlyClient: C | undefined
}

export type Origin<C, L> =
  /** Where it is not `certain`, it may be about any other call on the connection: all belong to one party. */
  | { readonly is: 'call'; readonly call: L; readonly isCertain: boolean }
  | { readonly is: 'client'; readonly client: C }
  | { readonly is: 'ambiguous' }
  | { readonly is: 'none' }

/**
 * Decides where a server request or log message belongs: to the call that it is known to be about; else to
 * the latest call in flight, if everything that it could be about belongs to one party; else to the only
 * client that ever used the connection, if it can receive messages outside its requests. The rest is never
 * guessed and never broadcast. Pure.
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
