import { statSync } from 'node:fs'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import { whenPartIsLost } from '../../kernel/late-module.js'
import type { Logger } from '../../kernel/logger.js'
import { packageFile } from '../../machine/package-file.js'
import { watchIdle } from './idle-end.js'

/** How long nothing may be under way before a proxy whose files were replaced makes room. */
const QUIET_MS = 5000

const OWN_FILE = packageFile('dist/cli/main.cjs')

export interface OwnFilesOptions {
  /** One that every installation writes, if not that of this one. */
  readonly file?: URL | undefined
  /** Whether another proxy will take our place once we have left it. */
  readonly isStartedAgain: boolean
  readonly isQuiet: () => boolean
  /** Called once, if we are started again. */
  readonly handOver: () => void
  /** As `Welcome.refusal`: a call that misses a part carries it, and its shim makes it again. */
  readonly refusal: string
  readonly clock: Clock
  readonly log: Logger
}

/** Hands over when this installation was replaced since we were started. */
export const watchOwnFiles = (options: OwnFilesOptions): OwnFiles => {
  const { isStartedAgain, refusal } = options
  const ownFiles = new OwnFiles(options)
  whenPartIsLost(() => (ownFiles.missed() && isStartedAgain ? { refusal } : undefined))
  return ownFiles
}

/**
 * Notices that what we have not loaded by now is gone, as after `npm i`. One that was only removed is nothing
 * to hand over to.
 */
export class OwnFiles {
  readonly #options: OwnFilesOptions
  readonly #file: URL
  readonly #mark: string | undefined
  #waiting: Timer | undefined
  #isDone = false

  constructor(options: OwnFilesOptions) {
    this.#options = options
    this.#file = options.file ?? OWN_FILE
    this.#mark = markOf(this.#file)
  }

  /** Hands over once all is quiet, if the files were replaced. */
  look(): void {
    if (this.#isDone || this.#waiting !== undefined || !this.#areReplaced) return
    const { clock, isQuiet } = this.#options
    const onIdle = (): void => this.#handOver()
    this.#waiting = watchIdle({ idleMs: QUIET_MS, isIdle: isQuiet, onIdle, clock })
  }

  /** Hands over at once, since a part is missed that another proxy has; false if no other would have it. */
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
    log.warn({ next }, 'mcp-proxy was installed anew since this proxy was started')
    if (isStartedAgain) handOver()
  }
}

const markOf = (file: URL): string | undefined => {
  const found = statSync(file, { throwIfNoEntry: false })
  return found && `${found.ino} ${found.mtimeMs} ${found.size}`
}
