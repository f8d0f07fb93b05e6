import { sanitizeLine } from './secrets/mask.js'

/** The reason an operation failed; a closed list, so that every encoder handles each code. */
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
  /** The credential lacks a scope; `data.scope` lists the required ones, separated by spaces. */
  | 'forbidden'
  /** A rule, the lock file, the audit log or a person refuses the call; `data.reason` names the reason. */
  | 'refused'
  | 'cancelled'
  | 'too-large'
  /** The server did not run the request, so it may be sent again. */
  | 'session-lost'
  /**
   * Like `session-lost` if the server was replaced by a different one; otherwise it may have run the request.
   */
  | 'maybe-replaced'

/** Returns the code of a Node system error, such as `ENOENT`; undefined for any other value. */
export const systemCode = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'code' in thrown ? String(thrown.code) : undefined

/** Codes of a write to a pipe or socket whose reader is gone; Windows also reports EOF. */
const READER_GONE: ReadonlySet<string | undefined> = new Set(['ECONNRESET', 'EOF', 'EPIPE'])

/**
 * Reports whether a stream failed because the other end closed it. Since libuv 1.49, Windows reports EAGAIN
 * for a write to a closed pipe (libuv#4471); elsewhere a failed connection attempt may report it.
 */
export const isBrokenPipe = (thrown: unknown): boolean => {
  const code = systemCode(thrown)
  return READER_GONE.has(code) || (code === 'EAGAIN' && (thrown as NodeJS.ErrnoException).syscall === 'write')
}

/** Details that a peer may read in addition to the message; never secrets, paths or stack traces. */
export type FaultData = Readonly<Record<string, unknown>>

/**
 * The form of a remote server's failure, for reports: `reason` if it gave one, `gateway` if something in
 * front of it answered, `page` if the answer is not MCP, `certificate` if it requires a client certificate.
 */
export type RemoteFailure = 'reason' | 'gateway' | 'page' | 'certificate'

/** Optional parts of a Fault. */
export interface FaultOptions {
  readonly data?: FaultData | undefined
  readonly cause?: unknown
  readonly remote?: RemoteFailure | undefined
  readonly stderrTail?: readonly string[] | undefined
  /** Lines that follow the message, each sanitized like it. */
  readonly lines?: readonly string[]
}

/**
 * The only error class of the proxy. `message` is written for the peer that receives it and may quote another
 * peer: it is reduced to one line of plain text, without secrets, of at most 1 KiB. `cause` is for the log
 * and never leaves the process.
 */
export class Fault extends Error {
  /** The name in logs, where the build renames the class (bin/build.mjs). */
  static override readonly name = 'Fault'
  readonly code: FaultCode
  readonly data: FaultData | undefined
  readonly remote: RemoteFailure | undefined
  /**
   * The last lines that a program wrote to stderr before it exited, oldest first; plain text with our secrets
   * masked. Sent to a peer only where it cannot contain data of other users.
   */
  readonly stderrTail: readonly string[] | undefined

  constructor(code: FaultCode, message: string, more: FaultOptions = {}) {
    super(
      [message, ...(more.lines ?? [])].map(line => sanitizeLine(line)).join('\n'),
      more.cause === undefined ? undefined : { cause: more.cause },
    )
    this.name = 'Fault'
    this.code = code
    this.data = more.data
    this.remote = more.remote
    this.stderrTail = more.stderrTail
  }

  /** Attributes the fault to a server, and names it in the message unless one is named already. */
  about(server: string, data: FaultData = {}): Fault {
    if (this.data?.['server'] !== undefined) return this
    return new Fault(this.code, `Server ${server}: ${this.message}`, {
      data: { ...this.data, server, ...data },
      remote: this.remote,
      cause: this,
    })
  }

  /** Converts any thrown value to a Fault; unexpected errors become `internal` and keep their cause. */
  static from(thrown: unknown): Fault {
    if (thrown instanceof Fault) return thrown
    return new Fault('internal', 'Internal error in the proxy', { cause: thrown })
  }
}
