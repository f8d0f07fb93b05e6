import { sanitizeLine } from '../secrets/mask.js'

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
  /** The credential does not allow it; `data.scope` says what does, separated by spaces. */
  | 'forbidden'
  | 'cancelled'
  | 'too-large'
  /** The server did not run the request: it may be sent again. */
  | 'session-lost'
  /** The same if the server was replaced by one of another kind; else nobody knows whether it ran. */
  | 'maybe-replaced'

/** The code of a system error of Node, such as `ENOENT`; undefined for anything else that was thrown. */
export const systemCode = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'code' in thrown ? String(thrown.code) : undefined

/** What a peer may learn beside the message; never secrets, paths or stack traces. */
export type FaultData = Readonly<Record<string, unknown>>

/** What a fault may carry beside its code and message. */
export interface FaultOptions {
  readonly data?: FaultData
  readonly cause?: unknown
  readonly stderrTail?: readonly string[] | undefined
  /** Lines that follow the message, each held to the same. */
  readonly lines?: readonly string[]
}

/**
 * The one error class of the proxy. `message` is written for the peer that will read it: words of another
 * peer may stand in it, as it is made one line of plain text, without secrets, of 1 KiB at most. `cause` is
 * for our log only and never leaves the process.
 */
export class Fault extends Error {
  /** As the log tells it, where the build gives the class itself another name (bin/bundle.js). */
  static override readonly name = 'Fault'
  readonly code: FaultCode
  readonly data: FaultData | undefined
  /**
   * What a program last wrote to stderr before it ended, oldest line first; plain text without secrets of
   * ours. Goes to a peer only where somebody decided that it holds nothing of others.
   */
  readonly stderrTail: readonly string[] | undefined

  constructor(code: FaultCode, message: string, more: FaultOptions = {}) {
    super(
      [message, ...(more.lines ?? [])].map(words => sanitizeLine(words)).join('\n'),
      more.cause === undefined ? undefined : { cause: more.cause },
    )
    this.name = 'Fault'
    this.code = code
    this.data = more.data
    this.stderrTail = more.stderrTail
  }

  /** The same as a fault of this server, which its words name from then on, unless they name one already. */
  about(server: string, data: FaultData = {}): Fault {
    if (this.data?.['server'] !== undefined) return this
    return new Fault(this.code, `Server ${server}: ${this.message}`, {
      data: { ...this.data, server, ...data },
      cause: this,
    })
  }

  /** Anything that was thrown, as a Fault; what we did not foresee becomes `internal` and keeps its cause. */
  static from(thrown: unknown): Fault {
    if (thrown instanceof Fault) return thrown
    return new Fault('internal', 'Internal error in the proxy', { cause: thrown })
  }
}
