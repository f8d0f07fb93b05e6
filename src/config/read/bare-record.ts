/**
 * An object without prototype. Its keys come out of a file and are looked up by names that peers choose: neither
 * `__proto__` nor `constructor` may find anything that was not put there.
 */
export const bareRecord = <T>(entries: Iterable<readonly [string, T]>): Readonly<Record<string, T>> =>
  Object.assign(Object.create(null) as Record<string, T>, Object.fromEntries(entries))
