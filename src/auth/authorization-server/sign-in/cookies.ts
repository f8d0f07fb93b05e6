import type { IncomingMessage, ServerResponse } from 'node:http'
import { basePathOf } from '../../../kernel/base-url.js'
import { tokenHash } from '../../../kernel/secrets/personal-token.js'

/**
 * Returns the full name of a cookie at a base address. Browsers share cookies between all ports of a host,
 * with one cookie per name (RFC 6265 §8.5).
 */
export const cookieName = (base: URL, name: string): string => {
  if (base.protocol !== 'https:') return `mcp-proxy-${base.port}-${name}`
  // Browsers refuse a path other than / with the first prefix (RFC 6265bis §4.1.3.2).
  return `${basePathOf(base) === '' ? '__Host' : '__Secure'}-mcp-proxy-${name}`
}

/** Returns the path below which browsers send a cookie. */
export const cookiePath = (base: URL): string => basePathOf(base) || '/'

/** Returns the value of a cookie in a `Cookie` header. */
export const cookieIn = (header: string | undefined, name: string): string | undefined =>
  header
    ?.split(/;\s*/)
    .map(text => text.split('='))
    .find(([key]) => key === name)?.[1]

/** Cookie options of oidc-provider and this server. */
interface CookieOptions {
  readonly path?: string | undefined
  readonly maxAge?: number | undefined
}

/** Id of a sign-in at the end of a path. */
const FLOW = /\/([\w-]{16,})\/?$/

const flowOf = (path = ''): string | undefined => FLOW.exec(path)?.[1]

const FLOW_HASH_CHARS = 32

/**
 * Reports whether the session cookie identifies the user. Over http, browsers send it to programs on all
 * ports of the host, so users must prove their identity again.
 */
export const remembersUsers = (issuer: URL): boolean => issuer.protocol === 'https:'

/**
 * The cookies of the authorization server; replaces Koa's. oidc-provider separates the cookies of several
 * sign-ins by path, but names with the prefix `__Host-` do not allow a path (RFC 6265bis §4.1.3.2), so their
 * names contain a hash of the sign-in's id. The id itself is in no cookie: over http, other ports of the host
 * receive the cookies, but not the address of the page. `Secure` follows from the issuer, not from the
 * connection: a reverse proxy may terminate TLS.
 */
export class Cookies {
  /** Set by oidc-provider from the connection, and ignored. */
  secure: boolean | undefined
  readonly #prefix: string
  readonly #attributes: string
  readonly #request: IncomingMessage
  readonly #response: ServerResponse

  constructor(issuer: URL, request: IncomingMessage, response: ServerResponse) {
    this.#prefix = cookieName(issuer, '')
    const secure = issuer.protocol === 'https:' ? '; Secure' : ''
    this.#attributes = `; Path=${cookiePath(issuer)}; HttpOnly; SameSite=Lax${secure}`
    this.#request = request
    this.#response = response
  }

  /** Returns a cookie of the sign-in in `path` (by default the request's), or one for all sign-ins. */
  get(name: string, { path = this.#path }: CookieOptions = {}): string | undefined {
    const { cookie } = this.#request.headers
    const value = cookieIn(cookie, this.#nameOf(name, path)) ?? cookieIn(cookie, this.#nameOf(name, ''))
    const flow = flowOf(path)
    return flow !== undefined && value === tokenHash(flow) ? flow : value
  }

  /** Sets a cookie, or removes it without a value. */
  set(name: string, value: string | null | undefined, { path, maxAge }: CookieOptions = {}): void {
    const age = value ? maxAge && Math.floor(maxAge / 1000) : 0
    const kept = value && value === flowOf(path) ? tokenHash(value) : (value ?? '')
    const cookie = `${this.#nameOf(name, path)}=${kept}${this.#attributes}`
    this.#response.appendHeader('Set-Cookie', age === undefined ? cookie : `${cookie}; Max-Age=${age}`)
  }

  get #path(): string {
    return (this.#request.url ?? '').replace(/\?.*/s, '')
  }

  #nameOf(name: string, path: string | undefined): string {
    const flow = flowOf(path)
    return `${this.#prefix}${name}${flow === undefined ? '' : `.${tokenHash(flow).slice(0, FLOW_HASH_CHARS)}`}`
  }
}
