import { type JsonText, kindOf, memberOf } from '../../kernel/json/text.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import { ownErrorText } from '../../model/rpc-error.js'
import type { ListenerOptions } from '../../rpc/host.js'
import { type Classified, classifyWithin, type Malformed } from '../../wire/classify.js'
import type { HttpHeaders } from '../../wire/http.js'
import { type Message, metaOf } from '../../wire/jsonrpc.js'
import { readClaim } from '../modern/envelope.js'
import { headerMismatch } from '../modern/errors.js'
import { checkVersionHeader } from '../modern/mirror-headers.js'
import {
  claimsModern,
  isModernRevision,
  META,
  MODERN_CODES,
  MODERN_REVISIONS,
  type ModernRevision,
  SUPPORTED_LEGACY,
} from '../shared/protocol.js'

/** Names the version a request is written in (2026-07-28, basic, "Request Metadata"). */
const VERSION_KEY = META.protocolVersion
const CAPABILITIES_KEY = META.clientCapabilities

type RequestMessage = Extract<Message, { kind: 'request' }>
type NotificationMessage = Extract<Message, { kind: 'notification' }>

/** The eras served: HTTP+SSE exists only in the legacy era, which can be disabled. */
export type ServedEras = 'both' | 'legacy' | 'modern'

/** The handler of a message, or the reason for its rejection. */
export type InboundVerdict =
  | {
      readonly is: 'modern'
      readonly revision: ModernRevision
      readonly message: RequestMessage | NotificationMessage
    }
  /** `initialize`: begins a session of the legacy era. */
  | { readonly is: 'initialize'; readonly message: RequestMessage }
  /** Any other message without a claim: belongs to a legacy session, if there is one. */
  | { readonly is: 'legacy'; readonly message: Message }
  /** Batches exist only in sessions of 2025-03-26. */
  | { readonly is: 'legacy-batch'; readonly items: readonly Classified[] }
  | Malformed
  | Refused

/** A message that must not be handled. */
interface Refused {
  readonly is: 'refused'
  /** Undefined unless it is a request: pipes then send nothing, HTTP an error without id. */
  readonly id: JsonText | undefined
  /** The members of a batch: over a pipe, each one that waits for an answer gets the error. */
  readonly batch?: readonly Classified[]
  readonly status: 400
  readonly error: JsonText
}

/** Classifies a client's message; counts it once if it, or a member of a batch, is malformed. */
export const classifyInbound = (
  bytes: Buffer,
  bounds: LimitCounters,
  refused: ListenerOptions['refused'],
): Classified => {
  const classified = classifyWithin(bytes, bounds)
  if (classified.is !== 'message' && isMalformed(classified)) refused?.('malformed')
  return classified
}

const isMalformed = (classified: Classified): boolean =>
  classified.is === 'malformed' || (classified.is === 'batch' && classified.items.some(isMalformed))

/**
 * Detects the era of one message from its body: a version in `_meta` makes it modern, its absence legacy
 * (2026-07-28, basic/versioning). HTTP headers (undefined on pipes) never overrule a claim; they keep a
 * modern request that forgot its claim from passing for a legacy one. Pure.
 */
export const eraOf = (
  classified: Classified,
  headers: HttpHeaders | undefined,
  speaks: ServedEras = 'both',
): InboundVerdict => {
  const version = headers?.['mcp-protocol-version']
  const meansModern =
    speaks === 'modern' || (speaks === 'both' && version !== undefined && claimsModern(version))
  switch (classified.is) {
    case 'malformed':
      return classified
    case 'batch':
      return eraOfBatch(classified.items, meansModern)
    case 'message':
      return eraOfMessage(classified.message, { headers, speaks, meansModern })
  }
}

interface InboundContext {
  readonly headers: HttpHeaders | undefined
  readonly speaks: ServedEras
  readonly meansModern: boolean
}

const eraOfMessage = (message: Message, context: InboundContext): InboundVerdict => {
  const envelope = metaOf(message)
  if (envelope !== undefined) {
    const { isRepeated, claim } = readClaim(envelope)
    if (isRepeated) return refused(message, ownErrorText(-32600, 'A member of params._meta is repeated'))
    if (claim !== undefined && (message.kind === 'request' || message.kind === 'notification'))
      return eraOfClaim(message, claim, context)
  }
  if (context.meansModern) return eraOfUnclaimed(message, envelope, context.speaks)
  return message.kind === 'request' && message.method === 'initialize'
    ? { is: 'initialize', message }
    : { is: 'legacy', message }
}

/** Handles a message without a claim where the header, or the eras served, imply the modern era. */
const eraOfUnclaimed = (
  message: Message,
  envelope: JsonText | undefined,
  speaks: ServedEras,
): InboundVerdict => {
  switch (message.kind) {
    case 'request':
      return refused(message, ownErrorText(-32602, `Missing _meta ${missingKeys(envelope).join(', ')}`))
    case 'notification':
      // Only requests carry the envelope (2026-07-28, schema, `RequestMetaObject`).
      return { is: 'modern', revision: MODERN_REVISIONS[0], message }
    case 'result':
    case 'error':
      return speaks === 'modern'
        ? refused(message, ownErrorText(-32600, 'Answers are not accepted: nothing was asked'))
        : { is: 'legacy', message }
  }
}

const eraOfClaim = (
  message: RequestMessage | NotificationMessage,
  claim: string,
  { headers, speaks }: InboundContext,
): InboundVerdict => {
  if (speaks !== 'legacy' && isModernRevision(claim)) return { is: 'modern', revision: claim, message }
  const mismatch = message.kind === 'request' && headers && checkVersionHeader(headers, claim)
  if (mismatch) return refused(message, headerMismatch(mismatch))
  // As in `server/discover`: legacy versions are negotiated by `initialize`.
  const supported = speaks === 'legacy' ? SUPPORTED_LEGACY : MODERN_REVISIONS
  return refused(
    message,
    ownErrorText(MODERN_CODES.unsupportedVersion, 'Unsupported protocol version', {
      supported,
      requested: claim,
    }),
  )
}

const eraOfBatch = (items: readonly Classified[], meansModern: boolean): InboundVerdict => {
  const claims = items.some(item => item.is === 'message' && hasClaim(metaOf(item.message)))
  if (!claims && !meansModern) return { is: 'legacy-batch', items }
  const error = ownErrorText(-32600, `Batch not supported in ${MODERN_REVISIONS[0]}`)
  return { is: 'refused', id: undefined, batch: items, status: 400, error }
}

const hasClaim = (envelope: JsonText | undefined): boolean => readClaim(envelope).claim !== undefined

const missingKeys = (envelope: JsonText | undefined): string[] => {
  const capabilities = envelope && memberOf(envelope, CAPABILITIES_KEY)
  const hasCapabilities = capabilities !== undefined && kindOf(capabilities) === 'object'
  return hasCapabilities ? [VERSION_KEY] : [VERSION_KEY, CAPABILITIES_KEY]
}

const refused = (message: Message, error: JsonText): Refused => ({
  is: 'refused',
  id: message.kind === 'request' ? message.id : undefined,
  status: 400,
  error,
})
