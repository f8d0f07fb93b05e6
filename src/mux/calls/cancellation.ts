import type { Call } from '../../model/links.js'

/** Watches a call that cannot be served at once: tells whether its client still waits for it. */
export const stillWanted = (call: Call): (() => boolean) => {
  let isWanted = true
  // Apart from the assignment, as in LiveCall.
  const cancelled = (): void => {
    isWanted = false
  }
  call.onCancel = cancelled
  return () => isWanted
}
