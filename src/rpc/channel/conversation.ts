import type { Fault } from '../../kernel/faults.js'
import type { JsonText } from '../../kernel/json/text.js'
import type { CallSink, OnLate } from '../../model/links.js'
import type { Outcome } from '../../model/outcome.js'
import type { OwnId } from './pending-requests.js'

/**
 * PORT. Receives unsolicited messages of a server. `about` is the request on whose stream they came;
 * undefined on a pipe.
 */
export interface ConversationListener {
  requested(id: JsonText, method: string, params: JsonText | undefined, about: CallSink | undefined): void
  notified(method: string, params: JsonText | undefined, about: CallSink | undefined): void
  /**
   * The conversation accepts no more requests; called exactly once. Those in flight have ended, or still wait
   * a few seconds for their replies.
   */
  closed(fault: Fault): void
}

/**
 * PORT. One conversation with one server. A request and all messages about it form one stream: over HTTP the
 * response body, over a pipe reconstructed from ids and progress tokens.
 */
export interface Conversation {
  /** Returns the id of the next request, which is also its progress token. Never used twice. */
  nextId(): number
  /** Sends a request; its progress and its single outcome reach `sink`. */
  request(id: OwnId, method: string, params: JsonText | undefined, sink: CallSink): void
  /**
   * Stops listening to a request: later messages about it are dropped, and its answer only calls `onLate`.
   */
  forget(id: OwnId, onLate?: OnLate): void
  /** Returns the sink of an open or kept request that a server names by our id; undefined if unknown. */
  named(id: JsonText): CallSink | undefined
  /** Keeps relaying progress to `sink` after the request has ended, until it is forgotten. */
  keep(id: OwnId, sink: CallSink): void
  /** Sends a notification; resolves when the server has accepted it. Never rejects. */
  notify(method: string, params: JsonText | undefined): Promise<void>
  sendResult(id: JsonText, result: JsonText): void
  sendError(id: JsonText, error: JsonText): void
  /** Sets the agreed revision, for transports that repeat it (`MCP-Protocol-Version`). */
  agreed(revision: string): void
  /** True if notifications outside of requests can arrive. */
  readonly receivesUnsolicited: boolean
  /** True if a connection that breaks ends only its own request, which may then be sent again. */
  readonly hasManyConnections: boolean
  /** Counts received messages of any kind; compare it with an earlier value. */
  readonly receivedCount: number
  readonly isBusy: boolean
  pause(): void
  resume(): void
  /**
   * Accepts no more requests; those in flight get their own replies. Absent where one stream carries all.
   */
  retire?(why: Fault): void
  close(): Promise<void>
}

/** Sends a request and resolves to its outcome, ignoring progress. */
export const outcomeOf = (
  conversation: Conversation,
  id: OwnId,
  method: string,
  params: JsonText | undefined,
): Promise<Outcome> =>
  new Promise(resolve =>
    conversation.request(id, method, params, { progress: () => undefined, ended: resolve }),
  )
