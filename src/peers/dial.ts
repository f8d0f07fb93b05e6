import type { JsonText } from '../kernel/json/text.js'
import type { Downlink, DownlinkListener, ServerRequestMode } from '../model/links.js'
import type { ClientCapabilities } from '../model/peer.js'
import type { ServerOptions } from './options.js'

/** How to introduce ourselves on a new connection. */
export interface Greeting {
  readonly capabilities: ClientCapabilities
  /** The client's `Implementation` object where the connection is that client's alone; otherwise ours is sent. */
  readonly clientInfo: JsonText | undefined
  /** How its clients are asked: the server is spoken to in the same way, unless it is found to have only the other. */
  readonly serverRequests: ServerRequestMode
}

/**
 * PORT. Opens a connection to a server, known by its very options: starts it or reaches it, detects what it speaks, shakes hands.
 * Rejects with a Fault and leaves nothing behind. `signal` calls the attempt off, and is aborted as well before the connection
 * that came of it is closed by us. Implemented by `app/dialer`.
 */
export type Dial = (
  server: ServerOptions,
  greeting: Greeting,
  listener: DownlinkListener,
  signal: AbortSignal,
) => Promise<Downlink>
