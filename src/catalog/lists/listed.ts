import { createHash } from 'node:crypto'
import type { JsonText } from '../../kernel/json/text.js'
import type { Server } from '../../peers/server.js'

/** One item of a server's list, ready to be shown. */
export interface Item {
  readonly server: Server
  /** The server's own name, URI or template. */
  readonly own: string
  /** The name, URI or template that clients see; unique in its merged list. */
  readonly exposed: string
  readonly text: JsonText
  /** Whether it is a tool that lists an `outputSchema`. */
  readonly promisesOutput: boolean
}

/** One list of one server, as it sends and as clients see it: the same for all connections on which it lists the same. */
export interface Listed {
  readonly raw: readonly JsonText[]
  readonly items: readonly Item[]
  /** What clients see of it, in short; what is hidden from them does not count. */
  readonly looks: string
  /** What it takes to keep it. */
  readonly bytes: number
}

/** A digest of texts, in their order. No JSON holds the byte that stands between them. */
export const digestOf = (texts: Iterable<JsonText | string>): string => {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(text).update('\0')
  return hash.digest('base64url')
}

/** How long texts are together. */
export const bytesOf = (texts: readonly JsonText[]): number =>
  texts.reduce((sum, { length }) => sum + length, 0)

/** Whether a server sent the same list again, byte for byte. */
export const isSame = (before: readonly JsonText[], after: readonly JsonText[]): boolean =>
  before.length === after.length && before.every((item, index) => after[index]?.equals(item) === true)
