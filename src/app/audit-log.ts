import { createWriteStream, fstatSync, openSync } from 'node:fs'
import type { AuditConfig } from '../config/types.js'
import type { Clock } from '../kernel/async/clock.js'
import { Fault } from '../kernel/faults.js'
import type { Logger } from '../kernel/logger.js'
import { maskAddress, said } from '../kernel/mask.js'
import type { ClientHandler } from '../model/links.js'
import type { Principal } from '../model/peer.js'
import { Audit } from '../mux/calls/audit.js'
import type { OnAsked } from '../mux/server-requests/server-requests.js'
import type { RefusedRequest } from '../transport/http/gate.js'
import { LinePace } from './guarded-logger.js'
import { createStderrSink } from './logger.js'
import { isPrivate } from './state/private-file.js'

/** Where audit lines go. */
interface AuditSink {
  /** Takes one line without its end. */
  write(line: string): void
  /** Goes on in a new file, if somebody has moved the old one away. */
  reopen(): void
  /** Resolves when all that was written is on its way. Never rejects. */
  close(): Promise<void>
}

/** What waits for a disk that does not keep up; further lines are dropped, and counted. */
const QUEUE_BYTES = 16 * 1024 * 1024

const stderrSink = (): AuditSink => {
  const sink = createStderrSink()
  return {
    write: line => sink.write(`${line}\n`),
    reopen: () => undefined,
    close: () => Promise.resolve(),
  }
}

/** What writes lines about what clients do, if the configuration wants them; the looks-on are undefined where it does not. */
export interface AuditLog {
  /** The reception to report to in place of this one; this very one if nothing is written. */
  wrap(reception: ClientHandler): ClientHandler
  readonly onAsked: OnAsked | undefined
  readonly onRefused: ((refused: RefusedRequest, principal: Principal) => void) | undefined
  /** What came of a reload. */
  reloaded(result: object): void
  /** Goes on in a new file, if somebody has moved the old one away. */
  reopen(): void
  /** Resolves when all lines are on their way. Never rejects. */
  close(): Promise<void>
}

const NO_AUDIT: AuditLog = {
  wrap: reception => reception,
  onAsked: undefined,
  onRefused: undefined,
  reloaded: () => undefined,
  reopen: () => undefined,
  close: () => Promise.resolve(),
}

/** Opens where the configuration wants audit lines. Throws a Fault `unavailable` if the file cannot be written to. */
export const openAudit = (
  config: AuditConfig | undefined,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): AuditLog => {
  if (config === undefined) return NO_AUDIT
  const { to, withArguments } = config
  const sink = to === 'stderr' ? stderrSink() : new AuditFile(to.file, { clock, log })
  const audit = new Audit({ write: line => sink.write(line), clock, now: () => new Date(), withArguments })
  const pace = new LinePace(clock)
  return {
    wrap: reception => audit.wrap(reception),
    onAsked: audit.asked,
    onRefused({ status, remoteAddress: address, method, path, host, origin }, principal) {
      const unlogged = pace.admit(`${status} ${address}`)
      if (unlogged === undefined) return
      audit.write('refused', {
        principal,
        address,
        status,
        method,
        path: path && said(maskAddress(path)),
        host: host && said(host),
        origin: origin && said(origin),
        ...(unlogged > 0 && { unlogged }),
      })
    },
    reloaded: result => audit.write('reload', { ...result }),
    reopen: () => sink.reopen(),
    close: () => sink.close(),
  }
}

/** How soon a file is tried again that could not be written to. */
const RETRY_MS = 5000

/** Appends to a file that only its user can read. A disk that fails for a while costs lines, and a word in the log. */
class AuditFile implements AuditSink {
  readonly #file: string
  readonly #clock: Clock
  readonly #log: Logger
  #stream: ReturnType<typeof createWriteStream>
  #openedMs = 0
  #dropped = 0

  constructor(file: string, { clock, log }: { readonly clock: Clock; readonly log: Logger }) {
    this.#file = file
    this.#clock = clock
    this.#log = log
    this.#stream = this.#open()
  }

  write(line: string): void {
    if (this.#stream.destroyed && this.#clock.nowMs() - this.#openedMs >= RETRY_MS) this.reopen()
    if (this.#stream.writableLength > QUEUE_BYTES || !this.#stream.writable) this.#dropped += 1
    else this.#stream.write(`${line}\n`)
  }

  reopen(): void {
    const before = this.#stream
    try {
      this.#stream = this.#open()
      before.end()
      this.#report()
    } catch (thrown) {
      this.#log.error({ err: thrown }, 'the audit file cannot be opened anew')
    }
  }

  close(): Promise<void> {
    this.#report()
    return new Promise(resolve => {
      if (this.#stream.closed) resolve()
      else this.#stream.once('close', resolve).end()
    })
  }

  #open(): ReturnType<typeof createWriteStream> {
    this.#openedMs = this.#clock.nowMs()
    const fd = open(this.#file)
    const found = fstatSync(fd)
    if (found.isFile() && !isPrivate(found)) {
      this.#log.warn(
        { file: this.#file },
        'others may write to the audit file: what stands in it may be theirs',
      )
    }
    const stream = createWriteStream(this.#file, { fd })
    stream.on('error', error =>
      this.#log.error({ err: error }, 'the audit file cannot be written to; it is tried again'),
    )
    stream.on('drain', () => this.#report())
    return stream
  }

  #report(): void {
    if (this.#dropped === 0) return
    this.#log.error(
      { dropped: this.#dropped },
      'audit lines were dropped: the disk does not keep up, or failed',
    )
    this.#dropped = 0
  }
}

const open = (file: string): number => {
  try {
    return openSync(file, 'a', 0o600)
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unknown reason'
    throw new Fault('unavailable', `cannot write the audit file ${file} (${code}): check "audit"`, {
      cause: thrown,
    })
  }
}
