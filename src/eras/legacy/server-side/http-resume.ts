import { type Backoff, backoffMs } from '../../../kernel/async/backoff.js'
import type { Clock } from '../../../kernel/async/clock.js'
import type { SseReader } from '../../../wire/framing/sse-read.js'

/** A server may ask us to wait this short or this long before we reconnect; beyond, it would make us spin or sleep. */
const RETRY_MS = { min: 100, max: 60_000 }

/** Where a stream stands, so that it can be taken up again after a break (transports, "Resumability and Redelivery"). */
export interface StreamPlace {
  lastEventId: string | undefined
  retryMs: number | undefined
}

/** The place of a stream of which nothing was read yet. */
export const newPlace = (): StreamPlace => ({ lastEventId: undefined, retryMs: undefined })

/** Moves a place on by what was read; what was learnt on an earlier connection counts until a later one says otherwise. */
export const movePlace = (place: StreamPlace, { lastEventId, retryMs }: SseReader): void => {
  place.lastEventId = lastEventId ?? place.lastEventId
  place.retryMs = retryMs ?? place.retryMs
}

/** How long to wait before try number `tries` (0 = the stream was fine until now); never shorter than the server asked. */
export const reopenMs = ({ retryMs }: StreamPlace, tries: number, backoff: Backoff): number => {
  if (retryMs === undefined) return backoffMs(tries, backoff)
  const asked = Math.min(Math.max(retryMs, RETRY_MS.min), RETRY_MS.max)
  return tries === 0 ? asked : Math.max(asked, backoffMs(tries, backoff))
}

/** Waits; ends at once when called off. */
export const sleep = (clock: Clock, ms: number, signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) {
      resolve()
      return
    }
    const done = (): void => {
      timer.cancel()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = clock.after(ms, done)
    signal.addEventListener('abort', done, { once: true })
  })
