import { createHash } from 'node:crypto'
import type { Clock } from '../../kernel/async/clock.js'
import type { Logger } from '../../kernel/logger.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import type { Client } from '../../model/links.js'
import { askedName } from '../routes.js'
import { ENDLESS } from './admission.js'
import { type CallRecord, type Interceptor, NEXT } from './call-record.js'
import { outcomeName } from './counting/call-history.js'

/** Maximum logged length of a client's name for an item. */
const NAME_BYTES = 256
const HASH_CHARS = 16

const hashes = new WeakMap<Client, string>()

/** Returns a hash that links the log lines of a session without revealing its id, which is a credential. */
export const sessionHash = (client: Client): string | undefined => {
  const { sessionId } = client
  const known = hashes.get(client)
  if (known !== undefined || sessionId === undefined) return known
  const made = createHash('sha256').update(sessionId).digest('base64url').slice(0, HASH_CHARS)
  hashes.set(client, made)
  return made
}

/** Returns the log fields of a call, with the same names everywhere and without its contents. */
export const callFactsOf = (call: CallRecord, nowMs: number) => {
  const { client, servedBy: server, beganMs, number, method } = call
  const name = call.ownName ?? askedName(call)
  const trace_id = call.trace?.sampledId
  return {
    ...{ server, client: client.id, call: number, session: sessionHash(client) },
    method: sanitizeLine(method, NAME_BYTES),
    name: name && sanitizeLine(name, NAME_BYTES),
    ms: Math.round(nowMs - beganMs),
    ...(trace_id !== undefined && { trace_id, span_id: call.trace?.origin.context.spanId }),
  }
}

export interface CallLog {
  readonly log: Logger
  readonly clock: Clock
  /** Slower calls are logged as warnings; infinite for none. */
  readonly slowMs: number
  /** True if every call is logged, for debugging. */
  readonly isEach: boolean
}

/** Logs slow calls, or all. */
export const logCalls = ({ log, clock, slowMs, isEach }: CallLog): readonly Interceptor[] => {
  if (slowMs === Number.POSITIVE_INFINITY && !isEach) return []
  const run: Interceptor['run'] = (call, outcome) => {
    if (call.method === ENDLESS) return NEXT
    const nowMs = clock.nowMs()
    const facts = (): object => ({
      ...callFactsOf(call, nowMs),
      outcome: outcomeName(outcome),
      errorId: outcome?.kind === 'fault' ? outcome.errorId : undefined,
    })
    if (nowMs - call.beganMs > slowMs) log.warn(facts(), 'a call was slow')
    else if (isEach) log.debug(facts(), 'a call is over')
    return NEXT
  }
  return [{ name: 'call log', stage: 'settled', seesAnswered: true, run }]
}
