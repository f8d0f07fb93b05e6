import type { IncomingMessage, ServerResponse } from 'node:http'

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

const flowOf = (path = ''): string => {
  const flow = FLOW.exec(path)?.[1]
  return flow === undefined ? '' : `.${flow}`
}

/**
 * The cookies of the authorization server, in place of Koa's. oidc-provider tells those of several sign-ins
 * apart by their path, which a name that begins with `__Host-` rules out (RFC 6265bis §4.1.3.2): ours have
 * the id of the sign-in in their name. Whether they are `Secure` follows from our issuer, not from the
 * connection: TLS may end before us (AX-11). Values are ids of ours.
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

  /** The value of a cookie; of those of the sign-in in `path`, by default that of the request. */
  get(name: string, { path = this.#path }: CookieOptions = {}): string | undefined {
    const { cookie } = this.#request.headers
    return cookieIn(cookie, this.#nameOf(name, path)) ?? cookieIn(cookie, this.#nameOf(name, ''))
  }

  /** Sets a cookie, or removes it if there is no value. */
  set(name: string, value: string | null | undefined, { path, maxAge }: CookieOptions = {}): void {
    const age = value ? maxAge && Math.floor(maxAge / 1000) : 0
    const cookie = `${this.#nameOf(name, path)}=${value ?? ''}${this.#attributes}`
    this.#response.appendHeader('Set-Cookie', age === undefined ? cookie : `${cookie}; Max-Age=${age}`)
  }

  get #path(): string {
    return (this.#request.url ?? '').replace(/\?.*/s, '')
  }

  #nameOf(name: string, path: string | undefined): string {
    return `${this.#prefix}${name}${flowOf(path)}`
  }
}
