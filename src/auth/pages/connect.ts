import type { Principal } from '../../kernel/caller.js'
import { lateModule } from '../../kernel/late-module.js'
import type { Router } from '../../mux/router.js'
import type { ServerOptions } from '../../peers/dial.js'
import type { Logins } from '../store/logins.js'
import type { ConnectContext } from './endpoint.js'
import { SignInLinks, type SignInLinksOptions } from './sign-in-links.js'

export interface ConnectOptions
  extends Omit<ConnectContext, 'links' | 'logins' | 'onSignedIn'>,
    Omit<SignInLinksOptions, 'logins'> {
  readonly logins: Logins
  /** Called with the id of the link after a login at a server. */
  readonly signedIn: (server: ServerOptions, link: string) => void
}

const removedUsers = lateModule(() => import('./removed-users.js'))

/** The logins of users at servers. */
export class Connect {
  readonly links: SignInLinks
  /** Dependencies of the pages. */
  readonly context: ConnectContext
  readonly #options: ConnectOptions

  constructor(options: ConnectOptions) {
    const { logins, signedIn } = options
    this.#options = options
    this.links = new SignInLinks(options)
    this.context = {
      ...options,
      links: this.links,
      onSignedIn({ id, server }) {
        logins.readAgain(server)
        signedIn(server, id)
      },
    }
  }

  /** Returns the sign-in page at a server for an authenticated principal; undefined if not available. */
  signInUrl(pool: Router['pool'], name: string, principal: Principal): string | undefined {
    const server = pool.servers.find(one => one.name === name)
    const own = server?.options.isPerPrincipal === true ? pool.ownedBy(server, principal) : server
    return own && this.links.ticketUrl(own.options, principal)
  }

  /** Ends the logins of removed users, if logins are per user. */
  usersChanged(): void {
    const { log, logins } = this.#options
    const { origin } = this.links
    const config = this.#options.config()
    if (origin === undefined || !config.servers.some(({ credentials }) => credentials !== 'shared')) return
    void Promise.all([removedUsers(), logins.store()]).then(
      ([{ endLoginsOfRemovedUsers }, store]) => endLoginsOfRemovedUsers({ config, origin, store, log }),
      (thrown: unknown) => log.warn({ err: thrown }, 'cannot find logins of removed users'),
    )
  }
}
