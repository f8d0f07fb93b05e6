import { server, settings } from './schema.js'

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

type ServerResult = ReturnType<typeof server.safeParse>
type SettingsResult = ReturnType<typeof settings.safeParse>
type Issue = NonNullable<ServerResult['error']>['issues'][number]

/** A server's entry whose types are right. */
export type ServerValues = NonNullable<ServerResult['data']>

/** The keys beside the servers, with right types. */
export type SettingsValues = NonNullable<SettingsResult['data']>

const KINDS: Readonly<Partial<Record<string, string>>> = {
  array: 'a list',
  object: 'an object',
  record: 'an object',
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
}

const MESSAGES: Readonly<Partial<Record<Issue['code'], string>>> = {
  invalid_key: 'this name is not allowed here',
  invalid_format: 'this string does not have the right form',
  too_small: 'this value is too small',
  too_big: 'this value is too large',
}

// The only least length that the schema asks of a string is 1.
const isEmpty = (issue: Issue): boolean => issue.code === 'too_small' && issue.origin === 'string'

const misfit = (issue: Issue): Misfit => ({
  path: issue.path,
  inName: issue.code === 'invalid_key',
  expected: issue.code === 'invalid_type' ? KINDS[issue.expected] : undefined,
  message: isEmpty(issue) ? 'this is empty' : (MESSAGES[issue.code] ?? 'this value is not allowed here'),
  mend: issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message,
})

const checked = <T>(result: {
  data?: T | undefined
  error?: { issues: readonly Issue[] } | undefined
}): Checked<T> =>
  result.data === undefined
    ? { is: 'misfit', misfits: (result.error?.issues ?? []).map(misfit) }
    : { is: 'fine', value: result.data }

/** Checks the types within a server's entry; unknown keys are let through and dropped. */
export const checkServer = (value: unknown): Checked<ServerValues> => checked(server.safeParse(value))

/** Checks the types of everything beside the servers. */
export const checkSettings = (value: unknown): Checked<SettingsValues> => checked(settings.safeParse(value))
