import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { Fault, type FaultData } from '../kernel/faults.js'

/** The most files that loading a module opens at once. */
const FILES = 16

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

let onLost: () => FaultData | undefined = () => undefined

/** Has this called whenever a part is missed; what it returns goes with the error. */
export const whenPartIsLost = (react: () => FaultData | undefined): void => {
  onLost = react
}

/**
 * Loads a module when it is first needed. Node never retries a module that once failed to load
 * (https://nodejs.org/api/esm.html#no-requirecache), so while file descriptors are short it is not tried: the
 * promise rejects with a Fault `unavailable`, and the next call tries again. After a failed load all calls
 * reject with such a Fault.
 */
export const lateModule = <T>(load: () => Promise<T>, check = checkDescriptors): (() => Promise<T>) => {
  let loaded: Promise<T> | undefined
  return async () => {
    if (loaded === undefined) {
      check()
      loaded = load()
    }
    try {
      return await loaded
    } catch (thrown) {
      const data = onLost()
      throw new Fault('unavailable', LOST, { cause: thrown, ...(data && { data }) })
    }
  }
}
