import { closeSync, constants, openSync } from 'node:fs'
import { type Clock, systemClock } from '../kernel/async/clock.js'
import { within } from '../kernel/async/deadline.js'
import { Deferred } from '../kernel/async/deferred.js'
import { Fault, systemCode } from '../kernel/faults.js'
import type { Logger } from '../kernel/logger.js'

/** Signals that end us, with the exit codes that shells give them. SIGBREAK is Ctrl-Break on Windows. */
export const SIGNAL_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143, SIGBREAK: 149 } as const

type Signal = keyof typeof SIGNAL_CODES

const SIGNALS = Object.keys(SIGNAL_CODES) as Signal[]

/** The exit code after an uncaught error, as in Node. */
const CRASHED = 1

/** How long closing may take: hosts kill us after 5 s, and the death guard then ends the servers. */
const CLOSE_LIMIT_MS = 4500

/** Within this a signal counts as one: whoever started us, such as `npm` or `timeout`, passes a Ctrl-C on. */
const ECHO_MS = 250

export interface ShutdownOptions {
  /** Waits for calls in flight, within a time of its own; never rejects. */
  readonly drain?: () => Promise<void>
  /** Closes everything in order; never rejects. */
  readonly close: () => Promise<void>
  readonly log: Logger
  /** Whether to go on after an uncaught error, which must not cost other clients anything. */
  readonly isService?: boolean
  /** Handles SIGHUP; false if it means the end. */
  readonly onHangup?: () => boolean
  /** The exit code after a first signal; a second one ends the process at once, as `SIGNAL_CODES` says. */
  readonly codeOf: (signal: Signal) => number
  readonly exit?: (code: number) => void
  readonly clock?: Clock
}

export interface Shutdown {
  /** Resolves with the exit code once all is closed. */
  readonly ended: Promise<number>
  /** Begins the end, with this exit code, unless it has begun. */
  end(code: number): void
}

/** Ends the program in order on signals, errors and `end`; keeps the process alive until then. */
export const createShutdown = (options: ShutdownOptions): Shutdown => {
  const { log, exit = (code: number) => process.exit(code), clock = systemClock } = options
  const ended = new Deferred<number>()
  const hold = setInterval(() => undefined, 2 ** 30)
  let code: number | undefined
  let heard: { readonly signal: Signal; readonly atMs: number } | undefined
  const end = (wanted: number): void => {
    if (code !== undefined) return
    code = wanted
    void closeInTime(options, clock).then(() => {
      clearInterval(hold)
      ended.resolve(code ?? wanted)
    })
  }
  const onSignal = (signal: Signal): void => {
    const isEcho = heard?.signal === signal && clock.nowMs() - heard.atMs < ECHO_MS
    heard = { signal, atMs: clock.nowMs() }
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
      log.error({ err }, 'uncaught error; going on')
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
    log.warn({ limitMs: CLOSE_LIMIT_MS }, 'not everything closed in time')
}

/** What opening `/dev/tty` fails with if this process has no terminal, or lost it (tty(4)). */
const GONE: ReadonlySet<string | undefined> = new Set([
  'ENXIO',
  'EIO',
  'ENODEV',
  'ENOTTY',
  'ENOENT',
  'EACCES',
])

/** Whether this process has a terminal; one that cannot be opened for want of a file descriptor is there. */
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

/** Tells a SIGHUP for a closed terminal from one that asks a daemon to reload. */
export const watchTerminal = (isThere: () => boolean = hasTerminal): Terminal => {
  const wasThere = isThere()
  return {
    get isClosed() {
      return wasThere && !isThere()
    },
  }
}
