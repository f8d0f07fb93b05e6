/** Something that was scheduled and can be called off; calling off twice, or too late, does nothing. */
export interface Timer extends Disposable {
  cancel(): void
}

/** Monotonic time and timers, injected so that tests can hold time still. */
export interface Clock {
  /** Milliseconds since some fixed point; never jumps, unlike the wall clock. */
  nowMs(): number
  /** Calls `work` once, `delayMs` from now, or never if that is infinite; does not keep the process alive. */
  after(delayMs: number, work: () => void): Timer
  /** Calls `work` every `periodMs` until cancelled; does not keep the process alive. */
  every(periodMs: number, work: () => void): Timer
}

const timer = (cancel: () => void): Timer => ({ cancel, [Symbol.dispose]: cancel })

const LONGEST_MS = 2 ** 31 - 1

/** The clock of this machine. */
export const systemClock: Clock = {
  nowMs: () => performance.now(),
  after(delayMs, work) {
    // Node fires at once what is longer than it can count (timers, "setTimeout").
    if (delayMs > LONGEST_MS) return timer(() => undefined)
    const handle = setTimeout(work, delayMs).unref()
    return timer(() => {
      clearTimeout(handle)
    })
  },
  every(periodMs, work) {
    const handle = setInterval(work, periodMs).unref()
    return timer(() => {
      clearInterval(handle)
    })
  },
}
