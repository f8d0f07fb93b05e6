import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { Fault } from '../kernel/faults.js'

/** As many files are opened at once, at most, by what is loaded late. */
const FILES = 16

/** Throws a Fault `unavailable` if so many files cannot be opened now. */
const checkDescriptors = (): void => {
  const open: number[] = []
  try {
    while (open.length < FILES) open.push(openSync(devNull, 'r'))
  } catch (thrown) {
    throw new Fault('unavailable', 'the proxy has no file descriptors left (EMFILE)', { cause: thrown })
  } finally {
    for (const descriptor of open) closeSync(descriptor)
  }
}

const LOST =
  'a part of the proxy cannot be loaded; if it was updated or removed since it was started, start it again'

/**
 * A module that is loaded when it is first needed. Node does not read a module again that it once could not read
 * (https://nodejs.org/api/esm.html#no-requirecache): a moment without file descriptors would cost it for good. So it is not tried
 * in such a moment; the promise rejects with a Fault `unavailable`, and the next one may have more luck. Where it was tried in vain, each rejects with such a
 * Fault.
 */
export const lateModule = <T>(load: () => Promise<T>, check = checkDescriptors): (() => Promise<T>) => {
  let loaded: Promise<T> | undefined
  return async () => {
    if (loaded === undefined) {
      check()
      loaded = load().catch((thrown: unknown) => {
        throw new Fault('unavailable', LOST, { cause: thrown })
      })
    }
    return await loaded
  }
}
