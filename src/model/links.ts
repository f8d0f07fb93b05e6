import type { Caller, Principal } from '../kernel/caller.js'
import type { Fault } from '../kernel/faults.js'
import type { JsonText } from '../kernel/json/text.js'
import type { Extensions } from './extensions.js'
import type { McpLogLevel } from './log-level.js'
import type { Reply, Settle } from './outcome.js'
import type { ClientCapabilities, ServerFacts } from './peer.js'
import type { Progress } from './progress.js'
import type { Revision } from './revision.js'
import type { ServerRequestMode } from './server-request-mode.js'

/** The request that stays open for notifications (2026-07-28, basic/patterns/subscriptions). */
export const LISTEN = 'subscriptions/listen'

/** The reason for a cancellation, as the canceller wrote it; passed on as `reason`. */
export type CancelReason = string | undefined

export type { ServerRequestMode } from './server-request-mode.js'

/** The transports of clients. */
export type Via = 'stdio' | 'socket' | 'http' | 'sse' | 'websocket'

// ── clients, as the mux sees them ────────────────────────────────────────

/**
 * One client behind an uplink. With `pushed` requests, this is a session. With `returned` requests it
 * represents all requests over one transport with the same client description, possibly of several people.
 * Implemented in `eras/`.
 */
export interface Client {
  /** Unique in this process; for logs and tables, never sent to a peer. */
  readonly id: number
  /**
   * The id of its session, if it has one on the wire. It is a secret: knowing it gives access to the session.
   */
  readonly sessionId?: string | undefined
  readonly principal: Principal
  /** The sender of its latest request: always the same principal, but possibly another credential. */
  readonly caller: Caller
  readonly revision: Revision
  /** The bytes it has not read yet; undefined where each request has its own connection. */
  readonly queuedBytes?: number | undefined
  /** Its transport; undefined inside this process. */
  readonly via?: Via | undefined
  readonly serverRequests: ServerRequestMode
  readonly capabilities: ClientCapabilities
  readonly info: JsonText
  /** The name of the view it requested; undefined if none. */
  readonly view?: string | undefined
  /** The absolute folder it works in; set by the mux where the connection did not report it. */
  workspace?: string | undefined
  /** Stores a session at a server that serves only this client; undefined without other replicas. */
  readonly sessionAt?: ((server: string) => ServerSession) | undefined
  /** Sends a notification outside of any request; does nothing where requests are `returned`. */
  notify(method: string, params: JsonText | undefined): void
  /**
   * Asks the client on behalf of a server, on the stream of `during` if given, once the client is ready. The
   * answer reaches `ask.answer`. Only where requests are `pushed`.
   */
  ask(ask: ServerRequest, during: Call | undefined): void
  /**
   * Projects a request that a server returned; `isShared`: the client has other servers too. Only where
   * requests are `pushed`.
   */
  project(method: string, params: JsonText | undefined, isShared: boolean): ProjectedRequest
}

/**
 * Returns whether a client is certainly one person. Over HTTP, all 2026-07-28 requests with the same client
 * description are one client; a session and a channel each belong to one program.
 */
export const isOnePerson = ({ serverRequests, via }: Client): boolean =>
  serverRequests === 'pushed' || via !== 'http'

/** A session at a server, stored so that another replica can resume it. */
export interface ServerSession {
  /** The last stored state; undefined if none. Only the era that wrote it reads it. */
  saved(): JsonText | undefined
  save(session: JsonText | undefined): void
  /** Returns whether another replica has taken over: the session must not be ended here. */
  isTakenOver(): boolean
}

/** A client together with the credential of one request; the basis for visibility. */
export interface Viewer {
  readonly client: Client
  readonly caller: Caller
}

/** Returns the viewer for work outside of a request. */
export const viewerOf = (client: Client): Viewer => ({ client, caller: client.caller })

/** A server's request in the client's revision, or the capability that the client lacks. */
export type ProjectedRequest =
  | {
      readonly is: 'request'
      readonly params: JsonText | undefined
      /** Created for a URL elicitation where the client's revision requires an id. */
      readonly elicitationId?: string
    }
  | { readonly is: 'impossible'; readonly what: string }

/** The network origin of a request. */
export interface Arrival {
  /** Header names in lower case; undefined on a connection that carries many requests. */
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined
}

/** Stops a notification. */
export type Release = () => void

/**
 * One request of a client: its contents, and the way to answer it. The mux must end it exactly once.
 * Implemented in `eras/`. The data of the proxy about it is in the `CallRecord` of `mux/`.
 */
export interface Call extends Viewer {
  readonly method: string
  /** The client's params, without a `_meta` that may hold only its progress token. */
  readonly params: JsonText | undefined
  /** The `name` in `params`, if they are known to hold only `name` and `arguments`. */
  readonly named?: string | undefined
  readonly wantsProgress: boolean
  /** The client's progress token, which outlives the call if that becomes a task of a session. */
  readonly progressToken?: JsonText | undefined
  /** The client's own id, and its network origin; for tracing. */
  readonly id?: JsonText | undefined
  readonly arrival?: Arrival | undefined
  /** The minimum level of log messages, if the request names one; undefined: none, or set per session. */
  readonly logLevel: McpLogLevel | undefined
  /** Reports that a server was found. From now on, the answer may become a stream. */
  routed?(): void
  /** Relays progress; its token is replaced by the client's. Ignored after `end`. */
  progress(progress: Progress): void
  /** Sends a notification on the stream of this call, such as a log message. Ignored after `end`. */
  notify(method: string, params: JsonText | undefined): void
  /**
   * Passes a notification that the proxy does not know; `_meta` names the request by its id `down` at the
   * server, which is replaced by the client's id or token. Ignored after `end`.
   */
  pass?(method: string, params: JsonText | undefined, down: DownstreamCall['id']): void
  /** Ends the call; later calls are ignored. */
  readonly end: Settle
  /**
   * Calls `listener` once if the client cancels or its session ends before `end`. The latest listener is
   * called first, so that work stops in reverse order.
   */
  onCancelled(listener: OnCancelled): Release
}

export type OnCancelled = (reason: CancelReason) => void

/** The base of calls: keeps the listeners for their cancellation. */
export abstract class Cancellable {
  #listeners: OnCancelled[] = []

  onCancelled(listener: OnCancelled): Release {
    this.#listeners.push(listener)
    return () => {
      this.#listeners = this.#listeners.filter(one => one !== listener)
    }
  }

  /** Notifies the listeners, the latest first; each of them once. */
  protected cancelled(reason: CancelReason): void {
    const listeners = this.#listeners
    this.#listeners = []
    for (const listener of listeners.reverse()) listener(reason)
  }
}

/** The proxy's description for a new client, before its revision's encoder drops unknown parts. */
export interface Welcome {
  readonly capabilities: {
    readonly tools: boolean
    readonly prompts: boolean
    readonly resources: { readonly subscribe: boolean } | undefined
    readonly completions: boolean
    readonly logging: boolean
    /** True if tool calls may become tasks in the form of the client's revision. */
    readonly tasks?: boolean | undefined
    /** The extensions of the visible servers; absent if there are none. */
    readonly extensions?: Extensions | undefined
  }
  readonly instructions: string | undefined
  /** The facts of the only server, if it is exposed unchanged and was reached. */
  readonly own?: ServerFacts | undefined
  /** True if every server was reached; otherwise the next answer may contain more. */
  readonly isComplete: boolean
}

/** Receives events from uplinks. Implemented by the mux. */
export interface ClientHandler {
  /**
   * Answers `initialize` or `server/discover`, within the start-up wait even if servers are slow. Never
   * rejects. A client with `returned` requests may call without it.
   */
  welcome(client: Client): Promise<Welcome>
  call(call: Call): void
  /** True if unknown methods pass to a single server, which decides about them. */
  readonly passesUnknown?: boolean
  /**
   * Called for a request that the uplink answers itself, such as `ping` and `initialize`. Returns the call
   * through which the uplink must end it.
   */
  answering?(call: Call): Pick<Call, 'end'>
  /**
   * Returns the scopes that tool calls with these params need, for tools that the caller may see but not
   * call. Never rejects.
   */
  lackingScopes(viewer: Viewer, calls: readonly JsonText[]): Promise<readonly string[]>
  /**
   * Returns a tool by its exposed name, as listed; the same text until it changes. Undefined if it is not
   * known (yet).
   */
  tool(client: Client, exposed: string): JsonText | undefined
  /**
   * The `Implementation` object of a server that is exposed unchanged, once reached; used as our identity.
   */
  ownIdentity(client: Client): JsonText | undefined
  /** Takes `notifications/roots/list_changed`, and notifications that the proxy does not know. */
  notified(client: Client, method: string, params: JsonText | undefined): void
  /** The client now uses another credential, and may see other servers. */
  callerChanged(client: Client): void
  /** The client is away but may return; its dedicated servers may stop meanwhile. */
  idle(client: Client): void
  /** The client is gone; its calls were cancelled before. */
  left(client: Client): void
}

// ── servers, as the mux sees them ────────────────────────────────────────

/**
 * The client on whose behalf a request is made, for servers that expect it in each one (2026-07-28, "Request
 * Metadata").
 */
export interface Requester {
  readonly capabilities: ClientCapabilities
  readonly logLevel: McpLogLevel | undefined
}

/** A request to a server, independent of its revision. */
export interface Request {
  readonly method: string
  readonly params: JsonText | undefined
  /** True if `params` hold a name and at most arguments: nothing that a server must not see. */
  readonly isBare?: boolean | undefined
  /** True if progress is wanted; the downlink sets its own token and removes any other. */
  readonly wantsProgress: boolean
  /** Undefined for the proxy's own requests that serve clients without extensions. */
  readonly requester?: Requester | undefined
  /** True if a task may replace the result, because the requester follows it. */
  readonly followsTasks?: boolean | undefined
  /** Over HTTP: additional headers; an undefined one replaces the connection's own by none. */
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined
  /** The lifetime of a task that the proxy requests and polls (2025-11-25, basic/utilities/tasks). */
  readonly taskTtlMs?: number | undefined
  /** The task that the client requests and polls, as it wrote it. */
  readonly task?: JsonText | undefined
  /**
   * True if the proxy does not know the method: params and result keep every byte but the ids, tokens and
   * envelope of this hop.
   */
  readonly isPassed?: boolean | undefined
  /** True if the client may receive a result of any type, because it declared an extension. */
  readonly takesAnyType?: boolean | undefined
}

export interface DownstreamCall {
  /** The id on the wire, if it is a single request. */
  readonly id?: number | string | undefined
  /** The `owner` of its sink. */
  readonly owner?: object | undefined
  /**
   * Cancels the request at the server; the sink gets nothing after that, not even from a task. Servers may
   * ignore or miss a cancellation: `onLate` is called if the server still answers.
   */
  cancel(reason: CancelReason, onLate?: OnLate): void
}

/** Called when a server has answered a cancelled request, so that it no longer works on it. */
export type OnLate = () => void

/**
 * Receives the messages about one request; `ended` comes exactly once and last, unless cancelled or made a
 * task.
 */
export interface CallSink {
  /** Over HTTP: additional headers of the request, as in `Request`. */
  readonly headers?: Request['headers']
  /** Over HTTP: true if a kept connection closed while the request was sent before. */
  readonly isRepeat?: boolean
  /** The call that the request belongs to; a wrapping sink has the same owner. */
  readonly owner?: object | undefined
  progress(progress: Progress): void
  /** Receives other notifications about a listening request; absent for all other requests. */
  notified?(method: string, params: JsonText | undefined): void
  ended: Settle
}

/** One connection to one server. Implemented in `eras/`. */
export interface Downlink {
  readonly facts: ServerFacts
  /** With `returned`, the server keeps no state about us, so that all clients may share the connection. */
  readonly serverRequests: ServerRequestMode
  /** False if the server is known not to support the other mode on another connection. */
  readonly hasOtherMode: boolean
  /** True if tool calls may end with a task instead of a result. */
  readonly mayReturnTasks: boolean
  call(request: Request, sink: CallSink): DownstreamCall
  /** Sends a notification, of the proxy or of a requester. */
  notify(method: string, params: JsonText | undefined, requester?: Requester): void
  /** True if notifications outside of requests can arrive, so that list_changed is reliable. */
  readonly receivesUnsolicited: boolean
  /** True while a ping of the proxy is unanswered. */
  readonly isPinging?: boolean
  pause(): void
  resume(): void
  /** Ends the connection in order; requests in flight end with a fault. Never rejects. */
  close(): Promise<void>
}

/** A server's request to a client: sampling, elicitation or roots. */
export interface ServerRequest {
  readonly method: string
  readonly params: JsonText | undefined
  /** The request on whose stream it arrived (HTTP), or that it names; undefined if neither is known. */
  readonly about: DownstreamCall | undefined
  readonly wantsProgress: boolean
  /** Answers the server; later calls are ignored. */
  answer: Reply
  /** Relays the client's progress under the server's token. */
  progress(params: JsonText): void
  /** Set by the component that forwards the question. Called if the server withdraws it. */
  onWithdrawn: ((reason: CancelReason) => void) | undefined
}

/** Receives events of a downlink that belong to no request of ours. Implemented by `peers/`. */
export interface DownlinkListener {
  requested(ask: ServerRequest): void
  /** A notification other than progress; `about` as for questions. */
  notified(method: string, params: JsonText | undefined, about: DownstreamCall | undefined): void
  /** The connection is gone; every call in flight has already ended. */
  closed(fault: Fault): void
}
