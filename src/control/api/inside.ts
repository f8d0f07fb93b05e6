import type { Problem, ProxyConfig } from '../../config/types.js'
import type { Caller } from '../../kernel/caller.js'
import type { Fault } from '../../kernel/faults.js'
import type { ClientHandler } from '../../model/links.js'
import type { ProxyStatus, StatusContext } from '../../status/status.js'
import type { MetricsPages } from '../../telemetry/metrics/pages.js'
import type { KeptLines } from '../daemon/kept-lines.js'

/** What the API sees and moves of a running proxy. */
export interface Inside extends StatusContext {
  readonly status: () => ProxyStatus
  /** The configuration in force, and the servers of it that somebody switched off. */
  readonly config: () => ProxyConfig
  readonly disabled: () => ReadonlySet<string>
  readonly problems: () => readonly Problem[]
  readonly handler: ClientHandler
  readonly lines: KeptLines | undefined
  readonly metrics: (() => Promise<MetricsPages>) | undefined
  /** Undefined where there is no file to read. */
  readonly reload: () => (() => void) | undefined
  /** Ends the connections of a server and starts it again. Rejects with a Fault. */
  readonly restart: (server: string) => Promise<void>
  /** Holds until the next change of the file. Throws a Fault. */
  readonly setEnabled: (server: string, isEnabled: boolean) => void
  /** Where the caller can sign in at a server; undefined where no page for it can be opened. */
  readonly signInUrl?: ((server: string, caller: Caller) => string | undefined) | undefined
  readonly failed: (fault: Fault) => void
  /** Notes who has changed something; absent where nothing is audited. */
  readonly changed?: ((path: string, caller: Caller) => void) | undefined
}
