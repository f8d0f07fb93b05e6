import type { KEYS, server, settings } from './schema.js'

/** Something in a value that does not fit; holds nothing of the value but the path to it. */
export interface Misfit {
  readonly path: readonly PropertyKey[]
  /** Whether the last member of `path` has a bad name, rather than a bad value. */
  readonly inName: boolean
  /** What kind of value was expected, if the kind was wrong. */
  readonly expected: string | undefined
  readonly message: string
  /** What to write instead, in one sentence. */
  readonly mend: string
}

/** A value with right types, or what does not fit. */
export type Checked<T> =
  | { readonly is: 'fine'; readonly value: T }
  | { readonly is: 'misfit'; readonly misfits: readonly Misfit[] }

/** A server's entry whose types are right. */
export type ServerValues = NonNullable<ReturnType<typeof server.safeParse>['data']>

/** The keys beside the servers, with right types. */
export type SettingsValues = NonNullable<ReturnType<typeof settings.safeParse>['data']>

/** The keys that each object of a file may have. */
export type Keys = Readonly<Record<keyof typeof KEYS, readonly string[]>>

/** PORT. Knows which keys there are, and checks what they hold; unknown ones are let through and dropped. */
export interface Checker {
  readonly keys: Keys
  /** Checks the types within a server's entry. */
  server(value: unknown): Checked<ServerValues>
  /** Checks the types of everything beside the servers. */
  settings(value: unknown): Checked<SettingsValues>
}
