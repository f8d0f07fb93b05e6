import { Fault } from '../../../kernel/faults.js'
import {
  at,
  EMPTY,
  type JsonText,
  memberOf,
  objectText,
  oneLine,
  rawText,
  textMember,
  textOf,
  withAt,
  withMembers,
} from '../../../kernel/json/text.js'
import { memoize } from '../../../kernel/memoize.js'
import { type CacheHints, hintMembers, readCacheHints, UNCACHED } from '../../../model/cache-hints.js'
import { TASKS_EXTENSION } from '../../../model/extensions.js'
import { LISTEN, type Welcome } from '../../../model/links.js'
import { answerOf, failed, type Outcome } from '../../../model/outcome.js'
import { errorCode, RPC_CODES, refusedResult } from '../../../model/rpc-error.js'
import { encodeServerCapabilities } from '../../../rpc/capabilities.js'
import { encodeError, encodeResult, frameResult } from '../../../wire/jsonrpc.js'
import type { OutgoingMessage } from '../../../wire/message-parts.js'
import { META, MODERN_REVISION } from '../../shared/protocol.js'
import { type ErrorStage, encodeModernEnd, httpStatusOf, projectModernError } from '../errors.js'
import { isCacheable, methodMayNeedInput, REQUESTS } from '../methods.js'
import { projectModernOnce } from '../project/messages.js'
import { COMPLETE, marked, readResultType, stamped } from '../result-type.js'

export interface RequestFacts {
  readonly id: JsonText
  readonly method: string
  readonly params: JsonText | undefined
  /** The `ClientCapabilities` of the request, unchanged. */
  readonly declared: JsonText
  /** True if the answer depends on the user (server/utilities/caching, `cacheScope`). */
  readonly isPrivate?: boolean
}

/** An encoded response, and its status over HTTP. */
export interface Response {
  readonly frame: OutgoingMessage
  readonly status: number
}

const OK = 200

/**
 * Encodes an outcome for a client of this revision, with `identity` (our `Implementation` object) in its
 * `_meta`.
 */
export const encodeOutcome = (outcome: Outcome, asked: RequestFacts, identity: JsonText): Response => {
  const { id, method } = asked
  switch (outcome.kind) {
    case 'result':
      return encodeAnyResult(outcome, asked, identity)
    case 'input':
      return methodMayNeedInput(method)
        ? { frame: encodeResult(id, encodeInput(outcome.result, identity)), status: OK }
        : encodeOutcome(answerOf(outcome), asked, identity)
    case 'task':
      return takesTasks(asked)
        ? { frame: encodeResult(id, stamped(outcome.result, { type: 'task', identity })), status: OK }
        : encodeOutcome(answerOf(outcome), asked, identity)
    case 'error':
      return errorResponse(
        id,
        projectModernError(outcome.error, { uri: uriRead(asked), declared: asked.declared }),
        isMethodRefused(method, outcome.error) ? 'entry' : 'dispatched',
      )
    case 'fault': {
      const refused = refusedResult(outcome, method)
      if (refused !== undefined) return resultText(refused, undefined, asked, identity)
      // An unknown method has the status of a request that was not dispatched.
      return errorResponse(
        id,
        encodeModernEnd(outcome),
        outcome.fault.code === 'unknown-method' ? 'entry' : 'dispatched',
      )
    }
  }
}

/** A client that did not declare the extension would reject a task, or read it as an empty success. */
const takesTasks = ({ declared }: RequestFacts): boolean =>
  at(declared, 'extensions', TASKS_EXTENSION) !== undefined

const uriRead = ({ method, params = EMPTY }: RequestFacts): string | undefined =>
  method === 'resources/read' ? textMember(params, 'uri') : undefined

/** Returns whether a server refuses a method that only a bridge passes, because this revision lacks it. */
const isMethodRefused = (method: string, error: JsonText): boolean =>
  !REQUESTS.has(method) && errorCode(error) === RPC_CODES['unknown-method']

const encodeAnyResult = (
  { result, isPlain, hints, passedFrom }: Outcome & { readonly kind: 'result' },
  asked: RequestFacts,
  identity: JsonText,
): Response => {
  if (passedFrom !== undefined) return passedText(result, asked, identity)
  return isPlain === true && asked.method === 'tools/call'
    ? plainText(result, asked.id, identity)
    : resultText(result, hints, asked, identity)
}

/** Encodes the rejection of a request that was not dispatched. */
export const encodeEntryError = (id: JsonText, error: JsonText): Response => errorResponse(id, error, 'entry')

/**
 * Adds the subscription id to params of a notification on the stream of the `subscriptions/listen` request
 * `id`.
 */
export const withSubscriptionId = (params: JsonText | undefined, id: JsonText): JsonText =>
  withAt(params ?? EMPTY, ['_meta', META.subscriptionId], id)

const errorResponse = (id: JsonText, error: JsonText, stage: ErrorStage): Response => ({
  frame: encodeError(id, error),
  status: httpStatusOf(error, stage),
})

const encodeInput = (result: JsonText, identity: JsonText): JsonText =>
  stamped(result, { type: 'input_required', identity })

/** Encodes a plain result like `resultText`, but without copying it. */
const plainText = (result: JsonText, id: JsonText, identity: JsonText): Response => {
  const { head, body } = frameResult(id, result)
  return { frame: { head, body: body.subarray(0, -1), tail: stampOf(identity) }, status: OK }
}

/** The end of a plain result and its response, in latin1. */
const stampOf = memoize((identity: JsonText) => {
  const server = oneLine(identity).toString('latin1')
  return `,"resultType":"complete","_meta":{"${META.serverInfo}":${server}}}}`
})

const resultText = (
  result: JsonText,
  hints: CacheHints | undefined,
  asked: RequestFacts,
  identity: JsonText,
): Response => {
  const { id, method } = asked
  const type = readResultType(result)
  if (type !== 'complete' && type !== 'absent') {
    const why = new Fault('internal', 'The server answered with an unsupported result type')
    return encodeOutcome(failed(why), asked, identity)
  }
  // Servers without result types predate cache hints.
  const own = type === 'absent' ? UNCACHED : readCacheHints(result)
  const members = isCacheable(method) ? hintMembers(restricted(hints ?? own, asked)) : []
  const complete = stamped(projectModernOnce(method, result), { type: 'complete', identity, members })
  return {
    frame: frameResult(id, method === LISTEN ? withSubscriptionId(complete, id) : complete),
    status: OK,
  }
}

/** Encodes a result of an unknown method, of any type; adds only members that this revision requires. */
const passedText = (result: JsonText, { id, method }: RequestFacts, identity: JsonText): Response => {
  const isTyped = readResultType(result) !== 'absent'
  const isHinted = REQUESTS.get(method)?.isCacheable !== true || memberOf(result, 'ttlMs') !== undefined
  const hints = isHinted ? [] : hintMembers(UNCACHED)
  const passed = marked(result, identity, [...(isTyped ? [] : [COMPLETE]), ...hints])
  return { frame: frameResult(id, method === LISTEN ? withSubscriptionId(passed, id) : passed), status: OK }
}

const restricted = (hints: CacheHints, { isPrivate = false }: RequestFacts): CacheHints =>
  isPrivate ? { ...hints, cacheScope: 'private' } : hints

/**
 * Encodes the result of `server/discover`. Lists only this revision, because older ones have no envelope.
 */
export const writeDiscover = (welcome: Welcome, extensions: readonly string[] = []): JsonText => {
  const capabilities = encodeServerCapabilities(welcome, MODERN_REVISION)
  const known = memberOf(capabilities, 'extensions') ?? NO_EXTENSIONS
  const extended = withMembers(
    known,
    extensions.map(id => [id, NO_EXTENSIONS]),
  )
  return objectText([
    ['supportedVersions', textOf([MODERN_REVISION])],
    [
      'capabilities',
      extensions.length === 0 ? capabilities : withMembers(capabilities, [['extensions', extended]]),
    ],
    ...(welcome.instructions === undefined ? [] : [['instructions', textOf(welcome.instructions)] as const]),
  ])
}

const NO_EXTENSIONS = rawText('{}')
