import type { Caller, Principal } from '../kernel/caller.js'
import type { Fault } from '../kernel/faults.js'
import type { JsonText } from '../kernel/json/text.js'
import type { CallTrace } from './call-trace.js'
import type { LogLevel } from './log-level.js'
import type { Outcome, Reply, Settle } from './outcome.js'
import type { ClientCapabilities, ServerFacts } from './peer.js'
import type { Progress } from './progress.js'
import type { Revision } from './revision.js'

/** Why a call was called off, in the words of whoever did it; passed on as `reason`. */
export type CancelReason = string | undefined

/**
 * How servers ask. `pushed`: by requests of their own, and changes are told at any time (before 2026-07-28).
 * `returned`: inside the answer to a request, which is made again with the input (2026-07-28,
 * basic/patterns/mrtr); changes are told on a request that listens (basic/patterns/subscriptions).
 */
export type ServerRequestMode = 'pushed' | 'returned'

/** The ways in. */
export type Via = 'stdio' | 'socket' | 'http' | 'sse' | 'websocket'

// ── upstream: what the mux sees of a client ──────────────────────────────────────────────────────────────

/**
 * One client behind one uplink: a session where requests are `pushed`; with `returned` ones all requests of
 * the same way in that introduce themselves alike, perhaps of several people. Implemented in `eras/`.
 */
export interface Client {
  /** Unique in this process; for logs and tables, never on a wire. */
  readonly id: number
  /** The id of its session, if it has one that is said on a wire: whoever knows it may use the session. */
  readonly sessionId?: string | undefined
  readonly principal: Principal
  /** Who sent its latest request: always this principal, but perhaps with another credential than before. */
  readonly caller: Caller
  readonly revision: Revision
  /** What waits until it reads; undefined where each of its requests has a connection of its own. */
  readonly queuedBytes?: number | undefined
  /** What carries it; undefined in this process. */
  readonly via?: Via | undefined
  readonly serverRequests: ServerRequestMode
  readonly capabilities: ClientCapabilities
  readonly info: JsonText
  /** The name of the view that it asked for when it came; undefined if it left that to us. */
  readonly view?: string | undefined
  /** The folder that it works in, absolute; set by the mux where its way in did not say. */
  workspace?: string | undefined
  /** Where a session at a server that is its alone is noted; undefined if there is no other replica. */
  readonly sessionAt?: ((server: string) => ServerSession) | undefined
  /** Sends a notification that belongs to no request; does nothing where requests are `returned`. */
  notify(method: string, params: JsonText | undefined): void
  /**
   * Asks the client on behalf of a server, on the stream of `during` if given. The answer reaches
   * `ask.answer`; waits until the client is ready to be asked. Only where requests are `pushed`.
   */
  ask(ask: ServerRequest, during: Call | undefined): void
  /**
   * Projects a request that a server returned; `isShared`: among others. Only where requests are `pushed`.
   */
  project(method: string, params: JsonText | undefined, isShared: boolean): ProjectedRequest
}

/**
 * Whether a client is certain to be one person. Over HTTP, all requests that describe their client alike are
 * one client of 2026-07-28; a session and a channel are each held by one program.
 */
export const isOnePerson = ({ serverRequests, via }: Client): boolean =>
  serverRequests === 'pushed' || via !== 'http'

/** A session at a server as another replica would go on with it. */
export interface ServerSession {
  /** What was noted of it last; undefined if there is none. Read by the era that wrote it alone. */
  noted(): JsonText | undefined
  note(session: JsonText | undefined): void
  /** Whether another replica goes on with it: it must not be ended here. */
  goesOn(): boolean
}

/** Who looks at what there is: a client, with what the credential of one request allows. */
export interface Viewer {
  readonly client: Client
  readonly caller: Caller
}

/** A client as it is outside its requests. */
export const viewerOf = (client: Client): Viewer => ({ client, caller: client.caller })

/** A server's request as a client's revision knows it, or what this client cannot provide. */
export type ProjectedRequest =
  | {
      readonly is: 'request'
      readonly params: JsonText | undefined
      /** Minted for a URL elicitation where the client's revision requires an id. */
      readonly elicitationId?: string
    }
  | { readonly is: 'impossible'; readonly what: string }

/** Where a request came from over a network. */
export interface Arrival {
  /** Their names in lower case; undefined on a connection that carries many requests. */
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined
}

/** Hears how a call ended; told the call too, so that one function can watch all of them. */
export type OnOver = (outcome: Outcome | undefined, call: Call) => void

/** Makes the end of a call of a fault. */
export type OnFault = (fault: Fault, call: Call) => Outcome

/** How a call ends by what it was ended with. */
export const endOf = (call: Call, outcome: Outcome): Outcome =>
  outcome.kind === 'fault' ? (call.onFault?.(outcome.fault, call) ?? outcome) : outcome

/** One request of a client that the mux must end exactly once. Implemented in `eras/`. */
export interface Call extends Viewer {
  readonly method: string
  /**
   * As the client sent them, without a `_meta` that may hold nothing but its progress token; where it calls a
   * tool through one of ours, the mux puts in what it means.
   */
  params: JsonText | undefined
  /** The `name` in `params`, if nothing but that and `arguments` is known to stand there. */
  named?: string | undefined
  readonly wantsProgress: boolean
  /** The client's own id, and how it came over a network; for whoever traces. */
  readonly id?: JsonText | undefined
  readonly arrival?: Arrival | undefined
  /** The lowest level of log messages to send, if the request says so; undefined: none, or set otherwise. */
  readonly logLevel: LogLevel | undefined
  /** Relays progress; whatever token it carries is replaced by the client's own. Nothing after `end`. */
  progress(progress: Progress): void
  /** Sends a notification on the stream of this call, such as a log line. Nothing after `end`. */
  notify(method: string, params: JsonText | undefined): void
  /** Ends the call; later ends are ignored. */
  end: Settle
  /** Set by the mux: told once if the client cancels or its session ends before `end`. */
  onCancel: ((reason: CancelReason) => void) | undefined
  /** Set by the mux once it is known: the server that answers. */
  servedBy?: string | undefined
  /** Set with it: what the server itself calls what the request names. */
  ownName?: string | undefined
  /** Set where calls are counted: its number, from 1, for logs. */
  number?: number | undefined
  /** The same: where it stands among the calls under way. */
  slot?: number | undefined
  /** Set by the mux: when it came. */
  beganMs?: number | undefined
  /** The same: when it was sent to a server. */
  sentMs?: number | undefined
  /** Set where calls are counted: for how long it was with servers, or had to wait. */
  awayMs?: number | undefined
  /** Set where the call is traced. */
  trace?: CallTrace | undefined
  /** Says how the call ends in place of a fault; one function for all calls, as it is for each. */
  onFault?: OnFault | undefined
  /** Called once when the call is over; without an outcome if nobody waited for one any more. */
  onOver?: OnOver | undefined
}

/** What a new client is told about us, before its revision's encoder drops what it does not know. */
export interface Welcome {
  readonly capabilities: {
    readonly tools: boolean
    readonly prompts: boolean
    readonly resources: { readonly subscribe: boolean } | undefined
    readonly completions: boolean
    readonly logging: boolean
  }
  readonly instructions: string | undefined
  /** What the server said of itself that is served as it is, if one is and it was reached. */
  readonly own?: ServerFacts | undefined
  /** Whether every server was reached: while one was not, the next answer may say more. */
  readonly isComplete: boolean
}

/** What uplinks report to. Implemented by the mux. */
export interface ClientHandler {
  /**
   * Answers a client that introduces itself or asks what there is, within the start-up wait however slow the
   * servers are. Never rejects. Where requests are `returned` a client may call without it.
   */
  welcome(client: Client): Promise<Welcome>
  call(call: Call): void
  /** Hears of a request that the uplink ends itself, such as `ping` and what introduces the client. */
  answering?(call: Call): void
  /**
   * The scopes that calls of tools with these params need, for those of them that the caller may see and not
   * call. Never rejects.
   */
  lackingScopes(viewer: Viewer, calls: readonly JsonText[]): Promise<readonly string[]>
  /**
   * A tool by its exposed name as it is listed, the same text for as long as it is; undefined if it is not
   * known (yet).
   */
  tool(client: Client, exposed: string): JsonText | undefined
  /** The `Implementation` object of a server that is served as it is, once reached: who we say we are. */
  ownIdentity(client: Client): JsonText | undefined
  /** Only `notifications/roots/list_changed`: the uplink handles all others itself. */
  notified(client: Client, method: string, params: JsonText | undefined): void
  /** The client's requests come with another credential: it may see other servers now. */
  callerChanged(client: Client): void
  /** The client is away but may come back: what runs for it alone need not go on meanwhile. */
  rests(client: Client): void
  /** The client is gone; its calls were cancelled before. */
  left(client: Client): void
}

// ── downstream: what the mux sees of a server ────────────────────────────────────────────────────────────

/** On whose behalf a request is made, for servers told so with each one (2026-07-28, "Request Metadata"). */
export interface Requester {
  readonly capabilities: ClientCapabilities
  readonly logLevel: LogLevel | undefined
}

/** A request to a server, in neutral form. */
export interface Request {
  readonly method: string
  readonly params: JsonText | undefined
  /** Whether `params` hold a name and at most arguments: nothing that any server must not see. */
  readonly isBare?: boolean | undefined
  /** Whether progress is wanted; the downlink mints the token and removes any other. */
  readonly wantsProgress: boolean
  /** Undefined for requests of our own: nobody can be asked. */
  readonly requester?: Requester | undefined
  /** Whether a task may come in place of the result, because whoever asks will follow it. */
  readonly followsTasks?: boolean | undefined
  /** Over HTTP: what is said in headers as well. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** How long such a task is to live, where that is asked for (2025-11-25, basic/utilities/tasks). */
  readonly taskTtlMs?: number | undefined
}

export interface DownstreamCall {
  /** Its id on the wire, where that is one request. */
  readonly id?: number | string | undefined
  /** The `owner` of its sink. */
  readonly owner?: object | undefined
  /**
   * Cancels the request at the server; nothing reaches the sink after, not even of a task. Servers may ignore
   * a cancellation or miss it: `onLate` is called if the server answers the request all the same.
   */
  cancel(reason: CancelReason, onLate?: OnLate): void
}

/** Called when a server has answered a cancelled request: it does not work on it any more. */
export type OnLate = () => void

/** What is said about one request; `ended` comes exactly once and last, unless cancelled or made a task. */
export interface CallSink {
  /** Over HTTP: headers of the request beside those of its conversation. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The call that the request is part of; a sink that wraps another one has the same owner. */
  readonly owner?: object | undefined
  progress(progress: Progress): void
  ended: Settle
}

/** One connection to one server. Implemented in `eras/`. */
export interface Downlink {
  readonly facts: ServerFacts
  /** `returned`: the server keeps nothing about us, so that all clients may share the connection. */
  readonly serverRequests: ServerRequestMode
  /** Whether the server may ask the other way on another connection: false where it is known not to. */
  readonly hasOtherMode: boolean
  /** Whether calls of tools may end with a task in place of a result. */
  readonly mayReturnTasks: boolean
  call(request: Request, sink: CallSink): DownstreamCall
  notify(method: string, params: JsonText | undefined): void
  /** Whether notifications that belong to no request can reach us: list_changed can be relied on. */
  readonly receivesUnsolicited: boolean
  /** Whether a ping of the proxy is unanswered. */
  readonly isPinging?: boolean
  pause(): void
  resume(): void
  /** Ends the connection in order; what is still under way ends with a fault. Never rejects. */
  close(): Promise<void>
}

/** A question of a server: sampling, elicitation or roots. */
export interface ServerRequest {
  readonly method: string
  readonly params: JsonText | undefined
  /** The request on whose own stream it came (HTTP), or that it names; undefined if neither is known. */
  readonly about: DownstreamCall | undefined
  readonly wantsProgress: boolean
  /** Answers; exactly one answer reaches the server. */
  answer: Reply
  /** Relays the client's progress under the server's own token. */
  progress(params: JsonText): void
  /** Set by whoever passes the question on: the server no longer wants to know. */
  onWithdrawn: ((reason: CancelReason) => void) | undefined
}

/** What a downlink reports that belongs to no request of ours. Implemented by `peers/`. */
export interface DownlinkListener {
  requested(ask: ServerRequest): void
  /** A notification that is not progress; `about` as for questions. */
  notified(method: string, params: JsonText | undefined, about: DownstreamCall | undefined): void
  /** The connection is gone; every call under way has already ended. */
  closed(fault: Fault): void
}
