import { type Backoff, backoffMs } from '../../kernel/backoff.js'
import type { Clock } from '../../kernel/clock.js'
import type { InboundReply } from '../../wire/http.js'
import { LIMITS } from '../../wire/limits.js'
import { SseReader } from '../../wire/sse-read.js'

/** A server may ask us to wait this short or this long before we reconnect; beyond, it would make us spin or sleep. */
const RETRY_MS = { min: 100, max: 60_000 }

/** Where a stream stands, so that it can be taken up again after a break (transports, "Resumability and Redelivery"). */
export interface StreamPlace {
  lastEventId: string | undefined
  retryMs: number | undefined
}

/** The place of a stream of which nothing was read yet. */
export const newPlace = (): StreamPlace => ({ lastEventId: undefined, retryMs: undefined })

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

/** What is read from a stream. */
export interface StreamHandlers {
  message(data: Buffer): void
  /** A chunk was read to its end. */
  read(): void
  /** A message was longer than the limit and was thrown away. */
  skipped(bytes: number): void
}

/** Reads events until the stream ends or breaks, and moves its place on. Resolves to whether any event came; never rejects. */
export const readStream = async (
  reply: InboundReply,
  place: StreamPlace,
  on: StreamHandlers,
): Promise<boolean> => {
  const reader = new SseReader({ maxBytes: LIMITS.messageBytes })
  let heard = false
  try {
    for await (const chunk of reply.body) {
      reader.push(chunk, {
        onEvent: ({ data }) => {
          heard = true
          // An event without data only teaches its id.
          if (data.length > 0) on.message(data)
        },
        onSkipped: bytes => on.skipped(bytes),
      })
      // What was learnt on an earlier connection counts until this one says otherwise.
      place.lastEventId = reader.lastEventId ?? place.lastEventId
      place.retryMs = reader.retryMs ?? place.retryMs
      on.read()
    }
  } catch {
    // A break in the middle is an end: what is missing can be asked for.
  } finally {
    reply.discard()
  }
  return heard
}
