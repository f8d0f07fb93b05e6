import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { systemCode } from '../../kernel/faults.js'

/** The longest file that a configuration may refer to, such as `secrets.env`. */
export const SMALL_FILE_BYTES = 64 * 1024
const MAX_BYTES = SMALL_FILE_BYTES

export type SmallFile = { readonly text: string } | { readonly wrong: string; readonly isMissing: boolean }

/** Reads a text of at most 64 KiB that a configuration refers to. Waits for no pipe, and never throws. */
export const readSmallFile = (path: string): SmallFile => {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      if (!fstatSync(fd).isFile()) return { wrong: 'is not a file', isMissing: false }
      const bytes = Buffer.alloc(MAX_BYTES + 1)
      let length = 0
      for (let more = 1; more > 0; length += more)
        more = readSync(fd, bytes, length, bytes.length - length, null)
      if (length > MAX_BYTES) return { wrong: 'is longer than 64 KiB', isMissing: false }
      return { text: bytes.toString('utf8', 0, length) }
    } finally {
      closeSync(fd)
    }
  } catch (thrown) {
    const code = systemCode(thrown)
    const isMissing = code === 'ENOENT' || code === 'ENOTDIR'
    return { wrong: isMissing ? 'is not there' : `cannot be read (${code ?? 'unknown error'})`, isMissing }
  }
}
