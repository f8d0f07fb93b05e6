import type { Fault } from '../kernel/faults.js'
import type { Arrival } from '../model/links.js'
import type { OutgoingMessage } from '../wire/message-parts.js'

/** PORT. Receives all messages about one client request, ending with its answer. */
export interface ReplyStream {
  /** True if questions can be sent here; false if the client accepts only a single JSON answer. */
  readonly canAsk: boolean
  /** Over a network: the origin of the request. */
  readonly arrival?: Arrival | undefined
  /** The time at which the client lost the connection for the answer; undefined while it has one. */
  readonly goneMs?: number | undefined
  /** Turns a slow answer into a stream, so that intermediaries do not time out. Absent on pipes. */
  keepAlive?(): void
  /** Sends a notification or request; dropped if it `mayDrop` and the client is behind. */
  send(frame: OutgoingMessage, mayDrop?: boolean): void
  /**
   * Sends a question; `undeliverable` is called if no stream takes it in time. Returns a function to call
   * when the question is over. Absent where `send` suffices.
   */
  ask?(frame: OutgoingMessage, undeliverable: () => void): () => void
  /**
   * Sends the answer and ends the stream; without a frame (a cancelled request) only ends it. Called once.
   * `why` is the fault in the answer: HTTP maps some faults to a status.
   */
  end(frame: OutgoingMessage | undefined, ending?: { readonly why?: Fault | undefined }): void
}

/** PORT. Receives messages to a client that belong to no request. */
export interface Outlet {
  /** The id of the client's session, if it has one on the wire. */
  readonly id?: string
  /** Sends a notification; kept for a while if no stream is open. */
  notify(frame: Buffer, method: string): void
  /** Sends a question; `undeliverable` is called if no stream opens in time. */
  request(frame: Buffer, undeliverable: () => void): void
  /** Takes back a question that was not sent yet; false if it was. Absent without a queue. */
  takeBack?(undeliverable: () => void): boolean
  /** The bytes the client has not read yet. */
  readonly queuedBytes: number
  /** Returns the id of the next question; unguessable where other clients could answer it. */
  nextRequestId(): number | string
}
