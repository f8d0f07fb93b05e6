import { newErrorId } from '../../kernel/error-ids.js'
import type { Fault } from '../../kernel/faults.js'
import {
  at,
  EMPTY,
  type JsonText,
  kindOf,
  memberOf,
  membersOf,
  rawText,
  some,
  stringOf,
  textOf,
  withMember,
} from '../../kernel/json/text.js'
import type { Answer } from '../../model/outcome.js'
import {
  asInternalError,
  errorCode,
  faultText,
  missingCapability,
  ownErrorText,
  RPC_CODES,
  withErrorCode,
  withErrorData,
} from '../../model/rpc-error.js'
import { MODERN_CODES } from '../shared/protocol.js'

/** Resource not found, in revisions before this one. */
const RESOURCE_NOT_FOUND = -32002
/** The user has to open a URL first; only in 2025-11-25. */
const URL_ELICITATION_REQUIRED = -32042

const URL_REQUIRED = rawText('{"elicitation":{"url":{}}}')

const requiredOf = (error: JsonText): JsonText => at(error, 'data', 'requiredCapabilities') ?? EMPTY

/** Returns whether a code is reserved: only those defined may be sent (basic, "Error Codes"). */
const isReserved = (code: number): boolean => code <= -32020 && code >= -32099

// ── our own errors ──

/** Encodes a fault for a modern client. */
export const encodeModernFault = (fault: Fault): JsonText => faultText(fault)

/** Encodes the fault that ends a call, and sets its error id, by which the client can look it up. */
export const encodeModernEnd = (end: Answer & { readonly kind: 'fault' }): JsonText => {
  const code = RPC_CODES[end.fault.code]
  end.errorId = newErrorId(code, end.fault.message, end.fault.code)
  return faultText(end.fault, code, end.errorId, end.message)
}

/** Makes the error of headers that contradict the body; `message` comes from `checkHeaders`. */
export const headerMismatch = (message: string): JsonText =>
  ownErrorText(MODERN_CODES.headerMismatch, message)

// ── servers' errors ──

/** The request that failed. */
export interface RequestAsked {
  /** The URI of `resources/read`, as the client wrote it. */
  readonly uri: string | undefined
  /** The `ClientCapabilities` of the request, unchanged. */
  readonly declared: JsonText
}

/**
 * Projects a server's error to the codes of this revision. A client with URL elicitation should have been
 * asked for input instead of getting `-32042`.
 */
export const projectModernError = (error: JsonText, { uri, declared }: RequestAsked): JsonText => {
  const code = errorCode(error)
  if (code === undefined) return error
  if (code === RESOURCE_NOT_FOUND) return notFound(error, uri)
  if (code === URL_ELICITATION_REQUIRED && lacksCapability(declared, URL_REQUIRED))
    return missingCapability(URL_REQUIRED)
  if (code === MODERN_CODES.missingCapability && lacksCapability(declared, requiredOf(error))) return error
  return isReserved(code) ? asInternalError(error, code) : error
}

const notFound = (error: JsonText, uri: string | undefined): JsonText => {
  const mapped = withErrorCode(error, RPC_CODES['invalid-params'])
  const isNamed = stringOf(at(error, 'data', 'uri')) !== undefined
  return uri === undefined || isNamed ? mapped : withErrorData(mapped, 'uri', textOf(uri))
}

// ── over HTTP ──

/** The origin of an error: the proxy itself (`entry`), or a server (`dispatched`). */
export type ErrorStage = 'entry' | 'dispatched'

const OK = 200
const BAD_REQUEST = 400
const NOT_FOUND = 404

/** At this stage, `-32602` means a missing or malformed envelope. */
const ENTRY_STATUSES: ReadonlyMap<number, number> = new Map([
  [RPC_CODES['parse-error'], BAD_REQUEST],
  [RPC_CODES['invalid-request'], BAD_REQUEST],
  [RPC_CODES['invalid-params'], BAD_REQUEST],
  [RPC_CODES['unknown-method'], NOT_FOUND],
  [MODERN_CODES.headerMismatch, BAD_REQUEST],
  [MODERN_CODES.missingCapability, BAD_REQUEST],
  [MODERN_CODES.unsupportedVersion, BAD_REQUEST],
])

/**
 * Returns the HTTP status of an error response (basic/transports/streamable-http, "Request Metadata"). SDK
 * clients hide the error in a 404, so a server's own `-32601` is sent with 200.
 */
export const httpStatusOf = (error: JsonText, stage: ErrorStage): number => {
  const code = errorCode(error) ?? RPC_CODES.internal
  if (stage === 'entry') return ENTRY_STATUSES.get(code) ?? OK
  return code === MODERN_CODES.missingCapability ? BAD_REQUEST : OK
}

const FORM = rawText('{"form":{}}')

/**
 * Returns whether a client lacks a required capability, at any depth; both are `ClientCapabilities` objects.
 *
 * @internal
 */
export const lacksCapability = (declared: JsonText, required: JsonText): boolean =>
  lacksMember(withForm(declared), withForm(required))

const lacksMember = (declared: JsonText, required: JsonText): boolean =>
  some(membersOf(required), ({ key, value }) => {
    const found = memberOf(declared, key)
    return found === undefined || lacksMember(found, value)
  })

/** `elicitation: {}` means forms (client/elicitation, "Capabilities"). */
const withForm = (capabilities: JsonText): JsonText => {
  const elicitation = memberOf(capabilities, 'elicitation')
  if (elicitation === undefined || kindOf(elicitation) !== 'object') return capabilities
  const isNamed = memberOf(elicitation, 'form') !== undefined || memberOf(elicitation, 'url') !== undefined
  return isNamed ? capabilities : withMember(capabilities, 'elicitation', FORM)
}
