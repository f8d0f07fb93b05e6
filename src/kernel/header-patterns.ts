/** Values of headers that are passed on, by name in lower case. */
export type PassedHeaders = Readonly<Record<string, string>>

/** Maximum size of the headers of a request that are passed on; further ones are left out. */
const PASSED_BYTES = 8 * 1024

/** Returns a test for header names, in which `*` of a pattern is any text; all in lower case. */
export const headerMatcher = (patterns: readonly string[]): ((name: string) => boolean) => {
  const tests = patterns.map(nameTest)
  return name => tests.some(matches => matches(name))
}

/** A regular expression with several `.*` could take hours for the name of a hostile header. */
const nameTest = (pattern: string): ((name: string) => boolean) => {
  const [first = '', ...inner] = pattern.split('*')
  const last = inner.pop()
  if (last === undefined) return name => name === pattern
  return name => {
    if (!name.startsWith(first)) return false
    let end = first.length
    for (const part of inner) {
      const at = name.indexOf(part, end)
      if (at < 0) return false
      end = at + part.length
    }
    return name.length >= end + last.length && name.endsWith(last)
  }
}

/** Returns the headers whose names match; undefined if there are none. */
export const passedHeaders = (
  headers: Readonly<Record<string, string | readonly string[] | undefined>> | undefined,
  matches: (name: string) => boolean,
): PassedHeaders | undefined => {
  let passed: Record<string, string> | undefined
  let bytes = 0
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined || !matches(name)) continue
    const text = typeof value === 'string' ? value : value.join(', ')
    bytes += name.length + text.length
    if (bytes > PASSED_BYTES) break
    passed ??= {}
    passed[name] = text
  }
  return passed
}
