import type { Clock } from '../../kernel/async/clock.js'
import { textMember } from '../../kernel/json/text.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import type { CallRecord } from '../../mux/calls/call-record.js'
import type { Router } from '../../mux/router.js'

/** A call in flight, without its contents. */
export interface CallInFlight {
  /** The number of its client in this process, and the name that the client gives itself. */
  readonly client: number
  readonly clientName: string | undefined
  readonly method: string
  /** The server, and its own name of the requested item. Undefined while the server is looked up. */
  readonly server: string | undefined
  readonly name: string | undefined
  /** Its stage: looked up, queued for its server, or sent. */
  readonly where: 'proxy' | 'waiting' | 'server'
  readonly ageMs: number
}

const TEXT_CHARS = 256

interface InFlightContext {
  readonly router: Pick<Router, 'meter'>
  readonly clock: Pick<Clock, 'nowMs'>
}

/** Returns the oldest calls in flight, oldest first. */
export const callsInFlight = ({ router, clock }: InFlightContext, max: number): readonly CallInFlight[] => {
  const nowMs = clock.nowMs()
  const calls = router.meter?.history.inFlight ?? []
  return calls.slice(0, max).map(call => ({
    client: call.client.id,
    clientName: clean(textMember(call.client.info, 'name')),
    method: sanitizeLine(call.method, TEXT_CHARS),
    server: call.servedBy,
    name: clean(call.ownName),
    where: stageOf(call),
    ageMs: Math.round(nowMs - call.beganMs),
  }))
}

const clean = (text: string | undefined): string | undefined =>
  text === undefined || text === '' ? undefined : sanitizeLine(text, TEXT_CHARS)

const stageOf = ({ servedBy, sentMs }: CallRecord): CallInFlight['where'] => {
  if (servedBy === undefined) return 'proxy'
  return sentMs === undefined ? 'waiting' : 'server'
}
