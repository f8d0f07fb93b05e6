import type { Clock, Timer } from '../../kernel/async/clock.js'

const LEAST_LOOK_MS = 50
const MOST_LOOK_MS = 5000

export interface IdleOptions {
  /** `Infinity` to stay open. */
  readonly idleMs: number
  readonly isIdle: () => boolean
  readonly onIdle: () => void
  readonly clock: Clock
}

/** Calls `onIdle` once after `idleMs` without work. */
export const watchIdle = ({ idleMs, isIdle, onIdle, clock }: IdleOptions): Timer => {
  let busyMs = clock.nowMs()
  const timer: Timer = clock.every(Math.min(MOST_LOOK_MS, Math.max(LEAST_LOOK_MS, idleMs / 4)), () => {
    const nowMs = clock.nowMs()
    if (!isIdle()) busyMs = nowMs
    else if (nowMs - busyMs >= idleMs) {
      timer.cancel()
      onIdle()
    }
  })
  return timer
}
