import { Socket } from 'node:net'
import type { Writable } from 'node:stream'

/**
 * Has Node keep what a reader of our stdout or stderr does not take, where it would wait for it to be taken: on terminals (`lib/tty.js`),
 * and on pipes on Windows (`lib/net.js`, which also gives these two streams a `_write` of their own). False for what has no reader that
 * Node could know of. Never throws.
 */
export const unblock = (stream: Writable): boolean => {
  if (!(stream instanceof Socket) || (stream as Handled)._handle?.setBlocking?.(false) !== 0) return false
  for (const own of ['_write', '_writev']) Reflect.deleteProperty(stream, own)
  return true
}

/** There is no public way to this; the package `set-blocking` goes the same, in the other direction. */
interface Handled {
  readonly _handle?: { readonly setBlocking?: (isBlocking: boolean) => number } | null
}
