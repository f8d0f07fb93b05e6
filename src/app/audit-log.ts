import { createWriteStream, openSync } from 'node:fs'
import type { AuditConfig } from '../config/types.js'
import type { Clock } from '../kernel/clock.js'
import { Fault } from '../kernel/faults.js'
import type { Logger } from '../kernel/logger.js'
import type { Reception } from '../model/links.js'
import { audited } from '../mux/audit.js'
import { createStderrSink } from './stderr-sink.js'

/** Where audit lines go. */
interface AuditLog {
  /** Takes one line without its end. */
  write(line: string): void
  /** Resolves when all that was written is on its way. Never rejects. */
  close(): Promise<void>
}

/** What waits for a disk that does not keep up; further lines are dropped, and counted. */
const QUEUE_BYTES = 16 * 1024 * 1024

const stderrLog = (): AuditLog => {
  const sink = createStderrSink()
  return { write: line => sink.write(`${line}\n`), close: () => Promise.resolve() }
}

/** What writes a line about each call, if the configuration wants one. */
export interface Audit {
  /** The reception to report to in place of this one; this very one if nothing is written. */
  around(reception: Reception): Reception
  /** Resolves when all lines are on their way. Never rejects. */
  close(): Promise<void>
}

const noAudit: Audit = { around: reception => reception, close: () => Promise.resolve() }

/** Opens where the configuration wants audit lines. Throws a Fault `unavailable` if the file cannot be written to. */
export const openAudit = (
  config: AuditConfig | undefined,
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): Audit => {
  if (config === undefined) return noAudit
  const { to, withArguments } = config
  const lines = to === 'stderr' ? stderrLog() : new AuditFile(to.file, log)
  const options = { write: (line: string) => lines.write(line), clock, now: () => new Date(), withArguments }
  return { around: reception => audited(reception, options), close: () => lines.close() }
}

/** Appends to a file that only its user can read. A disk that fails later costs lines, and a word in the log. */
class AuditFile implements AuditLog {
  readonly #stream: ReturnType<typeof createWriteStream>
  readonly #log: Logger
  #dropped = 0

  constructor(file: string, log: Logger) {
    this.#log = log
    this.#stream = createWriteStream(file, { fd: open(file) })
    this.#stream.on('error', error =>
      log.error({ err: error }, 'the audit file cannot be written to any more'),
    )
    this.#stream.on('drain', () => this.#report())
  }

  write(line: string): void {
    if (this.#stream.writableLength > QUEUE_BYTES || !this.#stream.writable) this.#dropped += 1
    else this.#stream.write(`${line}\n`)
  }

  close(): Promise<void> {
    this.#report()
    return new Promise(resolve => {
      if (this.#stream.closed) resolve()
      else this.#stream.once('close', resolve).end()
    })
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
