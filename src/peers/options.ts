import type { Limits } from '../kernel/limits.js'
import type { RestartRules } from './server-state.js'

/** Who shares one connection to a server (docs/adr/0006). */
export type Sharing = 'principal' | 'session' | 'all'

/**
 * What the proxy needs to know about a configured server, whatever carries it. One object stands for one server as long as that is
 * served: when the configuration changes what can change meanwhile, members of this very object do.
 */
export interface ServerOptions {
  /** Its key in the configuration: what people read in logs and errors. */
  readonly name: string
  /** The alias in exposed names and URIs. */
  readonly alias: string
  readonly sharing: Sharing
  readonly start: 'lazy' | 'eager'
  /** Whether tools that say that it does no harm may be called again if a call is lost while its client is asked. */
  readonly replay: boolean
  /** Whether clients that share a connection take turns, so that a question of the server can only be for one of them. */
  readonly serialize: boolean
  /** Whether each of its connections is a process of its own. */
  readonly isProcess: boolean
  /** Bounds that are other for this server than for all. */
  readonly limits: Partial<Limits>
  readonly restart: RestartRules
  /** How long a connection that no client uses stays open, in milliseconds; `Infinity` for ever. */
  readonly idleStopMs: number
  readonly timeouts: {
    /** To connect and initialize; generous, because package runners install on first start. */
    readonly connectMs: number
    /** To answer one page of a list. */
    readonly listMs: number
    /** Silence during a request; progress resets it. */
    readonly callMs: number
    /** A whole request, whatever progress it reports. */
    readonly totalMs: number
  }
}
