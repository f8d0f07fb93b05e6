/** Why something of ours could not be done; closed, so that every place that answers a peer handles each. */
export type FaultCode =
  | 'parse-error'
  | 'invalid-request'
  | 'unknown-method'
  | 'invalid-params'
  | 'unknown-resource'
  | 'internal'
  | 'unavailable'
  | 'timeout'
  | 'disconnected'
  | 'overloaded'
  | 'unauthorized'
  | 'cancelled'
  | 'too-large'
  | 'session-lost'

/** What a peer may learn beside the message; never secrets, paths or stack traces. */
export type FaultData = Readonly<Record<string, unknown>>

/** What a fault may carry beside its code and message. */
export interface FaultMore {
  readonly data?: FaultData
  readonly cause?: unknown
  readonly lastWords?: readonly string[] | undefined
}

/**
 * The one error class of the proxy. `message` is written for the peer that will read it; `cause` is for our
 * log only and never leaves the process.
 */
export class Fault extends Error {
  /** As the log tells it, where the build gives the class itself another name (bin/bundle.js). */
  static override readonly name = 'Fault'
  readonly code: FaultCode
  readonly data: FaultData | undefined
  /**
   * What a program last wrote to stderr before it ended, oldest line first; plain text without secrets of ours. Goes to a peer only
   * where somebody decided that it holds nothing of others.
   */
  readonly lastWords: readonly string[] | undefined

  constructor(code: FaultCode, message: string, more: FaultMore = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.name = 'Fault'
    this.code = code
    this.data = more.data
    this.lastWords = more.lastWords
  }

  /** Anything that was thrown, as a Fault; what we did not foresee becomes `internal` and keeps its cause. */
  static from(thrown: unknown): Fault {
    if (thrown instanceof Fault) return thrown
    return new Fault('internal', 'Internal error in the proxy', { cause: thrown })
  }
}
