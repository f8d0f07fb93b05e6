import { isUnencrypted } from '../../kernel/loopback.js'
import { parseSetCookie } from './undici-parts.js'

/** Maximum cookies of a connection; the oldest is dropped. Each has at most 4 KiB (RFC 6265 §6.1). */
const COOKIES_MAX = 50
/** Maximum size of all cookies of a connection, which servers get with each request. */
const BYTES_MAX = 16 * 1024

interface Cookie {
  readonly name: string
  readonly value: string
  readonly origin: string
  readonly path: string
  readonly expiresMs: number
}

/**
 * The cookies of one connection to a server, as sticky load balancers set them. Each goes back to the origin
 * that set it, and to no other host of its domain. Nothing is persisted.
 */
export class CookieJar {
  readonly #nowMs: () => number
  /** By origin, path and name; the oldest first. */
  readonly #cookies = new Map<string, Cookie>()
  #bytes = 0

  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs
  }

  /** Keeps the cookies of a response (RFC 6265 §5.3). */
  store(url: string, headers: string | readonly string[]): void {
    const { hostname, origin, pathname } = new URL(url)
    for (const header of [headers].flat()) {
      const parsed = parseSetCookie(header)
      if (parsed === null || parsed.name === '' || !isHostOf(parsed.domain, hostname)) continue
      if (parsed.secure === true && isUnencrypted(url)) continue
      const { name, value, path: given } = parsed
      const path = given?.startsWith('/') === true ? given : folderOf(pathname)
      // undici ignores a negative age, with which servers delete cookies.
      const isDeleted = /;\s*max-age\s*=\s*-\d/i.test(header)
      const expiresMs = isDeleted ? 0 : expiryOf(parsed, this.#nowMs())
      this.#put({ name, value, origin, path, expiresMs })
    }
  }

  /**
   * Returns the headers of a request with its cookies (RFC 6265 §5.4). They replace cookies of the same name
   * that the headers have already.
   */
  addTo(headers: Readonly<Record<string, string>>, url: string): Readonly<Record<string, string>> {
    if (this.#cookies.size === 0) return headers
    const { origin, pathname } = new URL(url)
    const now = this.#nowMs()
    const fitting = [...this.#cookies.values()]
      .filter(each => each.origin === origin && each.expiresMs > now && isBelow(pathname, each.path))
      .sort((one, other) => other.path.length - one.path.length)
    if (fitting.length === 0) return headers
    const names = new Set(fitting.map(({ name }) => name))
    const given = Object.entries(headers).filter(([name]) => name.toLowerCase() === 'cookie')
    const others = given
      .flatMap(([, value]) => value.split(/;\s*/))
      .filter(pair => pair !== '' && !names.has(pair.split('=')[0]?.trim() ?? ''))
    const rest = Object.fromEntries(
      Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'cookie'),
    )
    return {
      ...rest,
      cookie: [...others, ...fitting.map(({ name, value }) => `${name}=${value}`)].join('; '),
    }
  }

  #put(cookie: Cookie): void {
    const key = JSON.stringify([cookie.origin, cookie.path, cookie.name])
    this.#drop(key)
    if (cookie.expiresMs <= this.#nowMs()) return
    this.#cookies.set(key, cookie)
    this.#bytes += bytesOf(cookie)
    for (const oldest of this.#cookies.keys()) {
      if (this.#cookies.size <= COOKIES_MAX && this.#bytes <= BYTES_MAX) break
      this.#drop(oldest)
    }
  }

  #drop(key: string): void {
    const cookie = this.#cookies.get(key)
    if (cookie === undefined) return
    this.#cookies.delete(key)
    this.#bytes -= bytesOf(cookie)
  }
}

const bytesOf = ({ name, value, path }: Cookie): number => name.length + value.length + path.length

/** Reports whether a host may set cookies for a domain; the cookie stays at the host anyway. */
const isHostOf = (domain: string | undefined, host: string): boolean => {
  const wanted = domain?.toLowerCase().replace(/^\./, '') ?? ''
  return wanted === '' || host === wanted || host.endsWith(`.${wanted}`)
}

/** Returns the default path of a cookie (RFC 6265 §5.1.4). */
const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/')) || '/'

const isBelow = (path: string, folder: string): boolean =>
  path === folder || (path.startsWith(folder) && (folder.endsWith('/') || path[folder.length] === '/'))

interface Expiry {
  readonly maxAge?: number | undefined
  readonly expires?: Date | number | undefined
}

const expiryOf = ({ maxAge, expires }: Expiry, nowMs: number): number => {
  if (maxAge !== undefined) return nowMs + maxAge * 1000
  const at = expires === undefined ? Number.POSITIVE_INFINITY : Number(expires)
  return Number.isNaN(at) ? Number.POSITIVE_INFINITY : at
}
