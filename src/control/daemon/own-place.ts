import type { Stats } from 'node:fs'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import type { Logger } from '../../kernel/logger.js'
import type { Place } from '../../shim/place.js'
import { fileAt, isSame } from '../../transport/socket/bind.js'
import { occupantOf } from './seat.js'

const FIRST_LOOK_MS = 250
const LOOK_MS = 5000

export interface OwnPlaceOptions {
  /** Whether a proxy that nobody finds there is of use all the same. */
  readonly mayStay: boolean
  /** Leaves the place to another proxy that has it. */
  readonly end: (code: number) => void
  /** Leaves it to one that is still to be started. */
  readonly handOver: () => void
  readonly clock: Clock
  readonly log: Logger
}

/** Looks whether clients still find this process at its place; `cancel` once it is about to leave that. */
export const watchPlace = (place: Place, { mayStay, end, handOver, clock, log }: OwnPlaceOptions) => {
  const { socket } = place
  let isOver = false
  let isTold = false
  /** The socket at which we found ourselves. */
  let own: Stats | undefined
  const look = async (): Promise<void> => {
    const there = fileAt(socket)
    // Asking each time would have V8 compile anew, for a request of our own, what serves those of clients.
    if (isSame(there, own)) return
    const found = await occupantOf(place).catch(() => 'unsure' as const)
    if (isOver || found === 'unsure') return
    if (found?.pid === process.pid) {
      own = there
      return
    }
    isOver = found !== undefined || !mayStay
    if (found !== undefined) {
      log.warn({ pid: found.pid, socket }, 'another proxy is in our place; this one ends')
      end(0)
    } else if (!mayStay) {
      log.warn({ socket }, 'the private socket was removed; this proxy ends, and the next one makes it again')
      handOver()
    } else if (!isTold) {
      isTold = true
      log.warn({ socket }, 'the private socket was removed: connect and status find this proxy no more')
    }
  }
  // Where the folder cannot be read, nothing is known of the place.
  const lookIfPossible = (): void => void look().catch(() => undefined)
  const timers: readonly Timer[] = [
    clock.after(FIRST_LOOK_MS, lookIfPossible),
    clock.every(LOOK_MS, lookIfPossible),
  ]
  return {
    cancel: () => {
      isOver = true
      for (const timer of timers) timer.cancel()
    },
  }
}
