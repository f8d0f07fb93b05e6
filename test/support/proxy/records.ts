import type { Call } from '../../../src/model/links.js'
import { CallRecord, type Interceptor } from '../../../src/mux/calls/call-record.js'
import { ANSWER, InterceptorChains, resume, runChain } from '../../../src/mux/calls/interceptor-chains.js'

/** Returns the record of a call on a path with these interceptors, and with these facts. */
export const recordOf = (
  call: Call,
  facts: Partial<Pick<CallRecord, 'servedBy' | 'ownName' | 'awayMs'>> & { readonly beganMs?: number } = {},
  interceptors: readonly Interceptor[] = [],
): CallRecord => {
  const { beganMs = 0, ...rest } = facts
  const path = new InterceptorChains([...interceptors, ANSWER])
  const chains = path.for(call.method, call.client.serverRequests ?? 'pushed')
  return Object.assign(new CallRecord(call, chains, beganMs), rest)
}

/** Begins a call on a path with these interceptors; `served` is called if it passes them. */
export const begin = (
  call: Call,
  interceptors: readonly Interceptor[],
  {
    beganMs = 0,
    served = () => undefined,
  }: { readonly beganMs?: number; readonly served?: (record: CallRecord) => void } = {},
): CallRecord => {
  const record = recordOf(call, { beganMs }, interceptors)
  resume(record, runChain(record, record.chains.request), () => served(record))
  return record
}
