import { SIGNAL_CODES } from '../../app/shutdown.js'
import { shortPath } from '../output/output.js'
import { CliError } from '../verb.js'

type Signal = keyof typeof SIGNAL_CODES

const SIGNALS = Object.keys(SIGNAL_CODES) as Signal[]
const CODES: readonly number[] = Object.values(SIGNAL_CODES)

const ECHO_MS = 250

/** What a verb that writes several files does at Ctrl-C: it ends between two files, and names those written. */
export interface Interrupts {
  /** The exit code of a signal that has arrived. */
  readonly stopped: () => number | undefined
  /** Throws a CliError once a signal has arrived. */
  readonly check: () => void
  /** Notes that a file was written. */
  readonly wrote: (path: string) => void
}

/**
 * Does work whose steps `check` for signals; a second signal exits at once. Rejects as the work does; at a
 * signal, with a CliError that names the written files, and `again` as the command to repeat.
 */
export const interruptible = async <T>(
  again: string,
  work: (interrupts: Interrupts) => Promise<T>,
): Promise<T> => {
  const written = new Set<string>()
  let code: number | undefined
  let atMs = 0
  const onSignal = (signal: Signal): void => {
    // Programs that started us, such as npx, pass a Ctrl-C on: it arrives twice.
    if (code !== undefined && performance.now() - atMs > ECHO_MS) process.exit(code)
    code ??= SIGNAL_CODES[signal]
    atMs = performance.now()
  }
  const check = (): void => {
    if (code !== undefined) throw new CliError(code, 'stopped')
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  try {
    return await work({ stopped: () => code, check, wrote: path => written.add(shortPath(path)) })
  } catch (thrown) {
    if (!(thrown instanceof CliError) || !CODES.includes(thrown.code)) throw thrown
    const what = written.size === 0 ? 'nothing was written' : `written so far: ${[...written].join(', ')}`
    throw new CliError(thrown.code, `stopped; ${what}`, { mend: again })
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal)
  }
}
