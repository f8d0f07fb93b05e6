import { closeSync, constants, openSync } from 'node:fs'
import { Deferred } from '../kernel/async/deferred.js'
import { Fault } from '../kernel/faults.js'
import type { Logger } from '../kernel/logger.js'

/** Signals that end us, with the code that shells give to a program that died of them. SIGBREAK is Ctrl-Break, on Windows only. */
export const SIGNAL_CODES = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143, SIGBREAK: 149 } as const

type Signal = keyof typeof SIGNAL_CODES

const SIGNALS = Object.keys(SIGNAL_CODES) as Signal[]

/** The exit code after an error that nobody foresaw, as Node has it. */
const CRASHED = 1

/** How long closing may take; the death guard ends what is left of the servers. Below the 5 s that hosts give us. */
const CLOSE_LIMIT_MS = 4500

/** One Ctrl-C comes twice where somebody passes it on who started us, such as `npm` and `timeout`. Nobody presses it again so soon. */
const ECHO_MS = 250

/** What is ended, and how. */
export interface ShutdownOptions {
  /** Waits for what is under way, within a time of its own; never rejects. */
  readonly drain?: () => Promise<void>
  /** Ends everything in order; never rejects. */
  readonly close: () => Promise<void>
  readonly log: Logger
  /**
   * Whether it goes on after an error that nobody caught. One of those that serve many does: the error came up in one event of one
   * connection, process or timer, and nobody else is to lose anything by it.
   */
  readonly isService?: boolean
  /** Takes a SIGHUP for something else than the end, and says whether it did. */
  readonly hungUp?: () => boolean
  /** The exit code after a first signal; a second signal ends the process at once with a code of its own. */
  readonly codeOf: (signal: Signal) => number
  readonly limitMs?: number
  /** Ends the process at once. */
  readonly exit?: (code: number) => void
  readonly nowMs?: () => number
}

/** The end of a program, prepared from its beginning. */
export interface Shutdown {
  /** Resolves with the exit code when something asked for the end and all is closed. */
  readonly ended: Promise<number>
  /** Ends in order, with this exit code unless the end has begun already. */
  end(code: number): void
}

/**
 * Ends the program in order on SIGINT, SIGTERM, SIGBREAK and, unless it means something else, SIGHUP, after errors that nobody caught
 * unless it is a service, and on `end`. Keeps the process alive until then: our timers do not, and a server that is being restarted
 * has nothing else that would.
 */
export const createShutdown = (options: ShutdownOptions): Shutdown => {
  const { log, exit = (code: number) => process.exit(code), nowMs = () => performance.now() } = options
  const ended = new Deferred<number>()
  const hold = setInterval(() => undefined, 2 ** 30)
  let code: number | undefined
  let heard: { readonly signal: Signal; readonly atMs: number } | undefined
  const end = (wanted: number): void => {
    if (code !== undefined) return
    code = wanted
    void closeWithin(options).then(() => {
      clearInterval(hold)
      ended.resolve(code ?? wanted)
    })
  }
  const onSignal = (signal: Signal): void => {
    const isEcho = heard?.signal === signal && nowMs() - heard.atMs < ECHO_MS
    heard = { signal, atMs: nowMs() }
    if (code !== undefined) {
      if (!isEcho) exit(SIGNAL_CODES[signal])
      return
    }
    if (signal === 'SIGHUP' && options.hungUp?.() === true) return
    log.info({ signal }, 'closing')
    end(options.codeOf(signal))
  }
  const onError = (thrown: unknown): void => {
    const err = thrown instanceof Error ? thrown : Fault.from(thrown)
    if (options.isService === true) {
      log.error({ err }, 'an error that nobody foresaw; going on')
      return
    }
    log.error({ err }, 'an error that nobody foresaw; closing')
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

const closeWithin = async (options: ShutdownOptions): Promise<void> => {
  const { drain, close, log, limitMs = CLOSE_LIMIT_MS } = options
  if (drain !== undefined) await drain()
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>(resolve => {
    timer = setTimeout(() => {
      log.warn({ limitMs }, 'not everything closed in time')
      resolve()
    }, limitMs)
  })
  await Promise.race([close(), limit])
  clearTimeout(timer)
}

/** The terminal that controls this process, if any (tty(4)). */
const CONTROLLING = '/dev/tty'

/** What opening it fails with where there is none, or none any more. */
const GONE: ReadonlySet<unknown> = new Set(['ENXIO', 'EIO', 'ENODEV', 'ENOTTY', 'ENOENT', 'EACCES'])

/** Whether this process has a terminal. One that cannot be opened for want of a file descriptor is there. */
const hasTerminal = (): boolean => {
  try {
    closeSync(openSync(CONTROLLING, constants.O_RDONLY | constants.O_NOCTTY))
    return true
  } catch (thrown) {
    return !(thrown instanceof Error && 'code' in thrown && GONE.has(thrown.code))
  }
}

/** What a hang-up means. */
export interface Terminal {
  /** Whether the terminal that we were started in was closed. */
  readonly isClosed: boolean
}

/**
 * Looks whether there is a terminal now, so that its end can be told from a SIGHUP that somebody sent: to a daemon that means to read
 * its configuration again, while whoever closes a terminal wants what runs in it to end.
 */
export const watchTerminal = (isThere: () => boolean = hasTerminal): Terminal => {
  const wasThere = isThere()
  return {
    get isClosed() {
      return wasThere && !isThere()
    },
  }
}
