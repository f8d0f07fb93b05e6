import { hash, randomBytes } from 'node:crypto'

export const LINE_FEED = 0x0a
/** Maximum bytes of a line. */
export const LINE_BYTES = 1024 * 1024

/** Returns the name of a line in a chain: the base64url SHA-256 of its bytes, without the line feed. */
export const hashOfLine = (line: string | Buffer): string => hash('sha256', line, 'base64url')

/** A line that names the line before it in its chain. */
export interface SealedLine {
  readonly text: string
  readonly hash: string
}

const ID_CHARS = 8

/** Links the audit lines of one run of the proxy, so that edited and missing lines show. */
export class LineChain {
  readonly #id = randomBytes(2 * ID_CHARS)
    .toString('hex')
    .slice(-ID_CHARS)
  #next = 0
  #prev: string | null = null

  /** Adds the place in the chain to lines, each a JSON object. Nothing is final before `wrote`. */
  seal(lines: readonly string[]): readonly SealedLine[] {
    let prev = this.#prev
    return lines.map((line, at) => {
      const place = `"chain":"${this.#id}","n":${this.#next + at},"prev":${JSON.stringify(prev)}}`
      const text = `${line.slice(0, -1)},${place}`
      prev = hashOfLine(text)
      return { text, hash: prev }
    })
  }

  /** Records the sealed lines that are in the file. */
  wrote(lines: readonly SealedLine[]): void {
    this.#next += lines.length
    this.#prev = lines.at(-1)?.hash ?? this.#prev
  }
}
