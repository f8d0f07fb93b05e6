import type { Call } from '../model/links.js'

/** Watches a call that cannot be served at once: tells whether its client still waits for it. */
export const stillWanted = (call: Call): (() => boolean) => {
  let isWanted = true
  call.onCancel = () => {
    isWanted = false
  }
  return () => isWanted
}
