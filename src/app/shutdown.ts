import { closeSync, constants, openSync } from 'node:fs'
import { type Clock, systemClock } from '../kernel/async/clock.js'
import { within } from '../kernel/async/deadline.js'
import { Deferred } from '../kernel/async/deferred.js'
import { Fault, systemCode } from '../kernel/faults.js'
import type { Logger } from '../kernel/logger.js'

/** Signals that end the program, with the exit codes of shells. SIGBREAK is Ctrl-Break on Windows. */
export const SIGNAL_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143, SIGBREAK: 149 } as const

type Signal = keyof typeof SIGNAL_CODES

const SIGNALS = Object.keys(SIGNAL_CODES) as Signal[]

/** The exit code after an uncaught error, as in Node. */
const CRASHED = 1

/** Time limit for closing: hosts kill us after 5 s, and the death guard then ends the servers. */
const CLOSE_LIMIT_MS = 4500

/** Signals within this time count as one: a parent such as `npm` or `timeout` forwards a Ctrl-C. */
const ECHO_MS = 250

export interface ShutdownOptions {
  /** Waits for calls in flight with its own time limit. Never rejects. */
  readonly drain?: () => Promise<void>
  /** Closes all resources in order. Never rejects. */
  readonly close: () => Promise<void>
  readonly log: Logger
  /** True to keep running after an uncaught error, which must not affect other clients. */
  readonly isService?: boolean
  /** Handles SIGHUP. Returns false to shut down. */
  readonly onHangup?: () => boolean
  /**
   * Returns the exit code after a first signal. A second one ends the process at once with its
   * `SIGNAL_CODES`.
   */
  readonly codeOf: (signal: Signal) => number
  readonly exit?: (code: number) => void
  readonly clock?: Clock
}

export interface Shutdown {
  /** Resolves with the exit code after closing. */
  readonly ended: Promise<number>
  /** Starts the shutdown with this exit code, if not already started. */
  end(code: number): void
}

/** Shuts down on signals, errors and `end`. Keeps the process alive until then. */
export const createShutdown = (options: ShutdownOptions): Shutdown => {
  const { log, exit = (code: number) => process.exit(code), clock = systemClock } = options
  const ended = new Deferred<number>()
  const hold = setInterval(() => undefined, 2 ** 30)
  let code: number | undefined
  let received: { readonly signal: Signal; readonly atMs: number } | undefined
  const end = (wanted: number): void => {
    if (code !== undefined) return
    code = wanted
    void closeInTime(options, clock).then(() => {
      clearInterval(hold)
      ended.resolve(code ?? wanted)
    })
  }
  const onSignal = (signal: Signal): void => {
    const isEcho = received?.signal === signal && clock.nowMs() - received.atMs < ECHO_MS
    received = { signal, atMs: clock.nowMs() }
    if (code !== undefined) {
      if (!isEcho) exit(SIGNAL_CODES[signal])
      return
    }
    if (signal === 'SIGHUP' && options.onHangup?.() === true) return
    log.info({ signal }, 'closing')
    end(options.codeOf(signal))
  }
  const onError = (thrown: unknown): void => {
    const err = thrown instanceof Error ? thrown : Fault.from(thrown)
    if (options.isService === true) {
      log.error({ err }, 'uncaught error; continuing')
      return
    }
    log.error({ err }, 'uncaught error; closing')
    end(CRASHED)
    code = CRASHED
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  process.on('uncaughtException', onError)
  process.on('unhandledRejection', onError)
  const release = (): void => {
    for (const signal of SIGNALS) process.off(signal, onSignal)
    process.off('uncaughtException', onError)
    process.off('unhandledRejection', onError)
  }
  return { ended: ended.promise.finally(release), end }
}

const closeInTime = async ({ drain, close, log }: ShutdownOptions, clock: Clock): Promise<void> => {
  if (drain !== undefined) await drain()
  const closed = close().then(() => true)
  if ((await within(closed, { clock, ms: CLOSE_LIMIT_MS })) === undefined)
    log.warn({ limitMs: CLOSE_LIMIT_MS }, 'shutdown did not finish in time')
}

/** Errors of opening `/dev/tty` without a terminal, or after losing it (tty(4)). */
const GONE: ReadonlySet<string | undefined> = new Set([
  'ENXIO',
  'EIO',
  'ENODEV',
  'ENOTTY',
  'ENOENT',
  'EACCES',
])

/** Returns true if this process has a terminal, even if no file descriptor is left to open it. */
const hasTerminal = (): boolean => {
  try {
    closeSync(openSync('/dev/tty', constants.O_RDONLY | constants.O_NOCTTY))
    return true
  } catch (thrown) {
    return !GONE.has(systemCode(thrown))
  }
}

export interface Terminal {
  readonly isClosed: boolean
}

/** Distinguishes the SIGHUP of a closed terminal from a reload request to a daemon. */
export const watchTerminal = (isThere: () => boolean = hasTerminal): Terminal => {
  const wasThere = isThere()
  return {
    get isClosed() {
      return wasThere && !isThere()
    },
  }
}
