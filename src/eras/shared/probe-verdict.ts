import { at, elementsOf, type JsonText, kindOf, memberOf, stringOf } from '../../kernel/json/text.js'
import type { Answer } from '../../model/outcome.js'
import { errorCode } from '../../model/rpc-error.js'
import type { StatedReason } from '../../rpc/http/reply.js'
import type { Classified } from '../../wire/classify.js'
import { idKey } from '../../wire/jsonrpc.js'
import { isBeforeModern, isModernRevision, MODERN_CODES, type ModernRevision } from './protocol.js'

/** The outcome of `server/discover` as the first message to a server on a pipe. */
export type PipeProbe =
  | { readonly got: 'result'; readonly result: JsonText }
  | { readonly got: 'error'; readonly error: JsonText }
  | { readonly got: 'silence' }
  /** The process ended or closed its output, or the WebSocket was closed. */
  | { readonly got: 'exit' }

/** The outcome of `server/discover` by HTTP POST. */
export type HttpProbe =
  | { readonly got: 'nothing' }
  | {
      readonly got: 'reply'
      readonly status: number
      /** The first message of the body; undefined if it holds none, such as HTML. */
      readonly body: Classified | undefined
      /** The reason in the body of an error. */
      readonly stated?: StatedReason | undefined
      /** `Location`, resolved against the URL of the probe; undefined if missing or invalid. */
      readonly location?: URL | undefined
    }

/** The inputs of the verdict besides the outcome. */
export interface ProbeRules {
  /** The id of the probe, as JSON text. */
  readonly id: JsonText
  /** Over HTTP: the URL of the probe. */
  readonly url?: URL
  /** The second probe, with a version that the server named in its answer to the first. */
  readonly isRepeat: boolean
  /** True if the legacy era may be tried. */
  readonly mayFallBack: boolean
}

/** The next step with the server; final unless `repeat`, `follow`, `auth` or `unreachable`. */
export type ProbeVerdict =
  | { readonly is: 'modern'; readonly revision: ModernRevision; readonly discovered: JsonText }
  /** Modern, but it rejected the request for the reason in its error. */
  | { readonly is: 'modern-refused'; readonly error: JsonText }
  | { readonly is: 'repeat'; readonly revision: ModernRevision }
  /** Send `initialize`, on the same connection or on a `fresh` one. */
  | { readonly is: 'legacy'; readonly on: 'same' | 'fresh' }
  | { readonly is: 'incompatible'; readonly versions: readonly string[] }
  | { readonly is: 'follow'; readonly url: URL }
  /** Undecided: get authorized, then probe again. */
  | { readonly is: 'auth'; readonly status: number; readonly stated?: StatedReason | undefined }
  /** Undecided, and must not be cached: probe again after a while. */
  | {
      readonly is: 'unreachable'
      readonly why: string
      readonly status?: number
      readonly stated?: StatedReason | undefined
    }

const LEGACY: ProbeVerdict = { is: 'legacy', on: 'same' }
const AUTH: ReadonlySet<number> = new Set([401, 403, 407])
const TRANSIENT: ReadonlySet<number> = new Set([408, 425, 429])

/**
 * Decides the era of a server on a pipe (2026-07-28, basic/transports/stdio, "Backward Compatibility"): only
 * a DiscoverResult or an UnsupportedProtocolVersion error is modern. A silent server is sent `initialize`,
 * because legacy SDK servers ignore unknown methods, or exit. Pure.
 */
export const verdictOfPipe = (probe: PipeProbe, rules: ProbeRules): ProbeVerdict => {
  switch (probe.got) {
    case 'result':
      return verdictOfResult(probe.result, rules)
    case 'error':
      return errorCode(probe.error) === MODERN_CODES.unsupportedVersion
        ? verdictOfVersions(probe.error, rules)
        : LEGACY
    case 'silence':
      return LEGACY
    case 'exit':
      return { is: 'legacy', on: 'fresh' }
  }
}

/**
 * Decides the era of a server behind HTTP (2026-07-28, basic/transports/streamable-http, "Backward
 * Compatibility"). A login or an outage decides nothing: one bad minute must not make a server legacy for a
 * day. Pure.
 */
export const verdictOfHttp = (probe: HttpProbe, rules: ProbeRules): ProbeVerdict => {
  if (probe.got === 'nothing') return { is: 'unreachable', why: 'no answer' }
  const { status, body, location, stated } = probe
  const undecided = undecidedBy(status, stated)
  if (AUTH.has(status)) return { is: 'auth', status, stated }
  if (TRANSIENT.has(status)) return undecided
  if (isClass(status, 3)) return verdictOfRedirect(status, location, rules)
  if (status === 400) return verdictOfBadRequest(body, rules)
  if (isClass(status, 4)) return LEGACY
  if (!isClass(status, 2)) return undecided
  return body?.is === 'message' && body.message.kind === 'result'
    ? verdictOfResult(body.message.result, rules)
    : LEGACY
}

const undecidedBy = (status: number, stated: StatedReason | undefined): ProbeVerdict => {
  const said = stated?.reason === undefined ? '' : `: ${stated.reason}`
  return { is: 'unreachable', why: `HTTP status ${status}${said}`, status, ...(stated && { stated }) }
}

/**
 * Returns whether the answer to `initialize` shows a modern server, which was too slow for the probe or was
 * replaced since.
 */
export const isModernAfterAll = (answer: Answer): boolean => {
  if (answer.kind !== 'error') return false
  const versions = stringsOf(at(answer.error, 'data', 'supported')) ?? []
  return versions.length === 0
    ? errorCode(answer.error) === MODERN_CODES.unsupportedVersion
    : versions.some(isModernRevision)
}

/**
 * Returns whether an error on a legacy connection shows that the server is modern now. The code alone is not
 * enough: before 2026-07-28 servers could use it for anything.
 */
export const hasBecomeModern = (error: JsonText): boolean =>
  errorCode(error) === MODERN_CODES.unsupportedVersion &&
  (stringsOf(at(error, 'data', 'supported')) ?? []).some(isModernRevision)

/** Returns whether a modern server's answer to `initialize` rules out legacy revisions. */
export const isModernOnly = (answer: Answer): boolean => {
  switch (answer.kind) {
    case 'result':
      return !isBeforeModern(stringOf(memberOf(answer.result, 'protocolVersion')) ?? '')
    case 'error':
      return (stringsOf(at(answer.error, 'data', 'supported')) ?? []).every(
        version => !isBeforeModern(version),
      )
    case 'fault': {
      const status = answer.fault.data?.['httpStatus']
      return typeof status === 'number' && !TRANSIENT.has(status) && (isClass(status, 4) || status === 500)
    }
  }
}

const isClass = (status: number, digit: number): boolean => Math.floor(status / 100) === digit

/**
 * Returns whether a server that answers with this status may be an older one: any 4xx (2025-03-26,
 * basic/transports, "Backwards Compatibility") but those that mean a login or a temporary condition.
 */
export const mayBeOlder = (status: number): boolean =>
  isClass(status, 4) && !AUTH.has(status) && !TRANSIENT.has(status)

const verdictOfResult = (result: JsonText, rules: ProbeRules): ProbeVerdict => {
  const versions = stringsOf(memberOf(result, 'supportedVersions'))
  const capabilities = memberOf(result, 'capabilities')
  const type = memberOf(result, 'resultType')
  const isDiscovery =
    versions !== undefined &&
    capabilities !== undefined &&
    kindOf(capabilities) === 'object' &&
    (type === undefined || stringOf(type) === 'complete')
  if (!isDiscovery) return LEGACY
  const revision = versions.find(isModernRevision)
  if (revision !== undefined) return { is: 'modern', revision, discovered: result }
  return rules.mayFallBack || versions.some(isBeforeModern) ? LEGACY : { is: 'incompatible', versions }
}

/** A version in common is tried once; an older one means the legacy era. */
const verdictOfVersions = (error: JsonText, { isRepeat }: ProbeRules): ProbeVerdict => {
  const versions = stringsOf(at(error, 'data', 'supported'))
  if (versions === undefined || versions.length === 0) return LEGACY
  const revision = versions.find(isModernRevision)
  if (revision !== undefined && !isRepeat) return { is: 'repeat', revision }
  return versions.some(isBeforeModern) ? LEGACY : { is: 'incompatible', versions }
}

/**
 * Modern codes count only under the probe's own id: a server that rejects before reading the body is older.
 */
const verdictOfBadRequest = (body: Classified | undefined, rules: ProbeRules): ProbeVerdict => {
  if (body?.is !== 'message' || body.message.kind !== 'error') return LEGACY
  const { id, error } = body.message
  if (id === undefined || idKey(id) !== idKey(rules.id)) return LEGACY
  switch (errorCode(error)) {
    case MODERN_CODES.unsupportedVersion:
      return verdictOfVersions(error, rules)
    case MODERN_CODES.headerMismatch:
    case MODERN_CODES.missingCapability:
      return { is: 'modern-refused', error }
    case undefined:
    default:
      return LEGACY
  }
}

/** Follows redirects within the origin only: any other would be sent our credentials. */
const verdictOfRedirect = (status: number, location: URL | undefined, { url }: ProbeRules): ProbeVerdict =>
  location !== undefined && location.origin === url?.origin
    ? { is: 'follow', url: location }
    : { is: 'unreachable', why: `HTTP status ${status} to nowhere on this origin`, status }

/** The elements of an array of strings; undefined if it is anything else. */
const stringsOf = (array: JsonText | undefined): string[] | undefined => {
  if (array === undefined || kindOf(array) !== 'array') return undefined
  const strings: string[] = []
  for (const element of elementsOf(array)) {
    const string = stringOf(element)
    if (string === undefined) return undefined
    strings.push(string)
  }
  return strings
}
