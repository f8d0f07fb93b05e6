import { Fault } from '../../../kernel/faults.js'
import type { JsonText } from '../../../kernel/json/text.js'
import type { Call } from '../../../model/links.js'
import { bytesOf, failed, type Outcome } from '../../../model/outcome.js'
import type { Progress } from '../../../model/progress.js'

const NOTIFICATIONS_MAX = 100
const NOTIFICATIONS_MAX_BYTES = 1024 * 1024

interface Notification {
  readonly method: string
  readonly params: JsonText | undefined
}

/**
 * Buffers the last progress, and 100 log messages or 1 MiB of them, while the client has no open request, for
 * its next request (2026-07-28, utilities/progress: nothing after the result).
 */
export class BufferedNotifications {
  #progress: Progress | undefined
  #notifications: Notification[] = []
  #bytes = 0

  get bytes(): number {
    return this.#bytes + (this.#progress?.params.length ?? 0)
  }

  progress(progress: Progress): void {
    this.#progress = progress
  }

  notify(method: string, params: JsonText | undefined): void {
    const bytes = params?.length ?? 0
    if (bytes > NOTIFICATIONS_MAX_BYTES) return
    this.#notifications.push({ method, params })
    this.#bytes += bytes
    while (this.#notifications.length > NOTIFICATIONS_MAX || this.#bytes > NOTIFICATIONS_MAX_BYTES) {
      this.#bytes -= this.#notifications.shift()?.params?.length ?? 0
    }
  }

  /** Sends a request the notifications that it wants, and empties the buffer. */
  replay(
    call: Call,
    filter: { wantsNotification(call: Call, method: string, params: JsonText | undefined): boolean },
  ): void {
    const progress = this.#progress
    const notifications = this.#notifications
    this.#progress = undefined
    this.#notifications = []
    this.#bytes = 0
    for (const { method, params } of notifications) {
      if (filter.wantsNotification(call, method, params)) call.notify(method, params)
    }
    if (progress !== undefined && call.wantsProgress) call.progress(progress)
  }
}

/** Returns the outcome, or an error if it is too large to keep. */
export const kept = (outcome: Outcome, mostBytes: number): Outcome => {
  if (bytesOf(outcome) <= mostBytes) return outcome
  return failed(
    new Fault(
      'too-large',
      'Result discarded: it arrived after the client disconnected and exceeds the buffer',
    ),
  )
}
