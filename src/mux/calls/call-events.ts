import type { Call, CancelReason } from '../../model/links.js'

/** Calls `listener` if the client cancels a call, after the listeners that were added before. */
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

/** Calls `listener` when a call is over, after the listeners that were added before. */
export const whenOver = (call: Call, listener: NonNullable<Call['onOver']>): void => {
  const { onOver } = call
  call.onOver =
    onOver === undefined
      ? listener
      : outcome => {
          onOver(outcome)
          listener(outcome)
        }
}

/** Returns a function that tells whether the client still waits for a call. */
export const stillWanted = (call: Call): (() => boolean) => {
  let isWanted = true
  whenCancelled(call, () => {
    isWanted = false
  })
  return () => isWanted
}
