import { Fault } from '../kernel/faults.js'
import type { Logger } from '../kernel/logger.js'
import type { Connection } from '../peers/connection.js'
import type { ServerOptions } from '../peers/dial.js'
import type { Server } from '../peers/server.js'
import { type Exposure, UNCHANGED } from './exposure.js'
import { ServerView } from './lists/server-view.js'

export interface ServerViewsOptions {
  readonly log: Logger
  /** The only server of a proxy is exposed as it is. */
  readonly isAlone: boolean
  readonly exposureOf: (server: Server) => Exposure
}

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

  /** The view of the server of a connection; undefined once the server has left. */
  on({ server }: Connection): ServerView | undefined {
    const view = this.#byOptions.get(server)
    return view && this.#all.get(view.server)
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
    const { isAlone, exposureOf, log } = this.#options
    const view = new ServerView(server, isAlone ? UNCHANGED : exposureOf(server), log, earlier)
    this.#byOptions.set(server.options, view)
    if (earlier !== undefined) this.#onRenewed(view, earlier)
    return view
  }
}
