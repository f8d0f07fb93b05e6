import type { JsonText } from '../../kernel/json/text.js'
import type { ServerSession } from '../../model/links.js'

/** Servers beyond this total get a new session from the next replica. */
const KEPT_BYTES = 64 * 1024

/** A client's dedicated sessions at servers, stored for other replicas. */
export class ServerSessions {
  readonly #changed: () => void
  readonly #saved = new Map<string, JsonText>()
  /** True once another replica has taken over the client. */
  isTakenOver = false

  constructor(changed: () => void) {
    this.#changed = changed
  }

  get all(): readonly (readonly [server: string, session: JsonText])[] {
    return [...this.#saved]
  }

  /** Restores the sessions stored by another replica. */
  restore(all: ServerSessions['all']): void {
    for (const [server, session] of all) this.#saved.set(server, session)
  }

  readonly at = (server: string): ServerSession => ({
    saved: () => this.#saved.get(server),
    save: session => this.#save(server, session),
    isTakenOver: () => this.isTakenOver,
  })

  #save(server: string, session: JsonText | undefined): void {
    const before = this.#saved.get(server)
    this.#saved.delete(server)
    if (session !== undefined && this.#bytes + session.length <= KEPT_BYTES) this.#saved.set(server, session)
    if (before !== undefined || session !== undefined) this.#changed()
  }

  get #bytes(): number {
    return [...this.#saved.values()].reduce((sum, { length }) => sum + length, 0)
  }
}
