import { createHash } from 'node:crypto'
import { type ConfigDiff, changesOf, isNothing } from '../config/diff.js'
import { formatProblem } from '../config/file/problem.js'
import { type FileWatch, watchFile } from '../config/file/watch.js'
import { readConfigText } from '../config/load.js'
import { parseConfig } from '../config/parse.js'
import type { Environment, Loaded, Problem, ProxyConfig } from '../config/types.js'
import type { Clock } from '../kernel/async/clock.js'
import { Fault } from '../kernel/faults.js'
import type { Logger } from '../kernel/logger.js'

/** What came of a reload. Holds no secrets. */
export type ReloadResult =
  /** The proxy runs with what the file says, but for what needs a restart. */
  | ({ readonly result: 'ok'; readonly at: string } & ConfigDiff)
  /** The proxy runs with the configuration that it had before. */
  | { readonly result: 'refused'; readonly at: string; readonly problems: readonly string[] }

/** Where the configuration of a proxy comes from, and how it is. Holds no secrets. */
export interface ConfigStatus {
  /** Absolute. */
  readonly file: string
  /** Counts the configurations that the proxy has run with, from 1. */
  readonly generation: number
  /** Since when it runs with this one. */
  readonly loadedAt: string
  /** Undefined until the file was looked at again. */
  readonly lastReload: ReloadResult | undefined
}

/** What reloading is about. */
export interface ReloaderOptions {
  /** Absolute. */
  readonly file: string
  /** What the proxy was started with. */
  readonly loaded: Loaded
  readonly env: Environment
  /** Makes a good configuration that of the proxy. Throws a Fault if it cannot be, and nothing has happened then. */
  readonly apply: (config: ProxyConfig) => ConfigDiff
  /** Told why a configuration was not taken. */
  readonly refused?: (problems: readonly string[]) => void
  /** Told when it was said in the log what a configuration changes: it may change what is logged. */
  readonly adopted?: (config: ProxyConfig) => void
  readonly clock: Clock
  readonly log: Logger
}

/** More problems of one file are counted and not told one by one. */
const TOLD_MAX = 20

/**
 * Keeps a proxy at what its configuration file says: read, checked as a whole, and made the proxy's at once, or not at all. A
 * file that is bad in any way that it was not at the start changes nothing, and it is said what is wrong with it.
 */
export class Reloader {
  readonly #options: ReloaderOptions
  /** Errors that we know and run with: at the start a server that is wrong costs that server. */
  #knownErrors: ReadonlySet<string>
  /** The text that was read last, or why there was none. */
  #seen: string | undefined
  #generation = 1
  #loadedAt = now()
  #last: ReloadResult | undefined
  #watch: FileWatch | undefined
  #running: Promise<void> | undefined
  #wish: 'look' | 'reload' | undefined
  #isClosed = false

  constructor(options: ReloaderOptions) {
    this.#options = options
    this.#knownErrors = errorsOf(options.loaded.problems)
  }

  get status(): ConfigStatus {
    const { file } = this.#options
    return { file, generation: this.#generation, loadedAt: this.#loadedAt, lastReload: this.#last }
  }

  /** Watches the file from now on, and looks whether it has changed since it was read. */
  start(): void {
    const { clock, file, log } = this.#options
    this.#watch = watchFile(file, {
      clock,
      onChange: () => this.#want('look'),
      onTrouble: code =>
        log.warn(
          { file, code },
          'the configuration cannot be watched; it is looked at now and then, and on SIGHUP',
        ),
    })
    // Not before it is watched: what happened between the two would not be heard of.
    void this.#watch.ready.then(() => this.#want('look'))
  }

  /** Reads the file again, whether it has changed or not: variables may have. */
  reload(): void {
    this.#want('reload')
  }

  /** Nothing is applied from now on. */
  close(): void {
    this.#isClosed = true
    this.#watch?.close()
  }

  /** One reload at a time; what happens during one is followed by another. */
  #want(wish: 'look' | 'reload'): void {
    if (this.#isClosed) return
    if (this.#wish !== 'reload') this.#wish = wish
    this.#running ??= this.#run()
  }

  async #run(): Promise<void> {
    while (this.#wish !== undefined) {
      const wish = this.#wish
      this.#wish = undefined
      await this.#once(wish)
    }
    this.#running = undefined
  }

  async #once(wish: 'look' | 'reload'): Promise<void> {
    const { env, file, log } = this.#options
    try {
      const read = await readConfigText(file, true)
      const seen = 'text' in read ? digestOf(read.text) : read.unusable.problems.map(formatProblem).join()
      const isFirst = this.#seen === undefined
      if (this.#isClosed || (wish === 'look' && seen === this.#seen)) return
      const loaded = 'text' in read ? parseConfig(read.text, file, env) : read.unusable
      this.#take(loaded, isFirst && wish === 'look')
      this.#seen = seen
    } catch (thrown) {
      log.error({ file, err: thrown }, 'the configuration could not be reloaded; the old one stays')
      this.#isRefused([Fault.from(thrown).message])
    }
  }

  /** `isFirst`: the file was read a moment ago, at the start, and has probably not changed. */
  #take(loaded: Loaded, isFirst: boolean): void {
    const { file, log } = this.#options
    const refusal = this.#refusal(loaded)
    if (loaded.config === undefined || refusal.length > 0) {
      this.#refuse(refusal)
      return
    }
    let diff: ConfigDiff
    try {
      diff = this.#options.apply(loaded.config)
    } catch (thrown) {
      this.#refuse([Fault.from(thrown).message])
      return
    }
    const hasChanged = !isNothing(diff)
    const { needRestart } = diff
    if (isFirst && !hasChanged && needRestart.length === 0) return
    this.#knownErrors = errorsOf(loaded.problems)
    this.#last = { result: 'ok', at: now(), ...diff }
    if (hasChanged) {
      this.#generation += 1
      this.#loadedAt = this.#last.at
    }
    for (const problem of loaded.problems.slice(0, TOLD_MAX)) log.warn({}, formatProblem(problem))
    if (needRestart.length > 0) {
      log.warn({ file, needRestart }, 'some settings of the configuration hold only after a restart')
    }
    log.info({ file, generation: this.#generation, ...changesOf(diff) }, hasChanged ? CHANGED : UNCHANGED)
    this.#options.adopted?.(loaded.config)
  }

  /** Why a configuration is not taken; nothing if it is. */
  #refusal({ config, problems }: Loaded): readonly string[] {
    const errors = problems.filter(({ severity }) => severity === 'error')
    const isKnown = (problem: Problem): boolean => this.#knownErrors.has(errorOf(problem))
    if (config === undefined || !errors.every(isKnown)) return errors.map(formatProblem)
    if (config.servers.length > 0) return []
    return [`${this.#options.file}: error: no server would be left. Add one, or end the proxy.`]
  }

  #refuse(problems: readonly string[]): void {
    const { file, log } = this.#options
    const shown = problems.slice(0, TOLD_MAX)
    for (const words of shown) log.error({}, words)
    log.error({ file, problems: problems.length }, 'the configuration was not reloaded; the old one stays')
    this.#isRefused(shown)
  }

  #isRefused(problems: readonly string[]): void {
    this.#last = { result: 'refused', at: now(), problems }
    this.#options.refused?.(problems)
  }
}

const CHANGED = 'the configuration was reloaded'
const UNCHANGED = 'the configuration was read again, and nothing has changed'

/** For people: the wall clock. */
const now = (): string => new Date().toISOString()

const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64')

/** An error wherever it stands: lines move. */
const errorOf = ({ key, message }: Problem): string => `${key}\0${message}`

const errorsOf = (problems: readonly Problem[]): ReadonlySet<string> =>
  new Set(problems.filter(({ severity }) => severity === 'error').map(errorOf))
