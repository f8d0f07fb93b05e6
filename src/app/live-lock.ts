import { isSameSetting } from '../config/diff.js'
import type { ProxyConfig } from '../config/types.js'
import { Lock } from '../mux/rules/lock.js'
import type { ServerLock, ServerLockContext } from '../mux/rules/server-lock.js'

type LockSetting = Pick<ProxyConfig, 'lock'>

/** The lock file of the configuration in force, if it has one. */
export class LiveLock {
  readonly #context: Omit<ServerLockContext, 'room'>
  #setting: LockSetting
  #lock: Lock | undefined

  constructor(setting: LockSetting, context: Omit<ServerLockContext, 'room'>) {
    this.#context = context
    this.#setting = { lock: setting.lock }
    this.#lock = this.#create()
  }

  /** Returns the comparison for a server; undefined if it is not locked. */
  of(server: string): ServerLock | undefined {
    return this.#lock?.of(server)
  }

  /** Applies the next configuration. Returns whether the lock file or its settings changed. */
  reload({ lock }: LockSetting): boolean {
    const next = { lock }
    if (isSameSetting('lock', this.#setting, next)) return false
    this.#setting = next
    this.#lock = this.#create()
    return true
  }

  #create(): Lock | undefined {
    const { lock } = this.#setting
    return lock && new Lock(lock, this.#context)
  }
}
