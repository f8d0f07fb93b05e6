import type { IncomingMessage, ServerResponse } from 'node:http'

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
    // Cookies are the same for all ports of a host.
    this.#prefix = isSecure ? '__Host-mcp-proxy' : `mcp-proxy-${issuer.port}`
    this.#attributes = `; Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
    this.#request = request
    this.#response = response
  }

  /** The value of a cookie; of those of the sign-in in `path`, by default that of the request. */
  get(name: string, { path = this.#path }: CookieOptions = {}): string | undefined {
    const cookies = (this.#request.headers.cookie ?? '').split(/;\s*/).map(text => text.split('='))
    const [own, flows] = [this.#nameOf(name, ''), this.#nameOf(name, path)]
    return cookies.find(([key]) => key === flows)?.[1] ?? cookies.find(([key]) => key === own)?.[1]
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
    return `${this.#prefix}-${name}${flowOf(path)}`
  }
}
