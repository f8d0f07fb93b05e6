import type { Problem, ProxyConfig } from '../../config/types.js'
import type { Caller } from '../../kernel/caller.js'
import type { Fault } from '../../kernel/faults.js'
import type { ClientHandler } from '../../model/links.js'
import type { KeptLines } from '../../telemetry/logs/kept-lines.js'
import type { MetricsPages } from '../../telemetry/metrics/pages.js'
import type { ProxyStatus, StatusContext } from '../../telemetry/status/status.js'

/** The parts of a running proxy that the API reads and controls. */
export interface ControlApiContext extends StatusContext {
  readonly status: () => ProxyStatus
  /** The active configuration, and the servers disabled at run time. */
  readonly config: () => ProxyConfig
  readonly disabled: () => ReadonlySet<string>
  readonly problems: () => readonly Problem[]
  readonly handler: ClientHandler
  readonly lines: KeptLines | undefined
  readonly metrics: (() => Promise<MetricsPages>) | undefined
  /** Returns undefined without a configuration file. */
  readonly reload: () => (() => void) | undefined
  /** Closes the connections of a server and starts it again. Rejects with a Fault. */
  readonly restart: (server: string) => Promise<void>
  /** Applies until the next change of the file. Throws a Fault. */
  readonly setEnabled: (server: string, isEnabled: boolean) => void
  /**
   * Disables or enables a tool, by the server's own name, in the configuration file. Resolves once the file
   * is reloaded. Rejects with a Fault. Undefined without a configuration file.
   */
  readonly switchTool?:
    | ((tool: { readonly server: string; readonly own: string }, isEnabled: boolean) => Promise<void>)
    | undefined
  /** Returns the caller's sign-in URL for a server. Returns undefined if no page can be opened for it. */
  readonly signInUrl?: ((server: string, caller: Caller) => string | undefined) | undefined
  readonly failed: (fault: Fault) => void
  /** Records the caller of a change. Absent without auditing. */
  readonly changed?: ((path: string, caller: Caller) => void) | undefined
}
