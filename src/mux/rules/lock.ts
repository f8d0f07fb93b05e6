import { matcherOf } from '../../kernel/globs.js'
import { type LockedServers, NOTHING_LOCKED } from '../../kernel/lock-file.js'
import { type LockRules, ServerLock, type ServerLockContext } from './server-lock.js'

/** The settings and the content of the lock file. */
interface LockOptions extends LockRules {
  /** Globs of the locked servers. */
  readonly servers: readonly string[]
  readonly locked: LockedServers
}

/** Maximum differences that are kept, of all servers; further ones are only counted. */
const KEPT_MAX = 1000

/** The lock file: one comparison for each locked server. */
export class Lock {
  readonly #options: LockOptions
  readonly #context: Omit<ServerLockContext, 'room'>
  readonly #isLocked: (server: string) => boolean
  readonly #servers = new Map<string, ServerLock>()

  constructor(options: LockOptions, context: Omit<ServerLockContext, 'room'>) {
    this.#options = options
    this.#context = context
    this.#isLocked = matcherOf(options.servers)
  }

  /** Returns the comparison for a server; undefined if it is not locked. */
  of(server: string): ServerLock | undefined {
    if (!this.#isLocked(server)) return undefined
    let found = this.#servers.get(server)
    if (found === undefined) {
      const locked = this.#options.locked.get(server) ?? NOTHING_LOCKED
      found = new ServerLock(server, locked, this.#options, { ...this.#context, room: () => this.#room() })
      this.#servers.set(server, found)
    }
    return found
  }

  #room(): number {
    const kept = [...this.#servers.values()].reduce((sum, { differences }) => sum + differences.length, 0)
    return KEPT_MAX - kept
  }
}
