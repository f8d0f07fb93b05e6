import { bareRecord, type TreeItem } from '../file/tree.js'
import type { UrlTransport } from '../types.js'
import type { ReadContext } from './entry.js'
import { expanded, expandedWhole } from './variables.js'

const VARIABLE = '\\$\\{[^}]*\\}'
const WITH_LOGIN = new RegExp(`^([a-z][a-z0-9+.-]*://)((?:${VARIABLE}|[^/?#])*)@(.*)$`, 'is')
const PARTS = new RegExp(`^((?:${VARIABLE}|[^:])*)(:?)(.*)$`, 's')

/**
 * Expands an address. A user or password from a variable may hold any characters; escaped ones stay as they
 * are.
 */
export const expandedAddress = (item: TreeItem, context: ReadContext): string => {
  const written = String(item.node.value)
  const [, scheme, login = '', rest = ''] = WITH_LOGIN.exec(written) ?? []
  if (scheme === undefined || !login.includes('${')) return expandedWhole(written, item, context)
  const [, user = '', colon = '', password = ''] = PARTS.exec(login) ?? []
  const [name, secret] = [user, password].map(part => escaped(expanded(part, item, context)))
  return `${scheme}${name}${colon}${secret}@${expandedWhole(rest, item, context)}`
}

const escaped = (text: string): string => text.replace(/[@/?#:\\[\]\s]/g, encodeURIComponent)

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
