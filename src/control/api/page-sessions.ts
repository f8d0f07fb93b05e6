import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { cookieName, cookiePath } from '../../auth/authorization-server/sign-in/cookies.js'

const CODE_BYTES = 24
const CODE_MS = 60_000
/** Maximum unused codes; the oldest is dropped. */
const CODES = 16
const SESSION_MS = 12 * 3_600_000

/**
 * The two halves of a page's credential. Servers on other ports of the host receive the cookie. The page
 * keeps the secret in its tab, where only scripts of our origin can read it. Each half expires by itself: a
 * second tab replaces the cookie without ending the first session.
 */
interface PageCredential {
  readonly cookie: string
  readonly secret: string
}

type Half = keyof PageCredential

/** Exchanges single-use codes from `mcp-proxy ui` for page credentials. */
export class PageSessions {
  readonly #key: () => Uint8Array
  readonly #now: () => number
  readonly #codes = new Map<string, number>()

  /** `key` is the key of the state folder, which makes a session outlive the proxy. */
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

  /** Uses up a valid code and returns its credential. */
  redeem(code: string): PageCredential | undefined {
    const endsMs = this.#codes.get(code)
    this.#codes.delete(code)
    if (endsMs === undefined || endsMs < this.#now()) return undefined
    const until = String(this.#now() + SESSION_MS)
    const half = (name: Half) => `${until}.${this.#sign(name, until)}`
    return { cookie: half('cookie'), secret: half('secret') }
  }

  /** Returns true if both halves are signed by us and current. */
  isOpen({ cookie, secret }: { readonly [half in Half]?: string | undefined }): boolean {
    return this.#isGood('cookie', cookie) && this.#isGood('secret', secret)
  }

  /** Returns true for a current cookie of ours; enough for a page without scripts. */
  isOpenFor(cookie: string | undefined): boolean {
    return this.#isGood('cookie', cookie)
  }

  #isGood(half: Half, value = ''): boolean {
    const [until = '', signature = ''] = value.split('.')
    const [given, right] = [Buffer.from(signature), Buffer.from(this.#sign(half, until))]
    return given.length === right.length && timingSafeEqual(given, right) && Number(until) > this.#now()
  }

  #sign(half: Half, until: string): string {
    return createHmac('sha256', this.#key()).update(`page ${half} ${until}`).digest('base64url')
  }
}

/** Returns the name of the page's cookie at a base address. */
export const pageCookie = (origin: URL): string => cookieName(origin, 'page')

/** Returns the `Set-Cookie` header of a page session at a base address. */
export const setCookie = (value: string, base: URL): string => {
  const attributes = `HttpOnly; SameSite=Strict; Path=${cookiePath(base)}; Max-Age=${SESSION_MS / 1000}`
  return `${pageCookie(base)}=${value}; ${attributes}${base.protocol === 'https:' ? '; Secure' : ''}`
}
