import { createReadStream } from 'node:fs'
import { isObject } from '../../kernel/object.js'
import { hashOfLine, LINE_BYTES, LINE_FEED } from './chain.js'

interface Place {
  readonly file: string
  /** Counted from 1. */
  readonly line: number
}

/** A place where the lines of an audit log do not follow each other. */
interface Break extends Place {
  readonly what: string
}

/** The lines of one run of the proxy. */
interface VerifiedChain {
  readonly chain: string
  readonly from: number
  readonly to: number
  /** The hash of the last line. */
  readonly head: string
}

export interface VerifyReport {
  readonly ok: boolean
  readonly files: number
  readonly lines: number
  readonly chains: readonly VerifiedChain[]
  readonly breaks: readonly Break[]
}

/** A line of a file; without its bytes if it is longer than any audit line. */
interface FoundLine extends Place {
  readonly bytes: Buffer | undefined
}

/** Maximum breaks that are reported. */
const BREAKS_MAX = 1000
/** Number of lines that a new part of a chain may follow, because several proxies may write to one file. */
const RECENT_MAX = 100_000

/**
 * Checks audit files in order, which may hold several chains. `head` is the hash of a line that must still be
 * there. Rejects with file system errors.
 */
export const verifyAudit = async (files: readonly string[], head?: string): Promise<VerifyReport> => {
  const verifier = new Verifier(files[0], head)
  let lines = 0
  for (const file of files)
    for await (const line of linesOf(file)) {
      verifier.add(line)
      lines += 1
    }
  const breaks = verifier.end()
  return { ok: breaks.length === 0, files: files.length, lines, chains: verifier.chains, breaks }
}

/** The place of a line in its chain. */
interface Link {
  readonly isStart: boolean
  readonly chain: string
  readonly n: number
  readonly prev: string | null
  readonly after: unknown
}

interface OpenChain extends VerifiedChain {
  readonly last: Place
}

class Verifier {
  readonly #firstFile: string | undefined
  readonly #head: string | undefined
  readonly #chains = new Map<string, OpenChain>()
  readonly #breaks: Break[] = []
  /** Hashes of the last lines, the oldest first. */
  readonly #recent = new Set<string>()
  /** Lines that are not JSON, which a later start of a chain may name, by hash. */
  readonly #torn = new Map<string, Place>()
  #hasStart = false
  #hasHead = false
  #last: Place | undefined

  constructor(firstFile: string | undefined, head: string | undefined) {
    this.#firstFile = firstFile
    this.#head = head
  }

  get chains(): readonly VerifiedChain[] {
    return [...this.#chains.values()].map(({ chain, from, to, head }) => ({ chain, from, to, head }))
  }

  add({ file, line: number, bytes }: FoundLine): void {
    const line = { file, line: number }
    this.#last = line
    if (bytes === undefined) {
      this.#break(line, 'the line is longer than 1 MiB')
      return
    }
    const hash = hashOfLine(bytes)
    if (hash === this.#head) this.#hasHead = true
    const link = linkIn(bytes)
    // The start of a chain covers one copy of a torn line.
    if (link === 'torn' && this.#torn.size < BREAKS_MAX && !this.#torn.has(hash)) this.#torn.set(hash, line)
    else if (link === 'torn') this.#break(line, 'the line is not JSON')
    else if (link === undefined) this.#break(line, 'the line belongs to no chain')
    else this.#link(line, link, hash)
    this.#recent.add(hash)
    const [oldest] = this.#recent
    if (this.#recent.size > RECENT_MAX && oldest !== undefined) this.#recent.delete(oldest)
  }

  end(): readonly Break[] {
    for (const line of this.#torn.values()) this.#break(line, 'the line is not JSON')
    if (this.#head !== undefined && !this.#hasHead) {
      const { file, line } = this.#last ?? { file: this.#firstFile ?? '', line: 0 }
      this.#breaks.push({ file, line, what: 'no line has the given hash: lines were removed at the end' })
    }
    return this.#breaks
  }

  #link(line: Place, link: Link, hash: string): void {
    const { chain, n, isStart } = link
    if (isStart) this.#follow(line, link.after)
    const known = this.#chains.get(chain)
    const misfit = known === undefined ? this.#misfitOfFirst(line, link) : misfitOf(known, link)
    if (isStart && n === 0) this.#hasStart = true
    // The line after an edited one shows the edit.
    if (misfit !== undefined) this.#break(misfit === 'edited' ? (known?.last ?? line) : line, MISFITS[misfit])
    if (known === undefined) this.#chains.set(chain, { chain, from: n, to: n, head: hash, last: line })
    else if (n > known.to) this.#chains.set(chain, { ...known, to: n, head: hash, last: line })
  }

  /** Checks the line that a chain names when it begins or continues in a file. */
  #follow(line: Place, after: unknown): void {
    if (typeof after !== 'string') return
    this.#torn.delete(after)
    if (!this.#recent.has(after)) this.#break(line, 'the line before it was edited or removed')
  }

  /**
   * Only the first file may begin within chains: before any other starts, or with the line that a process
   * wrote when it opened the file again, which may follow the start of another process.
   */
  #misfitOfFirst({ file }: Place, { n, prev, isStart }: Link): Misfit | undefined {
    if (n === 0) return isStart && prev === null ? undefined : 'foreign'
    return file === this.#firstFile && (!this.#hasStart || isStart) ? undefined : 'late'
  }

  #break({ file, line }: Place, what: string): void {
    if (this.#breaks.length < BREAKS_MAX) this.#breaks.push({ file, line, what })
  }
}

const MISFITS = {
  foreign: 'the line belongs to no chain',
  late: 'lines before it were removed',
  repeated: 'the line is repeated or was moved',
  skipped: 'lines before it were removed or moved',
  edited: 'the line was edited',
} as const

type Misfit = keyof typeof MISFITS

const misfitOf = ({ to, head }: VerifiedChain, { n, prev }: Link): Misfit | undefined => {
  if (n <= to) return 'repeated'
  if (n > to + 1) return 'skipped'
  return prev === head ? undefined : 'edited'
}

/** Returns the place of a line in its chain; `torn` for a line that is not JSON. */
const linkIn = (bytes: Buffer): Link | 'torn' | undefined => {
  let value: unknown
  try {
    value = JSON.parse(bytes.toString())
  } catch {
    return 'torn'
  }
  if (!isObject(value)) return undefined
  const { audit, chain, n, prev, after } = value
  const isPlaced = typeof chain === 'string' && Number.isSafeInteger(n)
  if (!isPlaced || !(prev === null || typeof prev === 'string')) return undefined
  return { isStart: audit === 'chain', chain, n: Number(n), prev, after }
}

/** Reads the lines of a file. A last line without a line feed counts. */
async function* linesOf(file: string): AsyncGenerator<FoundLine> {
  let line = 0
  let rest: Buffer[] = []
  let bytes = 0
  const take = (part: Buffer): FoundLine => {
    const isLong = bytes + part.length > LINE_BYTES
    const whole = isLong ? undefined : rest.length === 0 ? part : Buffer.concat([...rest, part])
    rest = []
    bytes = 0
    line += 1
    return { file, line, bytes: whole }
  }
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    let from = 0
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      yield take(chunk.subarray(from, end))
      from = end + 1
    }
    const part = chunk.subarray(from)
    bytes += part.length
    if (bytes <= LINE_BYTES) rest.push(part)
  }
  if (bytes > 0) yield take(Buffer.alloc(0))
}
