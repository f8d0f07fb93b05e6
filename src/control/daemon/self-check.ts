import type { Stats } from 'node:fs'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import type { Logger } from '../../kernel/logger.js'
import type { RuntimePaths } from '../../shim/place.js'
import { fileAt, isSameFile } from '../../transport/socket/bind.js'
import { occupantOf } from './daemon-lock.js'

const FIRST_LOOK_MS = 250
const LOOK_MS = 5000

export interface SelfCheckOptions {
  /** True if the proxy is useful without its private socket. */
  readonly mayStay: boolean
  /** Ends because another proxy owns the socket. */
  readonly end: (code: number) => void
  /** Ends in favor of a proxy that is still to be started. */
  readonly handOver: () => void
  readonly clock: Clock
  readonly log: Logger
}

/** Checks that clients still reach this process at its socket. Call `cancel` before removing the socket. */
export const startSelfCheck = (
  place: RuntimePaths,
  { mayStay, end, handOver, clock, log }: SelfCheckOptions,
) => {
  const { socket } = place
  let isOver = false
  let isReported = false
  /** The socket file that last led to this process. */
  let own: Stats | undefined
  const look = async (): Promise<void> => {
    const there = fileAt(socket)
    // Compare files first: repeated requests to ourselves would deoptimize the code that serves clients.
    if (isSameFile(there, own)) return
    const found = await occupantOf(place).catch(() => 'unsure' as const)
    if (isOver || found === 'unsure') return
    if (found?.pid === process.pid) {
      own = there
      return
    }
    isOver = found !== undefined || !mayStay
    if (found !== undefined) {
      log.warn({ pid: found.pid, socket }, 'another proxy has taken over the private socket; stopping')
      end(0)
    } else if (!mayStay) {
      log.warn({ socket }, 'the private socket was removed; stopping, and the next proxy creates it again')
      handOver()
    } else if (!isReported) {
      isReported = true
      log.warn(
        { socket },
        'the private socket was removed: connect and status can no longer reach this proxy',
      )
    }
  }
  // An unreadable folder proves nothing.
  const checkIfPossible = (): void => void look().catch(() => undefined)
  const timers: readonly Timer[] = [
    clock.after(FIRST_LOOK_MS, checkIfPossible),
    clock.every(LOOK_MS, checkIfPossible),
  ]
  return {
    cancel: () => {
      isOver = true
      for (const timer of timers) timer.cancel()
    },
  }
}
