import type { Views } from '../catalog/views/views.js'
import type { ConfigDiff } from '../config/diff.js'
import type { Environment, Problem, ProxyConfig } from '../config/types.js'
import type { Api } from '../control/api/api.js'
import type { ControlApiContext } from '../control/api/context.js'
import type { PageSessions } from '../control/api/page-sessions.js'
import type { SocketEndpoint, StdioEndpoint } from '../control/channels.js'
import type { LocalSessions } from '../control/daemon/sessions.js'
import type { ProgramNeed } from '../control/environment/environment.js'
import type { Clock } from '../kernel/async/clock.js'
import type { Principal } from '../kernel/caller.js'
import type { LimitCounters } from '../kernel/limit-counters.js'
import type { Logger } from '../kernel/logger.js'
import type { ClientHandler } from '../model/links.js'
import type { Tracer } from '../model/tracer.js'
import type { sentDefinitions } from '../mux/rules/sent-definitions.js'
import type { Children } from '../state/processes/children.js'
import type { AuditLog } from '../telemetry/audit/audit-log.js'
import type { KeptLines } from '../telemetry/logs/kept-lines.js'
import type { MetricsEndpoint } from '../telemetry/metrics/listener.js'
import type { MetricsPages } from '../telemetry/metrics/pages.js'
import type { ConfigStatus } from '../telemetry/status/config-status.js'
import type { ProxyStatus } from '../telemetry/status/status.js'
import type { HttpEndpoints } from './listeners/http.js'

/** Options of a proxy, in addition to its configuration. */
export interface PublicOptions {
  readonly log?: Logger
  /** Serves a single server without renaming, as in `mcp-proxy bridge`. */
  readonly isAlone?: boolean
  /** Time that lists wait for starting servers, in milliseconds. */
  readonly listWaitMs?: number
  /**
   * The folder for state that outlives this process. If absent, server lists are not cached, and the key for
   * request states is in the user's own state folder.
   */
  readonly stateDir?: string
}

/** Additional options of our own programs. */
export interface ProxyOptions extends PublicOptions {
  readonly clock?: Clock
  /** True to write the cache of server lists without reading it: lists wait for every server. */
  readonly isFirstStart?: boolean
  /** The environment that programs inherit from. Defaults to the environment of this process. */
  readonly programEnv?: (need: ProgramNeed) => Promise<Environment>
  /** The source of the configuration, for the status. */
  readonly configStatus?: () => ConfigStatus | undefined
  /** The problems of the configuration. */
  readonly configProblems?: () => readonly Problem[]
  /** Replaces the configured tracer. */
  readonly tracer?: Tracer
  /** The kept lines of the log. */
  readonly lines?: KeptLines
  /** Returns a function that reloads the configuration, if supported. */
  readonly reread?: () => (() => void) | undefined
  /** Switches a tool in the configuration file. Absent without a file. See `ControlApiContext.switchTool`. */
  readonly switchTool?: ControlApiContext['switchTool']
}

/** The revision of a server, and the newest revisions that clients can use with the proxy. */
export interface Spoken {
  readonly revision: string
  readonly offered: readonly string[]
}

/** An endpoint, as the shutdown and memory pressure need it. */
export interface Endpoint {
  /** The address of Streamable HTTP for clients. Undefined for other endpoints. */
  readonly url?: string | undefined
  readonly isLeaving?: boolean
  /** For an HTTP port: its MCP endpoint for local programs. */
  readonly localUrl?: string
  refused?(): number
  reload?(): void
  shed?(): void
  close(): Promise<void>
}

/** Presents many MCP servers as one, on any number of endpoints. */
export interface PublicProxy {
  /** Serves the configured HTTP endpoints. Rejects with a Fault `unavailable` if it cannot listen. */
  listen(where?: { readonly host?: string; readonly port?: number }): Promise<HttpEndpoints>
  /** Serves a Unix domain socket or named pipe. Rejects with a Fault `unavailable` if it cannot listen. */
  listenSocket(path: string): Promise<SocketEndpoint>
  /** Serves one client on stdin and stdout. `view` must exist. `workspace` is the client's folder. */
  serveStdio(view?: string, workspace?: string): Promise<StdioEndpoint>
  /** The active configuration. */
  readonly config: ProxyConfig
  /** Returns the state of the proxy and its servers. */
  status(): ProxyStatus
  /**
   * Applies a configuration and returns the changes. Unchanged servers, their processes, and clients' calls
   * are not affected. Removed or replaced servers refuse new calls; calls in flight can finish within
   * `drainMs`. Settings that need a restart stay as they are. Throws a Fault and changes nothing:
   * `invalid-params` for servers with the same name or prefix, `unavailable` once the proxy closes.
   */
  reload(config: ProxyConfig): ConfigDiff
  /** Logs calls as the new level of the logger requires. */
  logLevelChanged(): void
  /**
   * Refuses new calls and waits for calls in flight, for at most `limitMs`, by default the configured time.
   * Never rejects.
   */
  drain(limitMs?: number): Promise<void>
  /** Closes all endpoints, then all servers. Never rejects. */
  close(): Promise<void>
}

/** The proxy for our own programs. */
export interface Proxy extends PublicProxy {
  /** Serves clients in this process. */
  readonly clientHandler: ClientHandler
  /** The clients behind `mcp-proxy connect`. */
  readonly sessions: LocalSessions
  /** See `Admission.refusal`. */
  readonly refusal: string
  /** True while new calls are refused. */
  readonly isDraining: boolean
  readonly bounds: LimitCounters
  readonly views: Views
  /** Returns the metrics pages. Undefined without metrics. */
  readonly metrics: (() => Promise<MetricsPages>) | undefined
  /** Serves the metrics at their own configured address. Rejects with a Fault. */
  listenMetrics(): Promise<MetricsEndpoint | undefined>
  /** Returns the control API. */
  readonly api: () => Promise<Api>
  /** Returns the sessions of the page. */
  readonly pageSessions: () => PageSessions
  /**
   * Returns the origin of the page for local programs: a loopback port of the proxy, or a port opened by the
   * first call. Rejects with a Fault `unavailable` if it cannot listen.
   */
  pageOrigin(): Promise<string>
  /**
   * Starts the server of a bridge before a client needs it. Resolves with undefined if it cannot be reached.
   */
  startOnly(): Promise<Spoken | undefined>
  /** Returns the definitions that a server has sent to a principal; see `sentDefinitions`. */
  sentBy(server: string, principal: Principal): ReturnType<typeof sentDefinitions>
  /** The child processes of servers. */
  readonly children: Children
  /** The audit log. Does nothing if not configured. */
  readonly audit: Pick<AuditLog, 'reloaded' | 'reopen' | 'changed'>
}
