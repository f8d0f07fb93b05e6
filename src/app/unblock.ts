import { Socket } from 'node:net'
import type { Writable } from 'node:stream'

/** Makes Node queue writes to stdout or stderr where it would block; false for other streams. */
export const unblock = (stream: Writable): boolean => {
  if (!(stream instanceof Socket) || (stream as Handled)._handle?.setBlocking?.(false) !== 0) return false
  // Terminals (`lib/tty.js`), and pipes on Windows (`lib/net.js`), which have a `_write` of their own.
  for (const own of ['_write', '_writev']) Reflect.deleteProperty(stream, own)
  return true
}

/** There is no public API for this; the package `set-blocking` does the same the other way round. */
interface Handled {
  readonly _handle?: { readonly setBlocking?: (isBlocking: boolean) => number } | null
}
