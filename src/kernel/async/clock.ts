/** A scheduled callback. Cancelling it twice, or after it ran, does nothing. */
export interface Timer extends Disposable {
  cancel(): void
}

/** Monotonic time and timers, injected so that tests can hold time still. */
export interface Clock {
  /** Milliseconds since a fixed point; never jumps, unlike the wall clock. */
  nowMs(): number
  /** Calls `work` once after `delayMs`; never if that is infinite. Does not keep the process alive. */
  after(delayMs: number, work: () => void): Timer
  /** Calls `work` every `periodMs` until cancelled; does not keep the process alive. */
  every(periodMs: number, work: () => void): Timer
}

/** Resolves after `ms` milliseconds. */
export const pause = (clock: Pick<Clock, 'after'>, ms: number): Promise<void> =>
  new Promise(resolve => clock.after(ms, resolve))

const timer = (cancel: () => void): Timer => ({ cancel, [Symbol.dispose]: cancel })

const LONGEST_MS = 2 ** 31 - 1
/** A timer this late means that the process was suspended or starved of CPU. */
const LATE_MS = 1000

/** Defers overdue work for a moment: Node runs timers before it reads what arrived meanwhile. */
const runDue = (dueMs: number, work: () => void): void => {
  if (performance.now() - dueMs > LATE_MS) setImmediate(work)
  else work()
}

export const systemClock: Clock = {
  nowMs: () => performance.now(),
  after(delayMs, work) {
    // Node fires a timer at once if its delay exceeds this maximum (timers, "setTimeout").
    if (delayMs > LONGEST_MS) return timer(() => undefined)
    const dueMs = performance.now() + delayMs
    let isOff = false
    const handle = setTimeout(
      () => {
        runDue(dueMs, () => {
          if (!isOff) work()
        })
      },
      Math.max(0, delayMs),
    ).unref()
    return timer(() => {
      isOff = true
      clearTimeout(handle)
    })
  },
  every(periodMs, work) {
    let lastMs = performance.now()
    let isOff = false
    const handle = setInterval(() => {
      runDue(lastMs + periodMs, () => {
        lastMs = performance.now()
        if (!isOff) work()
      })
    }, periodMs).unref()
    return timer(() => {
      isOff = true
      clearInterval(handle)
    })
  },
}
