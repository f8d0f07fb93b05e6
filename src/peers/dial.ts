import type { Caller, Principal } from '../kernel/caller.js'
import type { PassedHeaders } from '../kernel/header-patterns.js'
import type { JsonText } from '../kernel/json/text.js'
import type { Limits } from '../kernel/limits.js'
import type { Downlink, DownlinkListener, ServerRequestMode, ServerSession } from '../model/links.js'
import type { ClientCapabilities } from '../model/peer.js'
import type { RestartRules } from './server-state.js'

/** The clients that share one connection to a server (docs/adr/0006). */
export type ConnectionSharing = 'principal' | 'workspace' | 'session' | 'all'

/**
 * Configuration of one server. Each server keeps one object for as long as it is served; a reload changes the
 * members of this very object.
 */
export interface ServerOptions {
  readonly name: string
  readonly alias: string
  readonly sharing: ConnectionSharing
  /**
   * True if each principal signs in at the server personally. No connection is opened to such a server: it is
   * the template for the principals' own servers (`ownedBy`), so that they share nothing.
   */
  readonly isPerPrincipal: boolean
  /** True if a principal without a login sees a sign-in tool. */
  readonly signInTool: boolean
  /** The owner and the configured template of a principal's own server; otherwise undefined. */
  readonly owned?: { readonly owner: Principal; readonly by: ServerOptions } | undefined
  readonly start: 'lazy' | 'eager'
  /** True if harmless tools may be called again after a parked call is lost. */
  readonly replay: boolean
  /** True if the clients of a connection take turns, so that each server request belongs to one of them. */
  readonly serialize: boolean
  /** True if the server runs in its clients' folder, and only with a known folder. */
  readonly needsWorkspace?: boolean
  /** True if each connection is a process of its own. */
  readonly isProcess: boolean
  /** Network protocol (`network.protocol.name`); undefined for pipes and sockets. */
  readonly protocol?: 'http' | 'websocket' | undefined
  /** Network address: a host, or the path of a socket; undefined for programs. */
  readonly address?: { readonly host: string; readonly port: number | undefined } | undefined
  /** True if requests carry their trace context. */
  readonly propagate: boolean
  /** Selects the headers of clients that the server gets; undefined for none. */
  readonly passing?: HeaderPassing | undefined
  readonly limits: Partial<Limits>
  readonly restart: RestartRules
  /** Time for which an unused connection stays open; `Infinity` for ever. */
  readonly idleStopMs: number
  readonly timeouts: {
    /** Time limit to connect and initialize; generous, because package runners install on first start. */
    readonly connectMs: number
    readonly listMs: number
    /** Maximum silence during a request; progress restarts it. */
    readonly callMs: number
    /** Maximum silence during a call of a tool, by its own name; undefined for `callMs`. */
    readonly toolMs?: ((own: string) => number | undefined) | undefined
    /** Maximum duration of a request, regardless of progress. */
    readonly totalMs: number
  }
}

/** The headers of clients' requests that a server gets. */
export interface HeaderPassing {
  of(caller: Caller): PassedHeaders | undefined
  /** Returns a key of their values that may be stored. */
  keyOf(headers: PassedHeaders): string
}

/** Returns a principal's own server, which follows the configuration of its template. */
export const ownedBy = (server: ServerOptions, owner: Principal): ServerOptions =>
  Object.create(server, {
    isPerPrincipal: { value: false },
    owned: { value: { owner, by: server } satisfies ServerOptions['owned'] },
  }) as ServerOptions

/** The proxy's `initialize` data for a new connection. */
export interface Greeting {
  readonly capabilities: ClientCapabilities
  /**
   * Returns what the proxy declares on requests for all clients of the server; undefined for nothing, and the
   * same object until it changes.
   */
  readonly declares?: (() => ClientCapabilities | undefined) | undefined
  /** True if the server is exposed unchanged: unknown messages pass in both directions. */
  readonly isAlone?: boolean | undefined
  /** The client's `Implementation` object if only that client uses the connection. */
  readonly clientInfo: JsonText | undefined
  /** Storage for the session if only one client uses the connection; a stored session is resumed. */
  readonly session?: ServerSession | undefined
  /** The reason for which the previous connection was lost. */
  readonly lastLoss?: string | undefined
  /** The clients' folder, if only they use the connection. */
  readonly workspace?: string | undefined
  /** Headers of the clients, for requests that belong to none of their calls. */
  readonly headers?: PassedHeaders | undefined
  /** The mode of the clients, which is tried first. */
  readonly serverRequests: ServerRequestMode
}

/**
 * PORT. Opens a connection to a server: starts or reaches it, detects its protocol, shakes hands. Rejects
 * with a Fault and releases everything. `signal` cancels the attempt, and is aborted before the proxy closes
 * the connection. Implemented by `app/dialer`.
 */
export type Dial = (
  server: ServerOptions,
  greeting: Greeting,
  listener: DownlinkListener,
  signal: AbortSignal,
) => Promise<Downlink>
