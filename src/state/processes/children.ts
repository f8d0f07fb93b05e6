import { systemClock } from '../../kernel/async/clock.js'
import { Deferred } from '../../kernel/async/deferred.js'
import { randomId } from '../../kernel/ids.js'
import { createDeathGuard, type DeathGuard } from '../../transport/process/death-guard.js'
import { endMarked, MARK_VARIABLE } from '../../transport/process/orphans.js'
import { processTable } from '../../transport/process/process-table.js'
import type { RecordedContainer } from './containers.js'

/** Time for leftover processes of servers to end before they are killed. */
const TERM_MS = 500

/** Tracks the processes of all servers, and the death guard that ends them if the proxy dies. */
export class Children {
  /** An unguessable value in the environment of each child and its descendants. */
  readonly mark = randomId()
  onChange: (() => void) | undefined
  readonly #running = new Map<number, { readonly owner: object; readonly sinceMs: number }>()
  readonly #containers = new Set<RecordedContainer>()
  #gone: Deferred<void> | undefined
  /** Created on first use: a proxy of remote servers needs none. */
  #guard: DeathGuard | undefined

  get env(): Readonly<Record<string, string>> {
    return { [MARK_VARIABLE]: this.mark }
  }

  get pids(): readonly number[] {
    return [...this.#running.keys()]
  }

  /** Returns the processes and the wall-clock times of their starts. */
  get starts(): readonly (readonly [pid: number, sinceMs: number])[] {
    return [...this.#running].map(([pid, { sinceMs }]) => [pid, sinceMs])
  }

  /** The containers that servers may leave behind. */
  get containers(): readonly RecordedContainer[] {
    return [...this.#containers]
  }

  runs(container: RecordedContainer): void {
    this.#containers.add(container)
    this.onChange?.()
  }

  /** Call when a container has ended or is being stopped. */
  stopped(container: RecordedContainer): void {
    this.#containers.delete(container)
    this.onChange?.()
  }

  of(owner: object): readonly number[] {
    return this.pids.filter(pid => this.#running.get(pid)?.owner === owner)
  }

  /** Returns the death guard for the processes of one server. */
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

  /** Called when a server has answered: wrapper programs have started it by now, and still run. */
  answered(): void {
    this.onChange?.()
  }

  async gone(): Promise<void> {
    if (this.#running.size === 0) return
    this.#gone ??= new Deferred()
    await this.#gone.promise
  }

  /** Ends processes that ended children left in other sessions. Never rejects. */
  async close(): Promise<void> {
    if (this.#guard === undefined) return
    // Clock timers do not keep the process alive.
    const hold = setInterval(() => undefined, 2 ** 30)
    await endMarked(this.mark, { table: processTable(), clock: systemClock, termMs: TERM_MS }).catch(
      () => undefined,
    )
    clearInterval(hold)
    this.#guard.close()
  }
}
