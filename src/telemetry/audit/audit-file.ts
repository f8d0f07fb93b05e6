import { closeSync, constants, fstatSync, openSync, readSync, write } from 'node:fs'
import { promisify } from 'node:util'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import { Fault, systemCode } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import type { Meter } from '../../kernel/meter.js'
import type { Counter } from '../../kernel/series.js'
import { isPrivate } from '../../state/private-file.js'
import { type AuditLine, type AuditSink, passOn } from './audit-sink.js'
import { hashOfLine, LINE_BYTES, LINE_FEED, LineChain, type SealedLine } from './chain.js'

export interface AuditFileOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly meter?: Meter | undefined
  /** True to keep ordinary lines as well while the disk fails, because no further calls are accepted. */
  readonly isStrict: boolean
  /** Creates the line at the start of a file. `after` links the last line in it; null if there is none. */
  readonly firstLine: (after: string | null) => AuditLine
}

/** Maximum bytes that wait for the disk, of ordinary lines and of kept ones. Further lines are dropped. */
const QUEUE_BYTES = { ordinary: 16 * 1024 * 1024, kept: 4 * 1024 * 1024 }
/** Maximum bytes written at once. */
const BATCH_BYTES = 1024 * 1024
/** Delay before a failed file is opened again. */
const RETRY_MS = 5000

/** Marks in the queue where a file that was just opened takes over. */
interface Opened {
  readonly fd: number
}

/**
 * Appends lines to a file that only its user can read, and links each to the line before it. While the disk
 * fails, ordinary lines are dropped and counted, and the others wait.
 */
export class AuditFile implements AuditSink {
  readonly #file: string
  readonly #options: AuditFileOptions
  readonly #lost: Counter | undefined
  readonly #chain = new LineChain()
  #queue: (AuditLine | Opened)[] = []
  readonly #bytes = { ordinary: 0, kept: 0 }
  /** Undefined while no file is open. */
  #fd: number | undefined
  /** True from a failed write to the next successful one. */
  #isFailing = false
  #isWriting = false
  #written: Promise<void> = Promise.resolve()
  #retry: Timer | undefined
  /** Dropped lines that no line of the file, and no line of the log, has reported yet. */
  #dropped = 0
  #unlogged = 0

  /** Throws a Fault `unavailable` if the file cannot be opened. */
  constructor(file: string, options: AuditFileOptions) {
    this.#file = file
    this.#options = options
    this.#lost = options.meter?.counter('mcp_proxy_audit_lines_dropped')
    this.#begin(this.#open())
  }

  get isAvailable(): boolean {
    return !this.#isFailing && this.#bytes.ordinary <= QUEUE_BYTES.ordinary
  }

  write(line: AuditLine): void {
    const kind = kindOf(line)
    if (this.#bytes[kind] > QUEUE_BYTES[kind] || (this.#fd === undefined && this.#isDroppable(line))) {
      this.#drop(line)
      return
    }
    this.#bytes[kind] += line.text.length
    this.#queue.push(line)
    if (this.#fd === undefined) passOn(line)
    else this.#flush()
  }

  reopen(): void {
    try {
      this.#begin(this.#open())
    } catch (thrown) {
      this.#options.log.error({ err: thrown }, 'cannot reopen the audit file')
    }
  }

  async close(): Promise<void> {
    this.#report()
    await this.#written
    this.#retry?.cancel()
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }

  /** Writes later lines to this file. */
  #begin(fd: number): void {
    this.#retry?.cancel()
    // A file that failed takes no more lines.
    if (this.#fd === undefined) this.#queue.unshift({ fd })
    else this.#queue.push({ fd })
    this.#fd ??= fd
    this.#flush()
  }

  #flush(): void {
    if (this.#isWriting) return
    this.#isWriting = true
    this.#written = this.#writeAll()
  }

  async #writeAll(): Promise<void> {
    while (this.#fd !== undefined && this.#queue.length > 0) {
      const start = this.#startOfFile()
      const lines = this.#nextLines()
      const dropped = lines.length > 0 ? this.#dropped : 0
      const texts = lines.map(({ text }, at) => (at === 0 ? withDropped(text, dropped) : text))
      const sealed = this.#chain.seal(start === undefined ? texts : [start.line.text, ...texts])
      const { count, error } = await append(this.#fd, sealed, start?.isTorn === true ? '\n' : '')
      this.#chain.wrote(sealed.slice(0, count))
      const done = sealed.slice(0, count).map(({ text }) => text)
      if (start !== undefined && done.length > 0) passOn(start.line, done.shift())
      this.#wrote(done, dropped)
      if (error === undefined) this.#succeeded()
      else this.#failed(error)
    }
    this.#isWriting = false
  }

  /** Switches to the next file, if all lines for the previous one are written. */
  #startOfFile(): { readonly line: AuditLine; readonly isTorn: boolean } | undefined {
    const [next] = this.#queue
    if (next === undefined || !('fd' in next)) return undefined
    this.#queue.shift()
    if (this.#fd !== undefined && this.#fd !== next.fd) closeSync(this.#fd)
    this.#fd = next.fd
    const { last, isTorn } = lastLineOf(this.#file)
    return { line: this.#options.firstLine(last === undefined ? null : hashOfLine(last)), isTorn }
  }

  /** Returns the lines for the open file, which stay in the queue until they are written. */
  #nextLines(): readonly AuditLine[] {
    const lines: AuditLine[] = []
    let bytes = 0
    for (const next of this.#queue) {
      if ('fd' in next || bytes > BATCH_BYTES) break
      lines.push(next)
      bytes += next.text.length
    }
    return lines
  }

  #wrote(texts: readonly string[], dropped: number): void {
    for (const [at, text] of texts.entries()) {
      const line = this.#queue[at] as AuditLine
      this.#bytes[kindOf(line)] -= line.text.length
      passOn(line, text)
    }
    this.#queue.splice(0, texts.length)
    if (texts.length > 0) this.#dropped -= dropped
  }

  #succeeded(): void {
    this.#isFailing = false
    if (this.#queue.length === 0) this.#report()
  }

  #failed(error: unknown): void {
    const { clock, log } = this.#options
    if (!this.#isFailing) log.error({ err: error }, 'cannot write to the audit file; trying again')
    this.#isFailing = true
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
    const waiting = this.#queue
    this.#queue = []
    for (const each of waiting) {
      if ('fd' in each) closeSync(each.fd)
      else if (this.#isDroppable(each)) {
        this.#bytes.ordinary -= each.text.length
        this.#drop(each)
      } else {
        passOn(each)
        this.#queue.push(each)
      }
    }
    this.#retry = clock.after(RETRY_MS, () => this.#tryAgain())
  }

  #tryAgain(): void {
    try {
      this.#begin(this.#open())
    } catch {
      this.#retry = this.#options.clock.after(RETRY_MS, () => this.#tryAgain())
    }
  }

  #isDroppable(line: AuditLine): boolean {
    return !line.isKept && !this.#options.isStrict
  }

  #drop(line: AuditLine): void {
    this.#dropped += 1
    this.#unlogged += 1
    this.#lost?.add()
    passOn(line)
  }

  /** Logs the number of dropped lines. */
  #report(): void {
    if (this.#unlogged === 0) return
    this.#options.log.error(
      { dropped: this.#unlogged },
      'dropped audit lines: the disk failed or is too slow',
    )
    this.#unlogged = 0
  }

  #open(): number {
    const fd = open(this.#file)
    const found = fstatSync(fd)
    if (found.isFile() && !isPrivate(found)) {
      this.#options.log.warn(
        { file: this.#file },
        'other users may write to the audit file: its content cannot be trusted',
      )
    }
    return fd
  }
}

const kindOf = ({ isKept }: AuditLine): 'kept' | 'ordinary' => (isKept ? 'kept' : 'ordinary')

const withDropped = (text: string, dropped: number): string =>
  dropped === 0 ? text : `${text.slice(0, -1)},"dropped":${dropped}}`

const open = (file: string): number => {
  try {
    return openSync(file, 'a', 0o600)
  } catch (thrown) {
    const code = systemCode(thrown) ?? 'unknown reason'
    throw new Fault('unavailable', `cannot write the audit file ${file} (${code}): check "audit"`, {
      cause: thrown,
    })
  }
}

const writeBytes = promisify(write)

/** Appends lines, and returns how many of them are whole in the file. Never rejects. */
const append = async (
  fd: number,
  lines: readonly SealedLine[],
  before: string,
): Promise<{ readonly count: number; readonly error?: unknown }> => {
  const bytes = Buffer.from(`${before}${lines.map(({ text }) => `${text}\n`).join('')}`)
  let written = 0
  try {
    while (written < bytes.length) {
      const { bytesWritten } = await writeBytes(fd, bytes, written)
      written += bytesWritten
    }
    return { count: lines.length }
  } catch (error) {
    let end = before.length
    // A line is whole without its line feed: the next start of the file adds that.
    const count = lines.findIndex(({ text }) => {
      end += Buffer.byteLength(text) + 1
      return end - 1 > written
    })
    return { count: count === -1 ? lines.length : count, error }
  }
}

/** Reads the last line of a file. Undefined without one, or if it cannot be read or is too long. */
const lastLineOf = (file: string): { readonly last: Buffer | undefined; readonly isTorn: boolean } => {
  let fd: number | undefined
  try {
    fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
    const { size } = fstatSync(fd)
    const bytes = Buffer.alloc(Math.min(size, LINE_BYTES + 2))
    readSync(fd, bytes, 0, bytes.length, size - bytes.length)
    if (bytes.length === 0) return { last: undefined, isTorn: false }
    const isTorn = bytes.at(-1) !== LINE_FEED
    const text = isTorn ? bytes : bytes.subarray(0, -1)
    const from = text.lastIndexOf(LINE_FEED) + 1
    return { last: from === 0 && size > bytes.length ? undefined : text.subarray(from), isTorn }
  } catch {
    return { last: undefined, isTorn: false }
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
