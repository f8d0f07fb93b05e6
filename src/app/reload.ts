import { createHash } from 'node:crypto'
import { type ConfigDiff, changesOf, isNothing, withoutRemovedUsers } from '../config/diff.js'
import { formatProblem } from '../config/file/problem.js'
import { FileWatch } from '../config/file/watch.js'
import { readConfigText } from '../config/load.js'
import { filesOf } from '../config/parse.js'
import type { Loaded, Problem, ProxyConfig } from '../config/types.js'
import type { Clock } from '../kernel/async/clock.js'
import { Fault } from '../kernel/faults.js'
import type { Logger } from '../kernel/logger.js'
import type { ConfigStatus, ProblemCounts, ReloadResult } from '../telemetry/status/config-status.js'

export interface ReloaderOptions {
  readonly file: string
  readonly loaded: Loaded
  /** Like `parseConfig`, with the current variables. */
  readonly parse: (text: string) => Loaded | Promise<Loaded>
  /** Applies a valid configuration to the proxy, or throws a Fault and changes nothing. */
  readonly apply: (config: ProxyConfig) => ConfigDiff
  readonly onRefused?: (problems: readonly string[]) => void
  /** Called after a configuration was applied and logged. May change the log. */
  readonly onReloaded?: (config: ProxyConfig) => void
  readonly clock: Clock
  readonly log: Logger
}

const PROBLEMS_MAX = 20
/** Maximum watched files in addition to the configuration. */
const FOLLOWED_MAX = 64

/** Reloads a changed configuration file as a whole, or rejects it if it has new errors. */
export class Reloader {
  readonly #options: ReloaderOptions
  /** Errors of the active configuration: at the start, an invalid entry disables only its server. */
  #knownErrors: ReadonlySet<string>
  /** A digest of the text that was read last, or the read error. */
  #seen: string | undefined
  /** The configuration that was applied last. */
  #active: ProxyConfig | undefined
  #found: readonly Problem[]
  #disabled: readonly string[]
  #generation = 1
  #loadedAt = now()
  #last: ReloadResult | undefined
  #watch: FileWatch | undefined
  /** Watches of the files that the configuration refers to. */
  readonly #followed = new Map<string, FileWatch>()
  #running: Promise<void> | undefined
  #pending: 'check' | 'reload' | undefined
  #isClosed = false

  constructor(options: ReloaderOptions) {
    this.#options = options
    this.#knownErrors = errorsOf(options.loaded.problems)
    this.#active = options.loaded.config
    this.#found = options.loaded.problems
    this.#disabled = switchedOff(options.loaded)
  }

  /** Returns the problems found when the file was last read. */
  get problems(): readonly Problem[] {
    return this.#found
  }

  get status(): ConfigStatus {
    const { file } = this.#options
    return {
      file,
      generation: this.#generation,
      loadedAt: this.#loadedAt,
      lastReload: this.#last,
      problems: countsOf(this.#found),
      ...(this.#disabled.length > 0 && { disabled: this.#disabled }),
    }
  }

  /** Watches the file, and checks for changes since it was read. */
  start(): void {
    const { clock, file, log } = this.#options
    this.#watch = new FileWatch(file, {
      clock,
      onChange: () => this.#request('check'),
      onUnwatchable: code =>
        log.warn({ file, code }, 'cannot watch the configuration file; polling it instead'),
    })
    // Wait for the watch first, or a change in between would be missed.
    void this.#watch.ready.then(() => this.#request('check'))
  }

  /** Reloads the file even if it is unchanged, because variables may have new values. Resolves when done. */
  async reload(): Promise<void> {
    this.#request('reload')
    await this.#running
  }

  close(): void {
    this.#isClosed = true
    this.#watch?.close()
    this.#follow([])
  }

  /** Watches the files that the configuration refers to, such as files with rotated tokens. */
  #follow(files: readonly string[]): void {
    const { clock } = this.#options
    const wanted = new Set(files.slice(0, FOLLOWED_MAX))
    for (const [file, watch] of this.#followed) {
      if (wanted.has(file)) continue
      watch.close()
      this.#followed.delete(file)
    }
    for (const file of wanted) {
      if (this.#followed.has(file)) continue
      const onChange = (): void => this.#request('reload')
      // Files that cannot be watched are polled.
      this.#followed.set(file, new FileWatch(file, { clock, onChange, onUnwatchable: () => undefined }))
    }
  }

  /** Runs one reload at a time. A request during a reload runs after it. */
  #request(kind: 'check' | 'reload'): void {
    if (this.#isClosed) return
    if (this.#pending !== 'reload') this.#pending = kind
    this.#running ??= this.#run()
  }

  async #run(): Promise<void> {
    while (this.#pending !== undefined) {
      const kind = this.#pending
      this.#pending = undefined
      await this.#once(kind)
    }
    this.#running = undefined
  }

  async #once(kind: 'check' | 'reload'): Promise<void> {
    const { file, log, parse } = this.#options
    try {
      const read = await readConfigText(file, true)
      const seen = 'text' in read ? digestOf(read.text) : read.unusable.problems.map(formatProblem).join()
      const isFirst = this.#seen === undefined
      if (kind === 'check' && seen === this.#seen) return
      const loaded = 'text' in read ? await parse(read.text) : read.unusable
      if (this.#isClosed) return
      this.#follow(filesOf(loaded))
      this.#apply(loaded, isFirst && kind === 'check')
      this.#seen = seen
    } catch (thrown) {
      log.error(
        { file, err: thrown, doctor: 'D014' },
        'the configuration was not reloaded; the previous one stays active',
      )
      this.#refused([Fault.from(thrown).message])
    }
  }

  /** `isFirst`: the start has just read the file, which is probably unchanged. */
  #apply(loaded: Loaded, isFirst: boolean): void {
    const { file, log } = this.#options
    const reasons = this.#reasonsAgainst(loaded)
    this.#found = loaded.problems
    if (loaded.config === undefined || reasons.length > 0) {
      this.#refuse(reasons)
      this.#endRemovedUsers(loaded)
      return
    }
    let diff: ConfigDiff
    try {
      diff = this.#options.apply(loaded.config)
    } catch (thrown) {
      this.#refuse([Fault.from(thrown).message])
      return
    }
    this.#active = loaded.config
    const hasChanged = !isNothing(diff)
    const { needRestart } = diff
    this.#disabled = switchedOff(loaded)
    if (isFirst && !hasChanged && needRestart.length === 0) return
    this.#knownErrors = errorsOf(loaded.problems)
    this.#last = { result: 'ok', at: now(), ...diff }
    if (hasChanged) {
      this.#generation += 1
      this.#loadedAt = this.#last.at
    }
    for (const problem of loaded.problems.slice(0, PROBLEMS_MAX)) log.warn({}, formatProblem(problem))
    if (needRestart.length > 0) {
      log.warn(
        { file, needRestart, doctor: 'D015' },
        'some settings of the configuration take effect only after a restart',
      )
    }
    log.info(
      { file, generation: this.#generation, ...changesOf(diff) },
      hasChanged ? 'the configuration was reloaded' : 'the configuration was reloaded; nothing has changed',
    )
    this.#options.onReloaded?.(loaded.config)
  }

  /** An error elsewhere in the file must not keep the access of users and tokens that it no longer has. */
  #endRemovedUsers({ config, auth: other }: Loaded): void {
    const { apply, file, log } = this.#options
    const refused = config?.auth ?? other
    if (refused === undefined || this.#active === undefined) return
    const next = withoutRemovedUsers(this.#active, refused)
    if (next === undefined) return
    apply(next)
    this.#active = next
    log.warn({ file }, 'ended the access of users, tokens and scopes that the rejected configuration lacks')
  }

  /** Returns the reasons to reject a configuration. */
  #reasonsAgainst({ config, problems }: Loaded): readonly string[] {
    const errors = problems.filter(({ severity }) => severity === 'error')
    const isKnown = (problem: Problem): boolean => this.#knownErrors.has(errorOf(problem))
    return config === undefined || !errors.every(isKnown) ? errors.map(formatProblem) : []
  }

  #refuse(problems: readonly string[]): void {
    const { file, log } = this.#options
    const shown = problems.slice(0, PROBLEMS_MAX)
    for (const message of shown) log.error({}, message)
    log.error(
      { file, problems: problems.length, doctor: 'D014' },
      'the configuration was not reloaded; the previous one stays active',
    )
    this.#refused(shown)
  }

  #refused(problems: readonly string[]): void {
    this.#last = { result: 'refused', at: now(), problems }
    this.#options.onRefused?.(problems)
  }
}

const now = (): string => new Date().toISOString()

const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64')

/** Identifies an error without its line, which can move. */
const errorOf = ({ key, message }: Problem): string => `${key}\0${message}`

const switchedOff = ({ disabled }: Loaded): readonly string[] =>
  disabled.flatMap(({ name, why }) => (why === 'disabled' ? [name] : []))

const countsOf = (problems: readonly Problem[]): ProblemCounts => {
  const errors = problems.filter(({ severity }) => severity === 'error')
  const counts = { errors: errors.length, warnings: problems.length - errors.length }
  const wrong = errors.slice(0, PROBLEMS_MAX).map(formatProblem)
  return wrong.length === 0 ? counts : { ...counts, wrong }
}

const errorsOf = (problems: readonly Problem[]): ReadonlySet<string> =>
  new Set(problems.filter(({ severity }) => severity === 'error').map(errorOf))
