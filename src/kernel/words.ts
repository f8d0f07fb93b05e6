import { cut, isWritten, trust } from './json/cursor.js'
import { QUOTE } from './json/scan.js'
import { stringOf } from './json/text.js'

/** Longer ones are not worth their place. */
const LONGEST_BYTES = 48

/** Decodes strings of which a few come again and again, such as the names of methods: the last of each length is remembered. */
export class Words {
  readonly #byLength: (string | undefined)[] = new Array<undefined>(LONGEST_BYTES + 1).fill(undefined)

  /** What the JSON string means that stands from `start` to `end`; undefined for any other value. */
  at(bytes: Buffer, start: number, end: number): string | undefined {
    if (bytes[start] !== QUOTE) return undefined
    const length = end - start - 2
    const known = length <= LONGEST_BYTES ? this.#byLength[length] : undefined
    if (known !== undefined && isWritten(bytes, start + 1, end - 1, known)) return known
    const word = stringOf(cut(trust(bytes), start, end))
    if (word !== undefined && length <= LONGEST_BYTES && isWritten(bytes, start + 1, end - 1, word)) {
      this.#byLength[length] = word
    }
    return word
  }
}
