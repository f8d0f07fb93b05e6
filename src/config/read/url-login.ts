import { bareRecord } from '../file/tree.js'
import type { UrlTransport } from '../types.js'

interface UrlLogin {
  /** The address without user and password. */
  readonly url: string
  readonly headers: UrlTransport['headers']
  readonly hasUrlLogin?: true
  /** Set if the headers have an `Authorization` too, which is kept. */
  readonly hasBoth?: boolean
}

/** Moves the user and password of an address into a header (Basic, RFC 7617). */
export const withUrlLogin = (url: string, headers: UrlTransport['headers']): UrlLogin => {
  const parsed = new URL(url)
  const { username, password } = parsed
  if (username === '' && password === '') return { url, headers }
  parsed.username = ''
  parsed.password = ''
  const rest = { url: parsed.href, hasUrlLogin: true } as const
  if (Object.keys(headers).some(name => name.toLowerCase() === 'authorization'))
    return { ...rest, headers, hasBoth: true }
  const login = Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')
  return { ...rest, headers: bareRecord([...Object.entries(headers), ['Authorization', `Basic ${login}`]]) }
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
