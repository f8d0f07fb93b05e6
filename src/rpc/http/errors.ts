import type { Fault } from '../../kernel/faults.js'
import type { JsonText } from '../../kernel/json/text.js'
import { ownErrorText } from '../../model/rpc-error.js'
import type { HttpResponder } from '../../wire/http.js'
import { encodeError } from '../../wire/jsonrpc.js'
import type { OwnChallenge } from '../host.js'

interface RefusalDetails {
  readonly code?: number
  readonly id?: JsonText | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** The HTTP status for a limit of the client, or of the whole proxy. A full server is reported with 200. */
const STATUSES: ReadonlyMap<unknown, number> = new Map([
  ['callsPerClient', 429],
  ['callsPerStatelessClient', 429],
  ['streamsPerSession', 429],
  ['calls', 429],
  ['memory', 503],
])

/** Returns the status and headers for an overload fault; undefined for all other faults. */
export const overloadResponse = (
  why: Fault | undefined,
): { readonly status: number; readonly headers: Readonly<Record<string, string>> } | undefined => {
  const status = why?.code === 'overloaded' ? STATUSES.get(why.data?.['limit']) : undefined
  if (status === undefined) return undefined
  const afterMs = Number(why?.data?.['retryAfterMs'] ?? 0)
  return { status, headers: { 'retry-after': String(Math.max(1, Math.ceil(afterMs / 1000))) } }
}

/** Rejects a request for missing scopes; returns false for any other fault. */
export const refuseForScopes = (
  responder: HttpResponder,
  why: Fault | undefined,
  challenge: OwnChallenge | undefined,
  headers?: Readonly<Record<string, string>>,
): boolean => {
  const scope = why?.code === 'forbidden' ? why.data?.['scope'] : undefined
  const refusal = typeof scope === 'string' ? challenge?.(scope.split(' ')) : undefined
  if (refusal === undefined) return false
  responder.send(refusal.status, { ...headers, ...refusal.headers }, refusal.body)
  return true
}

/**
 * Sends an HTTP error with a JSON-RPC error as its body (transports, "Sending Messages to the Server", item
 * 4).
 */
export const refuseRequest = (
  responder: HttpResponder,
  status: number,
  message: string,
  { code = -32600, id, headers }: RefusalDetails = {},
): void => refuseWith(responder, status, { id, error: ownErrorText(code, message) }, headers)

export const refuseWith = (
  responder: HttpResponder,
  status: number,
  { id, error }: { readonly id: JsonText | undefined; readonly error: JsonText },
  headers?: Readonly<Record<string, string>>,
): void => {
  responder.send(status, { 'content-type': 'application/json', ...headers }, encodeError(id, error))
}
