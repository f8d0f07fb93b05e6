import type { Views } from '../catalog/views/views.js'
import type { ConfigDiff } from '../config/diff.js'
import type { Environment, Problem, ProxyConfig } from '../config/types.js'
import type { Api } from '../control/api/api.js'
import type { PageSessions } from '../control/api/page-sessions.js'
import type { SocketEndpoint, StdioEndpoint } from '../control/channels.js'
import type { KeptLines } from '../control/daemon/kept-lines.js'
import type { LocalSessions } from '../control/daemon/sessions.js'
import type { Clock } from '../kernel/async/clock.js'
import type { LimitCounters } from '../kernel/limit-counters.js'
import type { Logger } from '../kernel/logger.js'
import type { ClientHandler } from '../model/links.js'
import type { Tracer } from '../model/tracer.js'
import type { Children } from '../state/processes/children.js'
import type { ConfigStatus } from '../status/config-status.js'
import type { ProxyStatus } from '../status/status.js'
import type { AuditLog } from '../telemetry/logs/audit-log.js'
import type { MetricsEndpoint } from '../telemetry/metrics/listener.js'
import type { MetricsPages } from '../telemetry/metrics/pages.js'
import type { HttpEndpoints } from './listeners/http.js'

/** How a proxy is made, beside its configuration. */
export interface PublicOptions {
  readonly log?: Logger
  /** Serves the only configured server as it is: nothing is renamed, as in `mcp-proxy bridge`. */
  readonly isAlone?: boolean
  /** How long lists wait for servers that are still starting, in milliseconds. */
  readonly listWaitMs?: number
  /**
   * The folder for state that outlives this process. If absent, the lists of servers are not cached, and the
   * key for request states is in the user's own state folder.
   */
  readonly stateDir?: string
}

/** The same for our own programs. */
export interface ProxyOptions extends PublicOptions {
  readonly clock?: Clock
  /** Whether the lists of servers are cached for later, but not read: each server is waited for. */
  readonly isFirstStart?: boolean
  /** What programs may inherit from; the variables of this process if absent. */
  readonly programEnv?: () => Promise<Environment>
  /** Where the configuration comes from, for the status. */
  readonly configStatus?: () => ConfigStatus | undefined
  /** What is wrong with it. */
  readonly configProblems?: () => readonly Problem[]
  /** Traces in place of what the configuration says. */
  readonly tracer?: Tracer
  /** The log, for who asks for it. */
  readonly lines?: KeptLines
  /** How the configuration is read again, where that can be done. */
  readonly reread?: () => (() => void) | undefined
}

/** What a server speaks, and the newest revisions that clients may speak with us. */
export interface Spoken {
  readonly revision: string
  readonly offered: readonly string[]
}

/** What serves clients in one way, as far as whoever ends it or makes room needs to know. */
export interface Endpoint {
  readonly isLeaving?: boolean
  /** Of an HTTP port: its MCP endpoint for programs of this machine. */
  readonly localUrl?: string
  refused?(): number
  reload?(): void
  shed?(): void
  close(): Promise<void>
}

/** Many MCP servers that look like one, served on any number of endpoints. */
export interface PublicProxy {
  /** Serves the configured HTTP endpoints. Rejects with a Fault `unavailable` if it cannot listen. */
  listen(where?: { readonly host?: string; readonly port?: number }): Promise<HttpEndpoints>
  /** Serves a Unix domain socket or named pipe. Rejects with a Fault `unavailable` if it cannot listen. */
  listenSocket(path: string): Promise<SocketEndpoint>
  /** Serves one client on our own stdin and stdout, with a view that exists, in the folder that it says. */
  serveStdio(view?: string, workspace?: string): StdioEndpoint
  /** The configuration in force. */
  readonly config: ProxyConfig
  /** The state of the proxy and its servers. */
  status(): ProxyStatus
  /**
   * Applies another configuration and returns what it changes. Servers that stay the same, their processes,
   * the clients and their calls notice nothing. Servers that are gone, or are started in another way, take no
   * more calls; those in flight have `drainMs` left. Settings that need a restart stay as they are. Throws a
   * Fault and changes nothing: `invalid-params` for servers with the same name or prefix, `unavailable` once
   * the proxy closes.
   */
  reload(config: ProxyConfig): ConfigDiff
  /**
   * Refuses further calls, and waits for those in flight: up to `limitMs`, by default as long as the
   * configuration says. Never rejects.
   */
  drain(limitMs?: number): Promise<void>
  /** Closes all endpoints, then all servers. Never rejects. */
  close(): Promise<void>
}

/** The same for our own programs, which look further in. */
export interface Proxy extends PublicProxy {
  /** Serves clients in this process. */
  readonly clientHandler: ClientHandler
  /** The clients that come through `mcp-proxy connect`. */
  readonly sessions: LocalSessions
  /** See `Admission.refusal`. */
  readonly refusal: string
  /** Whether it takes no more calls. */
  readonly isDraining: boolean
  readonly bounds: LimitCounters
  readonly views: Views
  /** Writes what was counted; undefined where nothing is. */
  readonly metrics: (() => Promise<MetricsPages>) | undefined
  /** Serves the metrics at the address that is configured for them alone. Rejects with a Fault. */
  listenMetrics(): Promise<MetricsEndpoint | undefined>
  /** Answers the paths of the control API. */
  readonly api: () => Promise<Api>
  /** Who lets pages in on the port. */
  readonly pageSessions: () => PageSessions
  /**
   * The origin at which programs of this machine find the page: our port if it is on loopback, else a port of
   * its own, which the first call opens. Rejects with a Fault `unavailable` if it cannot listen.
   */
  pageOrigin(): Promise<string>
  /** Starts the server of a bridge, though no client needs it yet. Undefined if that cannot be reached. */
  startOnly(): Promise<Spoken | undefined>
  /** The processes that run for it. */
  readonly children: Children
  /** The audit log; does nothing if none is configured. */
  readonly audit: Pick<AuditLog, 'reloaded' | 'reopen' | 'changed'>
}
