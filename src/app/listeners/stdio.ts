import { servePipe } from '../../eras/index.js'
import type { Clock } from '../../kernel/async/clock.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { ClientHandler } from '../../model/links.js'
import { createStdioSelf, protectStdout } from '../../transport/stdio/self.js'
import { IDENTITY } from '../identity.js'

/** The face on our own stdin and stdout. */
export interface StdioFront {
  /** Resolves when the client closed our stdin, and has its answers. */
  readonly gone: Promise<void>
  /** Whether the client has closed our stdin. */
  readonly isLeaving: boolean
  close(): Promise<void>
}

/** Serves the one client that started us, on stdin and stdout; nothing else may write to stdout from here on. */
export const serveStdio = (around: {
  readonly reception: ClientHandler
  readonly bounds: LimitCounters
  readonly clock: Clock
  readonly log: Logger
  readonly drainMs: () => number
}): StdioFront => {
  protectStdout()
  const host = servePipe(createStdioSelf(around), 'local', {
    ...around,
    identity: IDENTITY,
  })
  return {
    gone: host.gone,
    get isLeaving() {
      return host.isLeaving
    },
    close: () => host.close('the proxy is shutting down'),
  }
}
