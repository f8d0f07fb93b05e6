import { closeSync, constants, openSync } from 'node:fs'

/** The terminal that controls this process, if any (tty(4)). */
const CONTROLLING = '/dev/tty'

/** What opening it fails with where there is none, or none any more. */
const GONE: ReadonlySet<unknown> = new Set(['ENXIO', 'EIO', 'ENODEV', 'ENOTTY', 'ENOENT', 'EACCES'])

/** Whether this process has a terminal. One that cannot be opened for want of a file descriptor is there. */
const hasTerminal = (): boolean => {
  try {
    closeSync(openSync(CONTROLLING, constants.O_RDONLY | constants.O_NOCTTY))
    return true
  } catch (thrown) {
    return !(thrown instanceof Error && 'code' in thrown && GONE.has(thrown.code))
  }
}

/** What a hang-up means. */
export interface Terminal {
  /** Whether the terminal that we were started in was closed. */
  readonly isClosed: boolean
}

/**
 * Looks whether there is a terminal now, so that its end can be told from a SIGHUP that somebody sent: to a daemon that means to read
 * its configuration again, while whoever closes a terminal wants what runs in it to end.
 */
export const watchTerminal = (isThere: () => boolean = hasTerminal): Terminal => {
  const wasThere = isThere()
  return {
    get isClosed() {
      return wasThere && !isThere()
    },
  }
}
