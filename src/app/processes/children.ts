import { systemClock } from '../../kernel/async/clock.js'
import { Deferred } from '../../kernel/async/deferred.js'
import { unguessableId } from '../../kernel/ids.js'
import { createDeathGuard, type DeathGuard } from '../../transport/process/death-guard.js'
import { endMarked, MARK_VARIABLE } from '../../transport/process/orphans.js'
import { processTable } from '../../transport/process/process-table.js'

/** For what servers left in sessions of their own when the proxy ends. */
const TERM_MS = 500

/** The processes of all servers that we started: who they are, and who ends them if we cannot. */
export class Children {
  /** Stands in the environment of each of them, and of what they start; nobody else can have it by chance. */
  readonly mark = unguessableId()
  /** Told whenever one came, answered or went. */
  onChange: (() => void) | undefined
  readonly #running = new Map<number, { readonly owner: object; readonly sinceMs: number }>()
  #gone: Deferred<void> | undefined
  /** Made when first needed: a proxy of remote servers needs none. */
  #guard: DeathGuard | undefined

  /** What each of them gets beside its own environment. */
  get env(): Readonly<Record<string, string>> {
    return { [MARK_VARIABLE]: this.mark }
  }

  get pids(): readonly number[] {
    return [...this.#running.keys()]
  }

  /** Each with the wall clock at its start. */
  get starts(): readonly (readonly [pid: number, sinceMs: number])[] {
    return [...this.#running].map(([pid, { sinceMs }]) => [pid, sinceMs])
  }

  /** The processes of one server, whatever stands for it, without what they started themselves. */
  of(owner: object): readonly number[] {
    return this.pids.filter(pid => this.#running.get(pid)?.owner === owner)
  }

  /** Watches over the processes of one server. */
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

  /** One has answered: whatever stands between it and us, such as a shim, has started it by now, and still runs. */
  answered(): void {
    this.onChange?.()
  }

  /** Resolves when none is left; those that were called off while they started end by themselves, after the others. */
  async gone(): Promise<void> {
    if (this.#running.size === 0) return
    this.#gone ??= new Deferred()
    await this.#gone.promise
  }

  /**
   * Once all of them have ended: ends what they have started in sessions of their own, where no signal to their groups reaches
   * it. Never rejects.
   */
  async close(): Promise<void> {
    if (this.#guard === undefined) return
    // The timers of the clock do not keep us alive.
    const hold = setInterval(() => undefined, 2 ** 30)
    await endMarked(this.mark, { table: processTable(), clock: systemClock, termMs: TERM_MS }).catch(
      () => undefined,
    )
    clearInterval(hold)
    this.#guard.close()
  }
}
