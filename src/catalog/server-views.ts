import type { Principal } from '../kernel/caller.js'
import { Fault } from '../kernel/faults.js'
import type { Logger } from '../kernel/logger.js'
import type { Meter } from '../metering/meter.js'
import type { Connection } from '../peers/connection.js'
import type { ServerOptions } from '../peers/dial.js'
import type { Server } from '../peers/server.js'
import { type Exposure, UNCHANGED } from './exposure.js'
import { ServerView } from './lists/server-view.js'

export interface ServerViewsOptions {
  readonly log: Logger
  /** Undefined where nothing is counted. */
  readonly meter?: Meter | undefined
  /** The only server of a proxy is exposed as it is. */
  readonly isAlone: boolean
  readonly exposureOf: (server: Server) => Exposure
  /** What a principal has of its own in place of a server that wants that; undefined for nothing. */
  readonly ownedBy: (server: Server, principal: Principal) => Server | undefined
}

/** How each server is shown: the configured ones, and those that principals have in their place. */
export class ServerViews {
  readonly #options: ServerViewsOptions
  readonly #onRenewed: (view: ServerView, earlier: ServerView) => void
  #all: ReadonlyMap<Server, ServerView> = new Map()
  /** Includes servers that have left, for the calls that they still answer. */
  readonly #byOptions = new WeakMap<ServerOptions, ServerView>()

  constructor(options: ServerViewsOptions, onRenewed: (view: ServerView, earlier: ServerView) => void) {
    this.#options = options
    this.#onRenewed = onRenewed
  }

  /** In the order of the configuration; a new map whenever anything in it has changed. */
  get all(): ReadonlyMap<Server, ServerView> {
    return this.#all
  }

  of(server: ServerOptions): ServerView {
    const view = this.#byOptions.get(server)
    if (view === undefined) throw new Fault('internal', `Server ${server.name} is not in the catalogue`)
    return view
  }

  /** The view of a server, or of that of a connection; undefined once the server has left. */
  current(server: ServerOptions): ServerView | undefined {
    const view = this.#byOptions.get(server)
    const { owned } = server
    const configured = owned === undefined ? view : this.#byOptions.get(owned.by)
    return configured !== undefined && this.#all.has(configured.server) ? view : undefined
  }

  on({ server }: Connection): ServerView | undefined {
    return this.current(server)
  }

  /** What a principal sees in place of a configured server; undefined if it has nothing there. */
  for(view: ServerView, principal: Principal): ServerView | undefined {
    if (!view.server.options.isPerPrincipal) return view
    const server = this.#options.ownedBy(view.server, principal)
    if (server === undefined) return undefined
    const known = this.#byOptions.get(server.options)
    // It is shown as the configured one is by now.
    return known?.exposure === view.exposure ? known : this.#shown(server, view.exposure, known)
  }

  /** Shows a server anew. */
  renew(server: Server): void {
    const known = this.of(server.options)
    const view = this.#shown(server, known.exposure, known)
    if (this.#all.has(server)) this.#all = new Map(this.#all).set(server, view)
  }

  /** Replaces the servers, and the views of those that are exposed in another way. */
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
