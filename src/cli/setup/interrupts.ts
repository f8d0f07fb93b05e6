import { SIGNAL_CODES } from '../../app/shutdown.js'
import { Deferred } from '../../kernel/async/deferred.js'
import { shortPath } from '../shared/output/output.js'
import { CliError } from '../shared/verb.js'

type Signal = keyof typeof SIGNAL_CODES

const SIGNALS = Object.keys(SIGNAL_CODES) as Signal[]
const CODES: readonly number[] = Object.values(SIGNAL_CODES)

const ECHO_MS = 250

/**
 * Handles signals for a verb that writes several files: stops it between two files and lists the written
 * ones.
 */
export interface Interrupts {
  /** Returns the exit code of a signal that arrived. */
  readonly stopped: () => number | undefined
  /** Throws a CliError after a signal. */
  readonly check: () => void
  /** Awaits `work` unless a signal arrives first. Rejects with a CliError at a signal. */
  readonly unlessStopped: <R>(work: Promise<R>) => Promise<R>
  /** Records a written file. */
  readonly wrote: (path: string) => void
}

/**
 * Runs work that calls `check` between its steps; a second signal exits at once. Rejects as the work does. At
 * a signal, rejects with a CliError that lists the written files and gives `again` as the command to repeat.
 */
export const interruptible = async <T>(
  again: string,
  work: (interrupts: Interrupts) => Promise<T>,
): Promise<T> => {
  const written = new Set<string>()
  let code: number | undefined
  let atMs = 0
  const stopped = new Deferred<never>()
  stopped.promise.catch(() => undefined)
  const onSignal = (signal: Signal): void => {
    // Parent programs such as npx forward Ctrl-C, so it arrives twice.
    if (code !== undefined && performance.now() - atMs > ECHO_MS) process.exit(code)
    code ??= SIGNAL_CODES[signal]
    atMs = performance.now()
    stopped.reject(new CliError(code, 'stopped'))
  }
  const check = (): void => {
    if (code !== undefined) throw new CliError(code, 'stopped')
  }
  const unlessStopped = async <R>(wanted: Promise<R>): Promise<R> =>
    await Promise.race([wanted, stopped.promise])
  for (const signal of SIGNALS) process.on(signal, onSignal)
  try {
    return await work({
      stopped: () => code,
      check,
      unlessStopped,
      wrote: path => written.add(shortPath(path)),
    })
  } catch (thrown) {
    if (!(thrown instanceof CliError) || !CODES.includes(thrown.code)) throw thrown
    const what = written.size === 0 ? 'nothing was written' : `written so far: ${[...written].join(', ')}`
    throw new CliError(thrown.code, `stopped; ${what}`, { fix: again })
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal)
  }
}
