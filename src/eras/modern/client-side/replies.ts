import type { OutgoingMessage } from '../../../wire/message-parts.js'

/** How a request's answer goes out, where the way matters. */
export interface Ending {
  /** Over HTTP: the status. */
  readonly status: number
  /** Over HTTP: what else stands there. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** On a pipe: what follows the answer. */
  readonly behind?: Buffer | undefined
}

/** PORT. Where everything goes that is said about one request, ending with its answer. */
export interface Replies {
  /** Sends a notification that belongs to the request; one that `mayDrop` is left out if the client is behind. */
  send(frame: Buffer, mayDrop?: boolean): void
  /** Sends the answer, or none if the client no longer waits for it. Called once, and nothing is sent after. */
  end(frame: OutgoingMessage | undefined, ending: Ending): void
}
