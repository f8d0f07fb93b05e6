/** A filter: words, and conditions such as `is:failed` and `server:github`. */
export interface Query {
  readonly words: readonly string[]
  readonly is: ReadonlySet<string>
  readonly server: string | undefined
}

const CONDITION = /^(is|server):(.+)$/

const tokensIn = (text: string): readonly string[] => text.split(/\s+/).filter(Boolean)

export const parseQuery = (text: string): Query => {
  const tokens = tokensIn(text).map(token => ({ token, condition: CONDITION.exec(token) }))
  const values = (key: string) =>
    tokens.flatMap(({ condition }) => (condition?.[1] === key ? (condition[2] ?? '') : []))
  return {
    words: tokens.flatMap(({ token, condition }) => (condition === null ? token.toLowerCase() : [])),
    is: new Set(values('is')),
    server: values('server').at(-1),
  }
}

/** Returns the filter with a condition added, or without it if it is there. One server at most. */
export const withToggled = (text: string, condition: string): string => {
  const tokens = tokensIn(text)
  if (tokens.includes(condition)) return tokens.filter(token => token !== condition).join(' ')
  const isServer = condition.startsWith('server:')
  return [...tokens.filter(token => !isServer || !token.startsWith('server:')), condition].join(' ')
}

/** Returns the filter for the rows of a server. A condition cannot hold a space. */
export const serverFilter = (name: string): string => (/\s/.test(name) ? name : `server:${name}`)
