import type { Call, CancelReason, OnOver } from '../../model/links.js'

/** Calls `listener` if the client cancels a call, after all earlier listeners. */
export const whenCancelled = (call: Call, listener: (reason: CancelReason) => void): void => {
  const { onCancel } = call
  call.onCancel =
    onCancel === undefined
      ? listener
      : reason => {
          onCancel(reason)
          listener(reason)
        }
}

/** Calls `listener` when a call is over, after all earlier listeners. */
export const whenOver = (call: Call, listener: OnOver): void => {
  const { onOver } = call
  call.onOver =
    onOver === undefined
      ? listener
      : (outcome, over) => {
          onOver(outcome, over)
          listener(outcome, over)
        }
}

/** Returns a function that returns whether the client still waits for a call. */
export const stillWanted = (call: Call): (() => boolean) => {
  let isWanted = true
  whenCancelled(call, () => {
    isWanted = false
  })
  return () => isWanted
}
