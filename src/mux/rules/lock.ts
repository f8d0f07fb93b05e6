import { type IgnoredPath, LockedPart } from '../../kernel/definitions.js'
import { matcherOf } from '../../kernel/globs.js'
import type { LockedServers } from '../../kernel/lock-file.js'
import { type LockRules, ServerLock, type ServerLockContext } from './server-lock.js'

/** The settings and the content of the lock file. */
interface LockOptions extends LockRules {
  /** Globs of the locked servers. */
  readonly servers: readonly string[]
  readonly ignore: readonly IgnoredPath[]
  readonly locked: LockedServers
}

/** Maximum differences that are kept, of all servers; further ones are only counted. */
const KEPT_MAX = 1000

/** The lock file of the configuration in force: one comparison for each locked server. */
export class Lock {
  readonly #context: Omit<ServerLockContext, 'room'>
  #options: LockOptions | undefined
  #servers = new Map<string, ServerLock>()

  constructor(options: LockOptions | undefined, context: Omit<ServerLockContext, 'room'>) {
    this.#options = options
    this.#context = context
  }

  reload(options: LockOptions | undefined): void {
    this.#options = options
    this.#servers = new Map()
  }

  /** Returns the comparison for a server; undefined if it is not locked. */
  of(server: string): ServerLock | undefined {
    if (this.#options === undefined || !matcherOf(this.#options.servers)(server)) return undefined
    let found = this.#servers.get(server)
    if (found === undefined) {
      const { locked, ignore } = this.#options
      const part = new LockedPart(server, locked.get(server), ignore)
      found = new ServerLock(part, this.#options, { ...this.#context, room: () => this.#room() })
      this.#servers.set(server, found)
    }
    return found
  }

  #room(): number {
    const kept = [...this.#servers.values()].reduce((sum, { differences }) => sum + differences.length, 0)
    return KEPT_MAX - kept
  }
}
