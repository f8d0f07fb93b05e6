import type { JsonText } from '../../../kernel/json/text.js'
import type { ServerSession } from '../../../model/links.js'

/** What is beyond is not kept: those servers get a new session from the replica that comes next. */
const KEPT_BYTES = 64 * 1024

/** The sessions that a client has at servers for itself alone, for the replica that comes next. */
export class ServerSessions {
  readonly #changed: () => void
  readonly #noted = new Map<string, JsonText>()
  /** Another replica has the client by now. */
  goOn = false

  constructor(changed: () => void) {
    this.#changed = changed
  }

  get all(): readonly (readonly [server: string, session: JsonText])[] {
    return [...this.#noted]
  }

  /** Takes what another replica noted. */
  restore(all: ServerSessions['all']): void {
    for (const [server, session] of all) this.#noted.set(server, session)
  }

  readonly at = (server: string): ServerSession => ({
    noted: () => this.#noted.get(server),
    note: session => this.#note(server, session),
    goesOn: () => this.goOn,
  })

  #note(server: string, session: JsonText | undefined): void {
    const before = this.#noted.get(server)
    this.#noted.delete(server)
    if (session !== undefined && this.#bytes + session.length <= KEPT_BYTES) this.#noted.set(server, session)
    if (before !== undefined || session !== undefined) this.#changed()
  }

  get #bytes(): number {
    return [...this.#noted.values()].reduce((sum, { length }) => sum + length, 0)
  }
}
