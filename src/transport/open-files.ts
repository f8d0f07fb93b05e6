import { readFileSync } from 'node:fs'

/** What else than connections of clients needs a file: pipes of servers, their connections, the log, and what Node itself has open. */
const RESERVED = 512
const LEAST = 64

/** How many files this process may have open; undefined where that cannot be read (anywhere but on Linux). */
const openFilesLimit = (): number | undefined => {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1]
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}

/** How many connections can be open before the operating system gives no more files (`man 5 proc`, /proc/pid/limits). */
export const connectionsThatFit = (files = openFilesLimit()): number =>
  files === undefined ? Number.MAX_SAFE_INTEGER : Math.max(LEAST, files - RESERVED)
