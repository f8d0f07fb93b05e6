import { systemClock } from '../../kernel/async/clock.js'
import { Deferred } from '../../kernel/async/deferred.js'
import { randomId } from '../../kernel/ids.js'
import { createDeathGuard, type DeathGuard } from '../../transport/process/death-guard.js'
import { endMarked, MARK_VARIABLE } from '../../transport/process/orphans.js'
import { processTable } from '../../transport/process/process-table.js'

/** How long processes that servers left behind have to end before they are killed. */
const TERM_MS = 500

/** The processes of all servers that we started, and the guard that ends them if we cannot. */
export class Children {
  /** An unguessable value in the environment of each of them, and of what they start. */
  readonly mark = randomId()
  onChange: (() => void) | undefined
  readonly #running = new Map<number, { readonly owner: object; readonly sinceMs: number }>()
  #gone: Deferred<void> | undefined
  /** Made on first use: a proxy of remote servers needs none. */
  #guard: DeathGuard | undefined

  get env(): Readonly<Record<string, string>> {
    return { [MARK_VARIABLE]: this.mark }
  }

  get pids(): readonly number[] {
    return [...this.#running.keys()]
  }

  /** Each with the wall-clock time of its start. */
  get starts(): readonly (readonly [pid: number, sinceMs: number])[] {
    return [...this.#running].map(([pid, { sinceMs }]) => [pid, sinceMs])
  }

  of(owner: object): readonly number[] {
    return this.pids.filter(pid => this.#running.get(pid)?.owner === owner)
  }

  /** The death guard, as the processes of one server use it. */
  guardOf(owner: object): DeathGuard {
    this.#guard ??= createDeathGuard(`${MARK_VARIABLE}=${this.mark}`)
    const guard = this.#guard
    return {
      pid: guard.pid,
      watch: pid => {
        guard.watch(pid)
        this.added(pid, owner)
      },
      forget: pid => {
        guard.forget(pid)
        this.removed(pid)
      },
      close: () => undefined,
    }
  }

  added(pid: number, owner: object): void {
    this.#running.set(pid, { owner, sinceMs: Date.now() })
    this.onChange?.()
  }

  removed(pid: number): void {
    this.#running.delete(pid)
    this.onChange?.()
    if (this.#running.size === 0) this.#gone?.resolve()
  }

  /** Called when a server has answered: by now shims between it and us have started it, and still run. */
  answered(): void {
    this.onChange?.()
  }

  async gone(): Promise<void> {
    if (this.#running.size === 0) return
    this.#gone ??= new Deferred()
    await this.#gone.promise
  }

  /** Ends what children that have ended left behind in sessions of their own. Never rejects. */
  async close(): Promise<void> {
    if (this.#guard === undefined) return
    // Timers of the clock do not keep us alive.
    const hold = setInterval(() => undefined, 2 ** 30)
    await endMarked(this.mark, { table: processTable(), clock: systemClock, termMs: TERM_MS }).catch(
      () => undefined,
    )
    clearInterval(hold)
    this.#guard.close()
  }
}
