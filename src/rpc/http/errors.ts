import type { Fault } from '../../kernel/faults.js'
import type { JsonText } from '../../kernel/json/text.js'
import { errorText } from '../../model/rpc-error.js'
import type { HttpResponder } from '../../wire/http.js'
import { encodeError } from '../../wire/jsonrpc.js'

interface RefusalDetails {
  readonly code?: number
  readonly id?: JsonText | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** Limits that are the client's own doing, or nobody's; a full server is told with 200. */
const STATUSES: ReadonlyMap<unknown, number> = new Map([
  ['callsPerClient', 429],
  ['callsPerStatelessClient', 429],
  ['streamsPerSession', 429],
  ['calls', 429],
  ['memory', 503],
])

/** The status of a refusal for want of room; undefined for all other faults. */
export const statusOfFull = (
  why: Fault | undefined,
): { readonly status: number; readonly headers: Readonly<Record<string, string>> } | undefined => {
  const status = why?.code === 'overloaded' ? STATUSES.get(why.data?.['limit']) : undefined
  if (status === undefined) return undefined
  const afterMs = Number(why?.data?.['retryAfterMs'] ?? 0)
  return { status, headers: { 'retry-after': String(Math.max(1, Math.ceil(afterMs / 1000))) } }
}

/** An HTTP refusal; its body is a JSON-RPC error (transports, "Sending Messages to the Server", item 4). */
export const refuse = (
  responder: HttpResponder,
  status: number,
  words: string,
  { code = -32600, id, headers }: RefusalDetails = {},
): void => refuseWith(responder, status, { id, error: errorText(code, words) }, headers)

export const refuseWith = (
  responder: HttpResponder,
  status: number,
  { id, error }: { readonly id: JsonText | undefined; readonly error: JsonText },
  headers?: Readonly<Record<string, string>>,
): void => {
  responder.send(status, { 'content-type': 'application/json', ...headers }, encodeError(id, error))
}
