import { Fault } from '../../../kernel/faults.js'
import { trust } from '../../../kernel/json/cursor.js'
import {
  at,
  EMPTY,
  elementsOf,
  isEmpty,
  type JsonText,
  kindOf,
  memberOf,
  membersOf,
  objectText,
  some,
  stringOf,
  textMember,
  textOf,
  withoutMembers,
} from '../../../kernel/json/text.js'
import { shortName } from '../../../kernel/secrets/mask.js'
import { plainOf, TEXTS } from '../../../model/content.js'
import type {
  CallSink,
  CancelReason,
  DownlinkListener,
  DownstreamCall,
  OnLate,
  Request,
} from '../../../model/links.js'
import { listOfMethod } from '../../../model/listing.js'
import { failed, type Outcome, type Settle, succeeded } from '../../../model/outcome.js'
import type { Progress } from '../../../model/progress.js'
import { errorCode, repairError } from '../../../model/rpc-error.js'
import type { Conversation } from '../../../rpc/channel/conversation.js'
import { withProgressToken } from '../../../rpc/progress-token.js'
import { META, MODERN_CODES, MODERN_REVISION } from '../../shared/protocol.js'
import { isSafe, isWorthRepeating } from '../../shared/safe-methods.js'
import { requestParams } from '../envelope.js'
import { methodMayNeedInput } from '../methods.js'
import { projectModernRequest } from '../project/messages.js'
import { withoutReservedMeta } from '../project/meta.js'
import { readResultType } from '../result-type.js'
import type { RevisionCheck } from './revision-check.js'
import type { SubscriptionStream } from './subscription-stream.js'
import type { ToolSchemas } from './tool-schemas.js'

/** Bounds the pages of `tools/list` read to learn the headers of a tool. */
const REFRESH_PAGES_MAX = 100

/** The part of the connection that a request uses. */
export interface ModernOutboundContext {
  readonly server: string
  readonly identity: JsonText
  readonly conversation: Conversation
  readonly listener: DownlinkListener
  readonly revisionCheck: RevisionCheck
  readonly subscriptions: SubscriptionStream
  /** Undefined on pipes, where no arguments are repeated in headers. */
  readonly schemas: ToolSchemas | undefined
}

/**
 * One request in flight. It is stateless, so it may be repeated under another id: if the response of a safe
 * method was lost, or if the server rejected the headers without reading the body.
 */
export class ModernOutboundCall implements CallSink, DownstreamCall {
  readonly headers: CallSink['headers']
  readonly #request: Request
  readonly #sink: CallSink
  readonly #context: ModernOutboundContext
  id = 0
  isRepeat = false
  #wasCorrected = false
  #isOver = false

  constructor(request: Request, sink: CallSink, context: ModernOutboundContext) {
    this.headers = request.headers
    this.#request = request
    this.#sink = sink
    this.#context = context
  }

  start(): void {
    const { conversation, identity } = this.#context
    const { method, params, isBare, wantsProgress, isPassed } = this.#request
    this.id = conversation.nextId()
    const known = isBare === true || isPassed === true ? params : projectModernRequest(params)
    const enveloped = requestParams(known, identity, this.#request)
    const token = wantsProgress ? textOf(this.id) : undefined
    const whole = isBare === true && !wantsProgress ? enveloped : withProgressToken(enveloped, token)
    conversation.request(this.id, method, whole, this)
  }

  get owner(): object | undefined {
    return this.#sink.owner
  }

  cancel(reason: CancelReason, onLate?: OnLate): void {
    if (this.#isOver) return
    this.#isOver = true
    const { conversation } = this.#context
    conversation.forget(this.id, onLate)
    void conversation.notify('notifications/cancelled', textOf({ requestId: this.id, reason }))
  }

  progress(progress: Progress): void {
    if (!this.#isOver) this.#sink.progress(progress)
  }

  /** Relays a notification of a listening request; returns false for any other request. */
  notified(method: string, params: JsonText | undefined): boolean {
    if (this.#isOver || this.#sink.notified === undefined) return false
    this.#sink.notified(method, params && withoutReservedMeta(params))
    return true
  }

  /** Ends a listening request that the server cancelled. */
  endedByServer(): void {
    if (this.#isOver || this.#sink.notified === undefined) return
    this.#context.conversation.forget(this.id)
    this.#finish(succeeded(EMPTY))
  }

  ended(outcome: Outcome): void {
    if (this.#isOver) return
    const decoded = (): Outcome => this.#decoded(outcome)
    if (this.#recheck(outcome, decoded)) return
    if (outcome.kind === 'fault' && this.#mayRepeat(outcome.fault)) {
      this.isRepeat = true
      this.start()
    } else if (codeOf(outcome) === MODERN_CODES.headerMismatch) this.#retryWithNewSchema(outcome)
    else this.#finish(decoded())
  }

  #finish(outcome: Outcome): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#sink.ended(outcome)
  }

  /**
   * Returns whether the server has to be probed before the outcome counts; `otherwise` makes it if the server
   * is unchanged.
   */
  #recheck(outcome: Outcome, otherwise: () => Outcome): boolean {
    return this.#context.revisionCheck.check(outcome, isEnd =>
      this.#finish(isEnd ? failed(this.#ofAnother(outcome)) : otherwise()),
    )
  }

  /** Makes the Fault of a request to a server that changed its era and may or may not have run it. */
  #ofAnother(outcome: Outcome): Fault {
    const { server } = this.#context
    const reason = `Server ${server} no longer speaks ${MODERN_REVISION}`
    if (outcome.kind !== 'fault' || isSafe(this.#request.method))
      return new Fault('session-lost', reason, { data: { server } })
    const { data = {} } = outcome.fault
    const status = Number(data['httpStatus'])
    // Older servers lack the path, or require a session first; any other status may follow execution.
    const mayBeUnread = status === 404 || status === 405 || data['code'] !== undefined
    const code = mayBeUnread ? 'maybe-replaced' : 'disconnected'
    const doubt = `it refused the request with HTTP status ${status}, and whether it ran it is not known`
    return new Fault(code, `${reason}: ${doubt}`, { data: { ...data, server } })
  }

  /**
   * Over HTTP an interruption ends only this request, which cannot be resumed
   * (basic/transports/streamable-http).
   */
  #mayRepeat(fault: Fault): boolean {
    const isHttp = this.#context.schemas !== undefined
    return isHttp && !this.isRepeat && isWorthRepeating(fault, this.#request.method)
  }

  /** Converts a server's outcome to the neutral model, readable by any client. */
  #decoded(outcome: Outcome): Outcome {
    const { server } = this.#context
    const { method } = this.#request
    if (outcome.kind === 'error') {
      const withheld = this.#withheldIn(outcome.error)
      if (withheld !== undefined) return badAnswer(server, cannotMerge(server, withheld))
      return { kind: 'error', error: repairError(outcome.error, server), revision: MODERN_REVISION, server }
    }
    if (outcome.kind !== 'result') return outcome
    const { result } = outcome
    if (kindOf(result) !== 'object') {
      return badAnswer(server, `Server ${server} answered ${method} with something other than an object`)
    }
    const mayBePlain = method === 'tools/call' && this.#request.isPassed !== true
    return (mayBePlain ? plainResult(result) : undefined) ?? this.#typed(result)
  }

  /** Returns a required extension that the client declared, and that the proxy did not pass on. */
  #withheldIn(error: JsonText): string | undefined {
    const withheld = this.#request.requester?.capabilities.declared?.withheld ?? []
    if (withheld.length === 0 || errorCode(error) !== MODERN_CODES.missingCapability) return undefined
    const required = at(error, 'data', 'requiredCapabilities') ?? EMPTY
    return withheld.find(id =>
      ['extensions', 'experimental'].some(member => at(required, member, id) !== undefined),
    )
  }

  #typed(result: JsonText): Outcome {
    const { method, followsTasks, isPassed } = this.#request
    switch (readResultType(result)) {
      case 'complete':
      case 'absent':
        return isPassed === true ? passed(result) : succeeded(this.#listed(method, result))
      case 'input_required':
        return methodMayNeedInput(method) ? { kind: 'input', result } : this.#ofOtherType(result)
      case 'task':
        return followsTasks === true ? { kind: 'task', result } : this.#ofOtherType(result)
      case 'unknown':
        return this.#ofOtherType(result)
    }
  }

  /** Extensions may add types of results (basic, "ResultType"). */
  #ofOtherType(result: JsonText): Outcome {
    return this.#request.takesAnyType === true ? passed(result) : strangeType(this.#context.server, result)
  }

  #listed(method: string, result: JsonText): JsonText {
    if (listOfMethod(method) === undefined) return result
    const { schemas, subscriptions } = this.#context
    subscriptions.wasRead(method)
    return method === 'tools/list' && schemas !== undefined ? schemas.learn(result) : result
  }

  // ── rejected headers ──

  /** Reads the schema of the tool again and repeats the request once, because the server has not run it. */
  #retryWithNewSchema(outcome: Outcome): void {
    const { schemas } = this.#context
    const { method, params } = this.#request
    const tool = method === 'tools/call' ? params && textMember(params, 'name') : undefined
    if (this.#wasCorrected || schemas === undefined || tool === undefined) {
      this.#finish(failed(headersRefused(this.#context.server, outcome)))
      return
    }
    this.#wasCorrected = true
    const before = schemas.of(tool)
    this.#refresh(schemas, tool, undefined, () => {
      const after = schemas.of(tool)
      if (before === undefined ? after !== undefined : after?.equals(before) !== true)
        this.#context.listener.notified('notifications/tools/list_changed', undefined, undefined)
      this.start()
    })
  }

  /** Reads pages of tools up to the one that lists `tool`. */
  #refresh(schemas: ToolSchemas, tool: string, place: PagePosition | undefined, then: () => void): void {
    const { conversation, identity } = this.#context
    this.id = conversation.nextId()
    const ended = (outcome: Outcome): void => {
      if (this.#isOver) return
      const unread = (): Outcome => failed(headersRefused(this.#context.server, outcome))
      if (this.#recheck(outcome, unread)) return
      if (outcome.kind !== 'result') {
        this.#finish(unread())
        return
      }
      schemas.learn(outcome.result)
      const next = nextPosition(outcome.result, place)
      if (next === undefined || hasTool(outcome.result, tool)) then()
      else this.#refresh(schemas, tool, next, then)
    }
    const { requester } = this.#request
    const params = requestParams(place && objectText([['cursor', place.cursor]]), identity, { requester })
    conversation.request(this.id, 'tools/list', params, {
      progress: () => undefined,
      ended,
    })
  }
}

const TYPE = '"resultType":"complete"'
const SIGNATURE = String.raw`"_meta":\{"${META.serverInfo.replaceAll('.', String.raw`\.`)}":\{[^{}]*\}\}`
/** Matches a result of texts in the usual spelling, with the members that each hop sets for itself. */
const USUAL = new RegExp(String.raw`^\{(?:${TYPE},(${TEXTS})|(${TEXTS})(?:,${TYPE})?)(?:,${SIGNATURE})?\}$`)
const USUAL_BYTES = 1024

/** Recognizes a tool result of texts only, and removes the members that each hop sets for itself. */
const plainResult = (result: JsonText): Outcome | undefined => {
  const found = result.length > USUAL_BYTES ? null : USUAL.exec(result.toString('latin1'))
  const texts = found?.[1] ?? found?.[2]
  if (texts !== undefined) {
    const own = trust(Buffer.from(`{${texts}}`, 'latin1'))
    return { kind: 'result', result: own, isPlain: true, isError: texts.endsWith('"isError":true') }
  }
  let [types, isStrange] = [0, false]
  const bare = withoutMembers(result, at => {
    const isType = at.keyIs('resultType')
    if (isType) types += 1
    if (isType) isStrange ||= !at.valueIs('"complete"')
    else if (at.keyIs('_meta')) isStrange ||= !holdsOnlyServer(at.value)
    else return false
    return true
  })
  const plain = types > 1 || isStrange ? undefined : plainOf(bare)
  return plain && { kind: 'result', result: bare, isPlain: true, ...plain }
}

const holdsOnlyServer = (meta: JsonText): boolean =>
  kindOf(meta) === 'object' && !isEmpty(meta) && !some(membersOf(meta), ({ key }) => key !== META.serverInfo)

interface PagePosition {
  readonly cursor: JsonText
  readonly pages: number
}

const nextPosition = (page: JsonText, place: PagePosition | undefined): PagePosition | undefined => {
  const cursor = memberOf(page, 'nextCursor')
  const pages = (place?.pages ?? 0) + 1
  const isOne = cursor !== undefined && kindOf(cursor) === 'string'
  return isOne && pages < REFRESH_PAGES_MAX ? { cursor, pages } : undefined
}

const hasTool = (page: JsonText, tool: string): boolean =>
  some(elementsOf(memberOf(page, 'tools') ?? page), one => textMember(one, 'name') === tool)

const codeOf = (outcome: Outcome): number | undefined =>
  outcome.kind === 'error' ? errorCode(outcome.error) : undefined

const passed = (result: JsonText): Outcome => ({ kind: 'result', result, passedFrom: MODERN_REVISION })

const cannotMerge = (server: string, extension: string): string =>
  `Server ${server} requires extension ${shortName(extension, 64)}, which cannot be merged; use bridge`

const badAnswer = (server: string, reason: string): Outcome =>
  failed(new Fault('internal', reason, { data: { server } }))

/** Makes the outcome for an unknown type, which must not be mistaken for any other (basic, "ResultType"). */
const strangeType = (server: string, result: JsonText): Outcome => {
  const type = memberOf(result, 'resultType')
  const word = shortName(stringOf(type) ?? type?.toString() ?? '', 64)
  return badAnswer(server, `Unsupported result type '${word}' from server ${server}`)
}

/** Makes the Fault of rejected headers, which are our mistake rather than the caller's. */
const headersRefused = (server: string, outcome: Outcome): Fault => {
  if (outcome.kind === 'fault') return outcome.fault
  const detail = outcome.kind === 'error' ? textMember(outcome.error, 'message') : undefined
  const reason = `Server ${server} does not accept the headers of the request`
  return new Fault('internal', detail === undefined ? reason : `${reason}: ${detail}`, { data: { server } })
}

/** A request served locally. Like any other, it is answered asynchronously. */
export class LocalCall implements DownstreamCall {
  readonly #sink: CallSink
  readonly #forget: (settle: Settle) => void
  #isOver = false

  /** `forget` is called if the call is cancelled before `serve` settles it. */
  constructor(
    sink: CallSink,
    serve: (settle: Settle) => void,
    forget: (settle: Settle) => void = () => undefined,
  ) {
    this.#sink = sink
    this.#forget = forget
    queueMicrotask(() => {
      if (!this.#isOver) serve(this.#settle)
    })
  }

  cancel(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#forget(this.#settle)
  }

  readonly #settle = (outcome: Outcome): void => {
    if (this.#isOver) return
    this.#isOver = true
    this.#sink.ended(outcome)
  }
}
