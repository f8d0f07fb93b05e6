import { Fault } from '../faults.js'
import type { Clock } from './clock.js'
import { Deferred } from './deferred.js'

export interface WithinOptions {
  readonly clock: Clock
  /** With `Infinity`, only the signal ends the wait. */
  readonly ms: number
  readonly signal?: AbortSignal | undefined
}

/**
 * Waits at most `ms` for `work`, then resolves to undefined or rejects with `timedOut()`. Rejects with a
 * Fault `cancelled` when `signal` aborts. A later result of the work is ignored.
 */
export function within<T>(
  work: Promise<T>,
  options: WithinOptions & { readonly timedOut: () => Fault },
): Promise<T>
export function within<T>(work: Promise<T>, options: WithinOptions): Promise<T | undefined>
export async function within<T>(
  work: Promise<T>,
  { clock, ms, signal, timedOut }: WithinOptions & { readonly timedOut?: () => Fault },
): Promise<T | undefined> {
  const end = new Deferred<undefined>()
  const onAbort = (): void => end.reject(new Fault('cancelled', 'It was cancelled before it was done'))
  const timer = clock.after(ms, () => {
    if (timedOut === undefined) end.resolve(undefined)
    else end.reject(timedOut())
  })
  signal?.addEventListener('abort', onAbort, { once: true })
  if (signal?.aborted === true) onAbort()
  try {
    return await Promise.race([end.promise, work])
  } finally {
    timer.cancel()
    signal?.removeEventListener('abort', onAbort)
  }
}
