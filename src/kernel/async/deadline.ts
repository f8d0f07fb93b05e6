import type { Clock, Timer } from './clock.js'

/** Waits for `work`, but no longer than `limitMs`; whatever the work does after that goes on unwatched. */
export const withLimit = async (work: Promise<unknown>, limitMs: number, clock: Clock): Promise<void> => {
  let timer: Timer | undefined
  const limit = new Promise<void>(resolve => {
    timer = clock.after(limitMs, resolve)
  })
  await Promise.race([work, limit])
  timer?.cancel()
}
