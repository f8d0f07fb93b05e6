import { LOCAL, type Principal } from '../../kernel/caller.js'
import { isObject } from '../../kernel/object.js'
import type { LineSink } from './logger.js'

const MIB = 1024 * 1024
const OWN = { lines: 2000, chars: 2 * MIB }
const OF_SERVER = { lines: Number.POSITIVE_INFINITY, chars: MIB }
/** Maximum characters of all sources. */
const ALL_CHARS = 32 * MIB
/** Maximum followers of each principal. */
const FOLLOWERS = 8

/** Selects lines of a log. */
export interface LogFilter {
  readonly server?: string | undefined
  /** Milliseconds since 1970. */
  readonly sinceMs?: number | undefined
  /** The lowest level. */
  readonly level?: string | undefined
}

/** The numbers of levels in pino's output. */
const LEVELS: Readonly<Record<string, number>> = { debug: 20, info: 30, warn: 40, error: 50 }

/** Returns true if a line matches. A line from Node itself has no server. */
export const isWanted = (line: string, { server, sinceMs, level }: LogFilter): boolean => {
  const facts = factsOf(line)
  if (facts === undefined) return server === undefined && sinceMs === undefined
  const { level: found, time, server: about } = facts
  return (
    (server === undefined || about === server) &&
    (sinceMs === undefined || Number(time) >= sinceMs) &&
    (level === undefined || Number(found) >= (LEVELS[level] ?? 0))
  )
}

const factsOf = (line: string): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** A line and its number, counted from 1 across all sources. */
export interface KeptLine {
  readonly n: number
  readonly line: string
}

/** The newest lines of a source, within a limit. */
class Ring {
  readonly lines: KeptLine[] = []
  chars = 0

  add(kept: KeptLine, most: { readonly lines: number; readonly chars: number }): number {
    const before = this.chars
    this.lines.push(kept)
    this.chars += kept.line.length
    while (this.lines.length > most.lines || this.chars > most.chars) this.drop()
    return this.chars - before
  }

  /** Returns the number of characters dropped. */
  drop(): number {
    const length = this.lines.shift()?.line.length ?? 0
    this.chars -= length
    return length
  }
}

/** Lines from a program's stderr have their own ring: a verbose program does not displace other lines. */
const STDERR = /"server":"((?:[^"\\]|\\.)*)".*"stderr":/

/** Keeps the last lines of the log and of each server's stderr for readers and followers. */
export class KeptLines {
  readonly #own = new Ring()
  readonly #servers = new Map<string, Ring>()
  readonly #followers = new Map<(line: string, n: number) => void, Principal>()
  #chars = 0
  #n = 0

  /** Returns a sink that keeps the lines it forwards. */
  over(sink: LineSink): LineSink {
    return {
      write: line => {
        this.#keep(line)
        sink.write(line)
      },
    }
  }

  matching(filter: LogFilter): readonly string[] {
    return this.numbered(filter).map(({ line }) => line)
  }

  /** Returns the matching lines in order, with `after` only the lines after that number. */
  numbered(filter: LogFilter, after = 0): readonly KeptLine[] {
    return [this.#own, ...this.#servers.values()]
      .flatMap(({ lines }) => lines)
      .filter(({ n, line }) => n > after && isWanted(line, filter))
      .sort((one, other) => one.n - other.n)
  }

  /**
   * Reports new lines until the returned function is called. Returns undefined if the principal has too many
   * followers.
   */
  follow(
    filter: LogFilter,
    onLine: (line: string, n: number) => void,
    principal: Principal = LOCAL.principal,
  ): (() => void) | undefined {
    const own = [...this.#followers.values()].filter(each => each === principal)
    if (own.length >= FOLLOWERS) return undefined
    const follower = (line: string, n: number): void => {
      if (isWanted(line, filter)) onLine(line, n)
    }
    this.#followers.set(follower, principal)
    return () => this.#followers.delete(follower)
  }

  #keep(line: string): void {
    this.#n += 1
    const server = line.includes('"stderr":') ? STDERR.exec(line)?.[1] : undefined
    const ring = server === undefined ? this.#own : this.#ringOf(server)
    this.#chars += ring.add({ n: this.#n, line }, server === undefined ? OWN : OF_SERVER)
    while (this.#chars > ALL_CHARS) this.#chars -= this.#largest().drop()
    for (const follower of this.#followers.keys()) follower(line, this.#n)
  }

  #ringOf(server: string): Ring {
    const known = this.#servers.get(server) ?? new Ring()
    this.#servers.set(server, known)
    return known
  }

  #largest(): Ring {
    return [...this.#servers.values()].reduce(
      (one, other) => (other.chars > one.chars ? other : one),
      this.#own,
    )
  }
}
