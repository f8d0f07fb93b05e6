import type { Checked, Checker, Misfit } from './checker.js'
import { KEYS, server, settings } from './schema.js'

type ServerResult = ReturnType<typeof server.safeParse>
type Issue = NonNullable<ServerResult['error']>['issues'][number]

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

/** Checks with Zod, which knows what is wrong with everything that does not fit. */
export const CHECKER: Checker = {
  keys: KEYS,
  server: value => checked(server.safeParse(value)),
  settings: value => checked(settings.safeParse(value)),
}
