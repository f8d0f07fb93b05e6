import type { Clock } from '../../kernel/async/clock.js'
import type { JsonText } from '../../kernel/json/text.js'
import type { Logger } from '../../kernel/logger.js'
import type { CacheHints } from '../../model/cache-hints.js'
import type { Client, Viewer } from '../../model/links.js'
import type { ServerOptions } from '../../peers/dial.js'
import type { ServerViews } from '../server-views.js'
import type { ToolExposure } from '../views/tool-exposure.js'
import type { View } from '../views/view.js'
import type { ConnectionLists } from './connection-lists.js'
import type { HidingFilter } from './merge.js'
import type { ProfileCache } from './profile-cache.js'

export interface ListOptions {
  /** True if the only server is exposed unchanged. */
  readonly isAlone: boolean
  readonly pageSize: number
  /** Maximum time that a list request waits for servers that are still starting. */
  readonly listWaitMs: number
  /** Returns whether the owner of a server has signed in there. */
  readonly isSignedIn: (server: ServerOptions) => boolean
  /** Time that a new client has already waited for starting servers. */
  readonly startupWaitMs: number
}

export interface ClientViewsContext {
  readonly views: Pick<ServerViews, 'all' | 'current' | 'for'>
  /** Returns the view of a client; undefined if it sees everything. */
  readonly viewFor: (client: Client) => View | undefined
  /** Returns what is left out of a viewer's lists; undefined if nothing can be. */
  readonly hidingFor?: ((viewer: Viewer) => HidingFilter | undefined) | undefined
  readonly lists: ConnectionLists
  readonly cache: ProfileCache
  /** Decides which clients use the tool search; undefined if no client does. */
  readonly toolExposure?: ToolExposure | undefined
  readonly options: () => ListOptions
  readonly clock: Clock
  readonly log: Logger
}

/** A page, the version of its merged list, and how long clients may keep it. */
export interface ListPage {
  readonly result: JsonText
  readonly version: string
  readonly hints: CacheHints
}
