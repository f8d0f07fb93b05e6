import { statSync } from 'node:fs'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import { whenPartIsLost } from '../../kernel/late-module.js'
import type { Logger } from '../../kernel/logger.js'
import { packageFile } from '../../kernel/machine/package-file.js'
import { watchIdle } from './idle-end.js'

/** Idle time before a proxy with replaced files hands over. */
const QUIET_MS = 5000

const OWN_FILE = packageFile('dist/cli/main.cjs')

export interface InstallWatchOptions {
  /** A file that every installation replaces. Defaults to a file of this installation. */
  readonly file?: URL | undefined
  /** True if another proxy starts after this one has ended. */
  readonly isStartedAgain: boolean
  readonly isQuiet: () => boolean
  /** Called once, if `isStartedAgain`. */
  readonly handOver: () => void
  /** See `Welcome.refusal`. A call that needs a missing file fails with it, and its shim repeats the call. */
  readonly refusal: string
  readonly clock: Clock
  readonly log: Logger
}

/** Hands over when this installation was replaced after the start. */
export const watchInstall = (options: InstallWatchOptions): InstallWatch => {
  const { isStartedAgain, refusal } = options
  const installWatch = new InstallWatch(options)
  whenPartIsLost(() => (installWatch.missed() && isStartedAgain ? { refusal } : undefined))
  return installWatch
}

/**
 * Detects replaced files, which can no longer be loaded, as after `npm i`. Ignores removed files: there is no
 * new version to hand over to.
 */
export class InstallWatch {
  readonly #options: InstallWatchOptions
  readonly #file: URL
  readonly #mark: string | undefined
  #waiting: Timer | undefined
  #isDone = false

  constructor(options: InstallWatchOptions) {
    this.#options = options
    this.#file = options.file ?? OWN_FILE
    this.#mark = markOf(this.#file)
  }

  /** Hands over once the proxy is idle, if the files were replaced. */
  look(): void {
    if (this.#isDone || this.#waiting !== undefined || !this.#areReplaced) return
    const { clock, isQuiet } = this.#options
    const onIdle = (): void => this.#handOver()
    this.#waiting = watchIdle({ idleMs: QUIET_MS, isIdle: isQuiet, onIdle, clock })
  }

  /** Hands over at once because a file could not be loaded. Returns false if the files were not replaced. */
  missed(): boolean {
    if (!this.#areReplaced) return false
    this.#handOver()
    return true
  }

  close(): void {
    this.#isDone = true
    this.#waiting?.cancel()
  }

  get #areReplaced(): boolean {
    const found = markOf(this.#file)
    return found !== undefined && found !== this.#mark
  }

  #handOver(): void {
    if (this.#isDone) return
    this.close()
    const { handOver, isStartedAgain, log } = this.#options
    const next = isStartedAgain ? 'the next proxy takes over' : 'start this proxy again'
    log.warn({ next }, 'mcp-proxy was reinstalled while this proxy was running')
    if (isStartedAgain) handOver()
  }
}

const markOf = (file: URL): string | undefined => {
  const found = statSync(file, { throwIfNoEntry: false })
  return found && `${found.ino} ${found.mtimeMs} ${found.size}`
}
