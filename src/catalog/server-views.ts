import type { Principal } from '../kernel/caller.js'
import { Fault } from '../kernel/faults.js'
import type { Logger } from '../kernel/logger.js'
import type { Meter } from '../kernel/meter.js'
import type { Connection } from '../peers/connection.js'
import type { ServerOptions } from '../peers/dial.js'
import type { Server } from '../peers/server.js'
import { type Exposure, UNCHANGED } from './exposure.js'
import { ServerView } from './lists/server-view.js'

export interface ServerViewsOptions {
  readonly log: Logger
  /** Undefined without metering. */
  readonly meter?: Meter | undefined
  /** True if the proxy has one server, which is exposed unchanged. */
  readonly isAlone: boolean
  readonly exposureOf: (server: Server) => Exposure
  /** Returns a principal's own instance of a server; undefined if it has none. */
  readonly ownedBy: (server: Server, principal: Principal) => Server | undefined
}

/** Holds the view of each server: the configured ones and the principals' own instances. */
export class ServerViews {
  readonly #options: ServerViewsOptions
  readonly #onRenewed: (view: ServerView, earlier: ServerView) => void
  #all: ReadonlyMap<Server, ServerView> = new Map()
  /** Includes servers that have left, for their calls in flight. */
  readonly #byOptions = new WeakMap<ServerOptions, ServerView>()

  constructor(options: ServerViewsOptions, onRenewed: (view: ServerView, earlier: ServerView) => void) {
    this.#options = options
    this.#onRenewed = onRenewed
  }

  /** In configuration order. Every change creates a new map. */
  get all(): ReadonlyMap<Server, ServerView> {
    return this.#all
  }

  of(server: ServerOptions): ServerView {
    const view = this.#byOptions.get(server)
    if (view === undefined) throw new Fault('internal', `Server ${server.name} is not in the catalogue`)
    return view
  }

  /** Returns the view of a server or connection's server; undefined once the server has left. */
  current(server: ServerOptions): ServerView | undefined {
    const view = this.#byOptions.get(server)
    const { owned } = server
    const configured = owned === undefined ? view : this.#byOptions.get(owned.by)
    return configured !== undefined && this.#all.has(configured.server) ? view : undefined
  }

  on({ server }: Connection): ServerView | undefined {
    return this.current(server)
  }

  /** Returns the view of a principal's own instance of a server; undefined if it has none. */
  for(view: ServerView, principal: Principal): ServerView | undefined {
    if (!view.server.options.isPerPrincipal) return view
    const server = this.#options.ownedBy(view.server, principal)
    if (server === undefined) return undefined
    const known = this.#byOptions.get(server.options)
    // The instance follows the current exposure of the configured server.
    return known?.exposure === view.exposure ? known : this.#shown(server, view.exposure, known)
  }

  /** Rebuilds the view of a server. */
  renew(server: Server): void {
    const known = this.of(server.options)
    const view = this.#shown(server, known.exposure, known)
    if (this.#all.has(server)) this.#all = new Map(this.#all).set(server, view)
  }

  /** Replaces the servers, and the views of those with a changed exposure. */
  replace(servers: readonly Server[], isExposureChanged: (server: Server) => boolean): void {
    this.#all = new Map(
      servers.map(server => {
        const known = this.#all.get(server)
        return [
          server,
          known === undefined || isExposureChanged(server) ? this.#create(server, known) : known,
        ]
      }),
    )
  }

  #create(server: Server, earlier: ServerView | undefined): ServerView {
    const { isAlone, exposureOf } = this.#options
    const exposure = exposureOf(server)
    const shown = isAlone ? { ...UNCHANGED, access: exposure.access } : exposure
    return this.#shown(server, shown, earlier)
  }

  #shown(server: Server, exposure: Exposure, earlier: ServerView | undefined): ServerView {
    const view = new ServerView(server, exposure, this.#options, earlier)
    this.#byOptions.set(server.options, view)
    if (earlier !== undefined) this.#onRenewed(view, earlier)
    return view
  }
}
