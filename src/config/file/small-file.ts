import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { systemCode } from '../../kernel/faults.js'

/** The longest file that a configuration may refer to, such as `secrets.env`. */
export const SMALL_FILE_BYTES = 64 * 1024

export type SmallFile = { readonly text: string } | { readonly wrong: string; readonly isMissing: boolean }

/**
 * Reads a text that a configuration refers to, by default of at most 64 KiB. Waits for no pipe, and never
 * throws.
 */
export const readSmallFile = (path: string, maxBytes = SMALL_FILE_BYTES): SmallFile => {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      if (!fstatSync(fd).isFile()) return { wrong: 'is not a file', isMissing: false }
      const bytes = Buffer.alloc(maxBytes + 1)
      let length = 0
      for (let more = 1; more > 0; length += more)
        more = readSync(fd, bytes, length, bytes.length - length, null)
      if (length > maxBytes) return { wrong: `is longer than ${maxBytes / 1024} KiB`, isMissing: false }
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
