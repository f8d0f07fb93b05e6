import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

const CODE_BYTES = 24
const CODE_MS = 60_000
/** Codes that nobody has used yet; the oldest goes. */
const CODES = 16
const SESSION_MS = 12 * 3_600_000

const COOKIE = 'mcp_proxy'

/** Lets pages in: a code, which `mcp-proxy ui` gets on the private socket, is exchanged for a cookie once. */
export class PageSessions {
  readonly #key: () => Uint8Array
  readonly #now: () => number
  readonly #codes = new Map<string, number>()

  /** `key` is that of the state folder, so that a cookie outlives the proxy. */
  constructor(key: () => Uint8Array, now: () => number = Date.now) {
    this.#key = key
    this.#now = now
  }

  newCode(): string {
    const code = randomBytes(CODE_BYTES).toString('base64url')
    this.#codes.set(code, this.#now() + CODE_MS)
    for (const old of this.#codes.keys()) if (this.#codes.size > CODES) this.#codes.delete(old)
    return code
  }

  /** The value of a cookie for a code that is good, which it is no more after this. */
  redeem(code: string): string | undefined {
    const endsMs = this.#codes.get(code)
    this.#codes.delete(code)
    if (endsMs === undefined || endsMs < this.#now()) return undefined
    const until = String(this.#now() + SESSION_MS)
    return `${until}.${this.#sign(until)}`
  }

  /** Whether a `Cookie` header holds a session of ours that has not ended. */
  isOpen(header: string | undefined): boolean {
    const value = header
      ?.split(';')
      .map(part => part.trim().split('='))
      .find(([name]) => name === COOKIE)?.[1]
    const [until = '', signature = ''] = value?.split('.') ?? []
    const [given, right] = [Buffer.from(signature), Buffer.from(this.#sign(until))]
    return given.length === right.length && timingSafeEqual(given, right) && Number(until) > this.#now()
  }

  #sign(until: string): string {
    return createHmac('sha256', this.#key()).update(`page session ${until}`).digest('base64url')
  }
}

/** The `Set-Cookie` header of a session. */
export const setCookie = (value: string, isSecure: boolean): string =>
  `${COOKIE}=${value}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${SESSION_MS / 1000}${isSecure ? '; Secure' : ''}`
