import type { ConfigDiff } from '../config/diff.js'

/** The result of a reload. Holds no secrets. */
export type ReloadResult =
  /** The proxy runs with the new configuration, except for settings that need a restart. */
  | ({ readonly result: 'ok'; readonly at: string } & ConfigDiff)
  | { readonly result: 'refused'; readonly at: string; readonly problems: readonly string[] }

export interface ProblemCounts {
  readonly errors: number
  readonly warnings: number
  /** The errors, of which each may cost a server, with their places; at most 20, absent if there are none. */
  readonly wrong?: readonly string[]
}

/** The state of a proxy's configuration, as `/status` shows it. Holds no secrets. */
export interface ConfigStatus {
  readonly file: string
  /** How many configurations the proxy has run with. */
  readonly generation: number
  readonly loadedAt: string
  /** Undefined until the file was read again. */
  readonly lastReload: ReloadResult | undefined
  /** How many problems the file had when it was read last. */
  readonly problems: ProblemCounts
  /** The servers that the file switches off; absent if there are none. */
  readonly disabled?: readonly string[]
}
