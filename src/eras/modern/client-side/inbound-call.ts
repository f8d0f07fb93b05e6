import type { Caller } from '../../../kernel/caller.js'
import { Fault } from '../../../kernel/faults.js'
import { EMPTY, type JsonText, objectText, rawText } from '../../../kernel/json/text.js'
import { type Call, type DownstreamCall, LISTEN } from '../../../model/links.js'
import type { McpLogLevel } from '../../../model/log-level.js'
import { failed, type Outcome, succeeded } from '../../../model/outcome.js'
import { Progress } from '../../../model/progress.js'
import { overloadResponse } from '../../../rpc/http/errors.js'
import { encodeProgress } from '../../../rpc/progress-token.js'
import { encodeNotification } from '../../../wire/jsonrpc.js'
import type { OutgoingMessage } from '../../../wire/message-parts.js'
import { InboundCall } from '../../shared/inbound-call.js'
import { withClientNames } from '../../shared/passed-notification.js'
import { LISTEN_NOTIFICATIONS, TASK_REPORT } from '../methods.js'
import { projectModernTask } from '../project/messages.js'
import { projectModernMeta } from '../project/meta.js'
import type { ModernClient } from './clients.js'
import { encodeOutcome, type RequestFacts, type Response, withSubscriptionId } from './encode-outcome.js'

/** The request that an inbound call represents. */
export interface InboundRequest extends RequestFacts {
  readonly client: ModernClient
  readonly caller: Caller
  readonly named?: string | undefined
  readonly logLevel: McpLogLevel | undefined
  /** The progress token, in latin1. */
  readonly token?: string | undefined
  readonly replies: Replies
  readonly arrival: Call['arrival']
  /** The `Implementation` object in the `_meta` of results. */
  readonly identity: () => JsonText
  /** Called once, when the call is over. */
  readonly over: () => void
}

/** One request of a modern client. */
export class ModernInboundCall extends InboundCall {
  readonly client: ModernClient
  readonly caller: Caller
  readonly method: string
  readonly params: JsonText | undefined
  readonly named: string | undefined
  readonly wantsProgress: boolean
  readonly logLevel: McpLogLevel | undefined
  readonly #request: InboundRequest

  constructor(request: InboundRequest) {
    super()
    this.client = request.client
    this.caller = request.caller
    this.method = request.method
    this.params = request.params
    this.named = request.named
    this.logLevel = request.logLevel
    this.#request = request
    this.wantsProgress = request.token !== undefined
    this.client.openCalls += 1
  }

  get id(): JsonText {
    return this.#request.id
  }

  get arrival(): Call['arrival'] {
    return this.#request.arrival
  }

  progress(progress: Progress): void {
    const { token } = this.#request
    if (this.isOver || token === undefined) return
    const params = projectModernMeta(progress.params)
    const known = params === progress.params ? progress : new Progress(params)
    this.#request.replies.send(encodeProgress(known, token), true)
  }

  notify(method: string, params: JsonText | undefined): void {
    if (this.method === LISTEN) {
      if (!LISTEN_NOTIFICATIONS.has(method)) return
      const known = method === TASK_REPORT && params !== undefined ? projectModernTask(params) : params
      this.#send(method, withSubscriptionId(known, this.#request.id))
    } else if (method === 'notifications/message' && this.logLevel !== undefined && params !== undefined) {
      // Without a level there are no log messages (server/utilities/logging, "Per-Request Log Level").
      this.#send(method, projectModernMeta(params), true)
    }
  }

  pass(method: string, params: JsonText | undefined, down: DownstreamCall['id']): void {
    const { id, token: text } = this.#request
    const token = text === undefined ? undefined : rawText(text)
    this.#send(method, withClientNames(params, down, { id, token }))
  }

  keepAlive(): void {
    this.#request.replies.keepAlive?.()
  }

  protected over(): void {
    this.client.openCalls -= 1
    this.#request.over()
  }

  protected dismiss(): void {
    this.#request.replies.end(undefined, { status: 200 })
  }

  /** A subscription ends in order. */
  protected answerAbandoned(why: Fault): void {
    this.answer(this.method === LISTEN ? succeeded(EMPTY) : failed(why))
  }

  protected answer(outcome: Outcome): void {
    const { frame, status } = this.#encoded(outcome)
    const why = outcome.kind === 'fault' ? outcome.fault : undefined
    const isListenEnd = this.method === LISTEN && outcome.kind === 'result'
    const followUp = isListenEnd ? this.#cancelledNotice() : undefined
    this.#request.replies.end(frame, { status, ...overloadResponse(why), followUp, why })
  }

  /**
   * Encodes the outcome; if that fails, the fault is the answer, so that the client does not wait forever.
   */
  #encoded(outcome: Outcome): Response {
    const identity = this.#request.identity()
    try {
      return encodeOutcome(outcome, this.#request, identity)
    } catch (thrown) {
      return encodeOutcome(failed(Fault.from(thrown)), this.#request, identity)
    }
  }

  #send(method: string, params: JsonText | undefined, mayDrop = false): void {
    if (!this.isOver) this.#request.replies.send(encodeNotification(method, params), mayDrop)
  }

  /**
   * Encodes the message that follows the result of a subscription ended by us, on a pipe
   * (patterns/cancellation).
   */
  #cancelledNotice(): Buffer {
    return encodeNotification('notifications/cancelled', objectText([['requestId', this.#request.id]]))
  }
}

/** Transport-specific details of an answer. */
export interface CallEnding {
  /** Over HTTP: the status. */
  readonly status: number
  /** Over HTTP: additional headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** On a pipe: the message after the answer. */
  readonly followUp?: Buffer | undefined
  /** The fault in the answer, if any. */
  readonly why?: Fault | undefined
}

/** PORT. Takes the messages about one request, ending with its answer. */
export interface Replies {
  /** Sends a notification of the request; skipped if it `mayDrop` and the client is behind. */
  send(frame: OutgoingMessage, mayDrop?: boolean): void
  /** Writes a keep-alive comment if the client has waited for long. Absent on pipes. */
  keepAlive?(): void
  /** Sends the answer, or none if the client no longer waits for it. Called once, and last. */
  end(frame: OutgoingMessage | undefined, ending: CallEnding): void
}
