import type { Fault } from '../../kernel/faults.js'
import type { JsonText } from '../../kernel/json/text.js'
import type { CallSink, OnLate } from '../../model/links.js'
import type { Outcome } from '../../model/outcome.js'
import type { OwnId } from './pending-requests.js'

/** PORT. What a server says by itself. `about` is the request on whose stream it came; none on a pipe. */
export interface ConversationListener {
  requested(id: JsonText, method: string, params: JsonText | undefined, about: CallSink | undefined): void
  notified(method: string, params: JsonText | undefined, about: CallSink | undefined): void
  /**
   * The conversation takes no more requests; comes exactly once. Those in flight have ended, or still wait a
   * few seconds for replies of their own.
   */
  closed(fault: Fault): void
}

/**
 * PORT. One conversation with one server. A request and all that is said about it is one stream: over HTTP
 * the response body, over a pipe rebuilt from ids and progress tokens.
 */
export interface Conversation {
  /** The id of the next request, which is also its progress token. Never used twice. */
  nextId(): number
  /** Sends a request; its progress and its one outcome reach `sink`. */
  request(id: OwnId, method: string, params: JsonText | undefined, sink: CallSink): void
  /**
   * Stops listening to a request; whatever still comes for it is dropped, and `onLate` called with its
   * answer.
   */
  forget(id: OwnId, onLate?: OnLate): void
  /** The sink of the request, open or kept, that a server names by our id; undefined if there is none. */
  named(id: JsonText): CallSink | undefined
  /** Progress under the id of a request that is over still reaches `sink`, until the request is forgotten. */
  keep(id: OwnId, sink: CallSink): void
  /** Sends a notification; resolves when the server has taken it. Never rejects. */
  notify(method: string, params: JsonText | undefined): Promise<void>
  sendResult(id: JsonText, result: JsonText): void
  sendError(id: JsonText, error: JsonText): void
  /** Tells the conversation what was agreed, for transports that must repeat it (`MCP-Protocol-Version`). */
  agreed(revision: string): void
  /** Whether notifications that belong to no request can reach us. */
  readonly receivesUnsolicited: boolean
  /** Counts what came, whatever it was: to be compared with what it was before. */
  readonly receivedCount: number
  readonly isBusy: boolean
  pause(): void
  resume(): void
  /** Takes no more requests; those in flight get replies of their own. Absent where one stream has all. */
  retire?(why: Fault): void
  close(): Promise<void>
}

/** Sends a request and resolves to its outcome, without its progress. */
export const outcomeOf = (
  conversation: Conversation,
  id: OwnId,
  method: string,
  params: JsonText | undefined,
): Promise<Outcome> =>
  new Promise(resolve =>
    conversation.request(id, method, params, { progress: () => undefined, ended: resolve }),
  )
