import type { Principal } from '../kernel/caller.js'
import type { JsonText } from '../kernel/json/text.js'
import type { Limits } from '../kernel/limits.js'
import type { Downlink, DownlinkListener, ServerRequestMode, ServerSession } from '../model/links.js'
import type { ClientCapabilities } from '../model/peer.js'
import type { RestartRules } from './server-state.js'

/** Who shares one connection to a server (docs/adr/0006). */
export type Sharing = 'principal' | 'workspace' | 'session' | 'all'

/**
 * What the proxy needs to know about a configured server. One object stands for one server as long as that is
 * served; a changed configuration changes the members of this very object.
 */
export interface ServerOptions {
  readonly name: string
  readonly alias: string
  readonly sharing: Sharing
  /**
   * Whether each principal signs in there as itself. Such a server is never connected to: it stands for those
   * that the principals have of their own (`ownedBy`), so that nothing of one can reach another.
   */
  readonly isPerPrincipal: boolean
  /** Whether a principal that has not signed in there is shown a tool that leads it there. */
  readonly signInTool: boolean
  /** The principal whose own server it is, and the configured one that it comes from; else undefined. */
  readonly owned?: { readonly owner: Principal; readonly by: ServerOptions } | undefined
  readonly start: 'lazy' | 'eager'
  /** Whether tools that say they do no harm may be called again if a call is lost while parked. */
  readonly replay: boolean
  /** Whether clients of a connection take turns, so that a server request can only be for one of them. */
  readonly serialize: boolean
  /** Whether it runs in the folder of its clients, and for none without. */
  readonly needsWorkspace?: boolean
  /** Whether each of its connections is a process of its own. */
  readonly isProcess: boolean
  /** What carries its messages (`network.protocol.name`); undefined for pipes and sockets. */
  readonly protocol?: 'http' | 'websocket' | undefined
  /** Where it is reached: a host, or the path of a socket; undefined for programs. */
  readonly address?: { readonly host: string; readonly port: number | undefined } | undefined
  /** Whether its requests say which trace they belong to. */
  readonly propagate: boolean
  readonly limits: Partial<Limits>
  readonly restart: RestartRules
  /** How long a connection that no client uses stays open; `Infinity` for ever. */
  readonly idleStopMs: number
  readonly timeouts: {
    /** To connect and initialize; generous, because package runners install on first start. */
    readonly connectMs: number
    readonly listMs: number
    /** Silence during a request; progress restarts it. */
    readonly callMs: number
    /** The same for calls of a tool, by its own name; undefined where `callMs` applies. */
    readonly toolMs?: ((own: string) => number | undefined) | undefined
    /** A whole request, whatever progress it reports. */
    readonly totalMs: number
  }
}

/** One principal's own server: configured as the other is at any time. */
export const ownedBy = (server: ServerOptions, owner: Principal): ServerOptions =>
  Object.create(server, {
    isPerPrincipal: { value: false },
    owned: { value: { owner, by: server } satisfies ServerOptions['owned'] },
  }) as ServerOptions

/** How the proxy introduces itself on a new connection. */
export interface Greeting {
  readonly capabilities: ClientCapabilities
  /** The client's `Implementation` object if the connection is that client's alone. */
  readonly clientInfo: JsonText | undefined
  /** Where the session is noted if the connection is a client's alone; one that was noted goes on. */
  readonly session?: ServerSession | undefined
  /** The folder that its clients work in, if it is theirs alone. */
  readonly workspace?: string | undefined
  /** The mode of its clients: the server is spoken to in the same one, unless it has only the other. */
  readonly serverRequests: ServerRequestMode
}

/**
 * PORT. Opens a connection to a server: starts or reaches it, detects what it speaks, shakes hands. Rejects
 * with a Fault and leaves nothing behind. `signal` cancels the attempt, and is aborted before we close the
 * connection. Implemented by `app/dialer`.
 */
export type Dial = (
  server: ServerOptions,
  greeting: Greeting,
  listener: DownlinkListener,
  signal: AbortSignal,
) => Promise<Downlink>
