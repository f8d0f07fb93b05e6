import type { Logger } from '../../kernel/logger.js'
import { EXIT } from './verb.js'

/** A verb's result. */
export interface WorkOutcome {
  readonly code: number
  /** Prints the result; not called if a signal ended the work. */
  readonly show: () => void
}

export interface WorkEnding {
  /** Closes the resources of the work, after it or at a signal. Never rejects. */
  readonly close: () => Promise<void>
  readonly log: Logger
  /** Exit code of an earlier signal; nothing is awaited then. */
  readonly stopped?: number | undefined
}

/**
 * Runs work, shows its result and closes everything, at the latest at a signal. Resolves with the exit code
 * of the work or of the signal; rejects as the work does.
 */
export const untilSignal = async (
  { close, log, stopped }: WorkEnding,
  work: () => Promise<WorkOutcome>,
): Promise<number> => {
  const { createShutdown, SIGNAL_CODES } = await import('../../app/shutdown.js')
  let isOver = false
  const end = (): Promise<void> => {
    isOver = true
    return close()
  }
  const shutdown = createShutdown({ close: end, log, codeOf: signal => SIGNAL_CODES[signal] })
  if (stopped !== undefined) shutdown.end(stopped)
  let failure: { readonly thrown: unknown } | undefined
  const done = async (): Promise<number> => {
    try {
      const { code, show } = await work()
      if (!isOver) show()
      return code
    } catch (thrown) {
      failure = { thrown }
      return EXIT.failure
    }
  }
  void done().then(code => shutdown.end(code))
  const code = await shutdown.ended
  if (failure !== undefined && code === EXIT.failure) throw failure.thrown
  return code
}
