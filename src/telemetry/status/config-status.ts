import type { ConfigDiff } from '../../config/diff.js'

/** The result of a reload. Holds no secrets. */
export type ReloadResult =
  /** The new configuration is active, except for settings that need a restart. */
  | ({ readonly result: 'ok'; readonly at: string } & ConfigDiff)
  | { readonly result: 'refused'; readonly at: string; readonly problems: readonly string[] }

export interface ProblemCounts {
  readonly errors: number
  readonly warnings: number
  /** At most 20 errors with their places, each of which may disable a server. Absent without errors. */
  readonly wrong?: readonly string[]
}

/** The state of the configuration in `/status`. Holds no secrets. */
export interface ConfigStatus {
  readonly file: string
  /** The number of configurations since the start. */
  readonly generation: number
  readonly loadedAt: string
  /** Undefined before the first reload. */
  readonly lastReload: ReloadResult | undefined
  /** The numbers of problems in the file when it was last read. */
  readonly problems: ProblemCounts
  /** The servers that the file disables. Absent if none. */
  readonly disabled?: readonly string[]
}
