import { Fault, type FaultData } from './faults.js'

const LOST =
  'a part of the proxy cannot be loaded; if it was updated or removed since it was started, start it again'

let onLost: () => FaultData | undefined = () => undefined

/** Has this called whenever a part is missed; what it returns goes with the error. */
export const whenPartIsLost = (react: () => FaultData | undefined): void => {
  onLost = react
}

/**
 * Loads a module when it is first needed. Node never retries a failed load
 * (https://nodejs.org/api/esm.html#no-requirecache): after one, all calls reject with a Fault `unavailable`.
 */
export const lateModule = <T>(load: () => Promise<T>): (() => Promise<T>) => {
  let loaded: Promise<T> | undefined
  return async () => {
    try {
      loaded ??= load()
      return await loaded
    } catch (thrown) {
      const data = onLost()
      throw new Fault('unavailable', LOST, { cause: thrown, ...(data && { data }) })
    }
  }
}
