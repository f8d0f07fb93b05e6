import type { IncomingMessage, ServerResponse } from 'node:http'
import { tokenHash } from '../../../secrets/personal-token.js'

/**
 * The name of a cookie of ours at an origin. Browsers send a cookie to all ports of its host, and keep one of
 * each name (RFC 6265 §8.5).
 */
export const cookieName = ({ protocol, port }: URL, name: string): string =>
  protocol === 'https:' ? `__Host-mcp-proxy-${name}` : `mcp-proxy-${port}-${name}`

/** The value of a cookie in a `Cookie` header. */
export const cookieIn = (header: string | undefined, name: string): string | undefined =>
  header
    ?.split(/;\s*/)
    .map(text => text.split('='))
    .find(([key]) => key === name)?.[1]

/** What oidc-provider and we say of a cookie. */
interface CookieOptions {
  readonly path?: string | undefined
  readonly maxAge?: number | undefined
}

/** The id of a sign-in at the end of a path. */
const FLOW = /\/([\w-]{16,})\/?$/

const flowOf = (path = ''): string | undefined => FLOW.exec(path)?.[1]

const FLOW_HASH_CHARS = 32

/**
 * Whether the cookie of a session identifies its user. Over http, browsers send it to the programs behind
 * all ports of the host, so users prove again who they are.
 */
export const remembersUsers = (issuer: URL): boolean => issuer.protocol === 'https:'

/**
 * The cookies of the authorization server, replacing Koa's. oidc-provider separates the cookies of several
 * sign-ins by path, which names with the prefix `__Host-` do not allow (RFC 6265bis §4.1.3.2): ours carry a
 * hash of the sign-in's id in their name. The id itself is in no cookie: over http, other ports of the host
 * receive the cookies, but not the address of the page. `Secure` follows from our issuer, not from the
 * connection: TLS may end before us (AX-11).
 */
export class Cookies {
  /** Set by oidc-provider, which believes the connection. */
  secure: boolean | undefined
  readonly #prefix: string
  readonly #attributes: string
  readonly #request: IncomingMessage
  readonly #response: ServerResponse

  constructor(issuer: URL, request: IncomingMessage, response: ServerResponse) {
    const isSecure = issuer.protocol === 'https:'
    this.#prefix = cookieName(issuer, '')
    this.#attributes = `; Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
    this.#request = request
    this.#response = response
  }

  /** The value of a cookie of the sign-in in `path` (by default that of the request), or of all sign-ins. */
  get(name: string, { path = this.#path }: CookieOptions = {}): string | undefined {
    const { cookie } = this.#request.headers
    const value = cookieIn(cookie, this.#nameOf(name, path)) ?? cookieIn(cookie, this.#nameOf(name, ''))
    const flow = flowOf(path)
    return flow !== undefined && value === tokenHash(flow) ? flow : value
  }

  /** Sets a cookie, or removes it if there is no value. */
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
