import { LOCAL, type Principal } from '../../kernel/caller.js'
import { isObject } from '../../kernel/object.js'
import type { LineSink } from '../../telemetry/logs/logger.js'

const MIB = 1024 * 1024
const OWN = { lines: 2000, chars: 2 * MIB }
const OF_SERVER = { lines: Number.POSITIVE_INFINITY, chars: MIB }
/** All together. */
const ALL_CHARS = 32 * MIB
/** Of each principal. */
const FOLLOWERS = 8

/** Which lines of a log are wanted. */
export interface LogFilter {
  readonly server?: string | undefined
  /** In milliseconds since 1970. */
  readonly sinceMs?: number | undefined
  /** The least important level. */
  readonly level?: string | undefined
}

/** The levels by which pino writes them. */
const LEVELS: Readonly<Record<string, number>> = { debug: 20, info: 30, warn: 40, error: 50 }

/** Whether a line of a log fits. One that is not ours, such as the last words of Node, names no server. */
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

/** A line with its number, counted from 1 over all lines. */
export interface KeptLine {
  readonly n: number
  readonly line: string
}

/** The newest lines of one source, up to a bound. */
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

  /** Returns how many characters went. */
  drop(): number {
    const length = this.lines.shift()?.line.length ?? 0
    this.chars -= length
    return length
  }
}

/** What a program wrote to stderr is kept for itself: one that talks much drowns nobody's words. */
const STDERR = /"server":"((?:[^"\\]|\\.)*)".*"stderr":/

/** The last lines of the log and of each server's stderr, for whoever asks, and those that follow. */
export class KeptLines {
  readonly #own = new Ring()
  readonly #servers = new Map<string, Ring>()
  readonly #followers = new Map<(line: string, n: number) => void, Principal>()
  #chars = 0
  #n = 0

  /** A sink that keeps what it passes on. */
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

  /** The lines that fit, those after number `after` alone, in their order. */
  numbered(filter: LogFilter, after = 0): readonly KeptLine[] {
    return [this.#own, ...this.#servers.values()]
      .flatMap(({ lines }) => lines)
      .filter(({ n, line }) => n > after && isWanted(line, filter))
      .sort((one, other) => one.n - other.n)
  }

  /** Reports new lines until the returned function is called; undefined if the principal has too many. */
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
