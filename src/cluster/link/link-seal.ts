import { hash } from 'node:crypto'
import type { Caller } from '../../kernel/caller.js'
import type { HttpHeaders } from '../../wire/http.js'
import type { KeyRing } from '../key-ring.js'

const WHO = 'mcp-proxy-who'
const MAC = 'mcp-proxy-mac'
const OURS = 'mcp-proxy-'

/** Headers that go on to the owner: what the protocol reads, never a credential. */
const PASSED: ReadonlySet<string> = new Set([
  'accept',
  'content-type',
  'last-event-id',
  'traceparent',
  'tracestate',
  'baggage',
])

const isPassed = (name: string): boolean =>
  PASSED.has(name) || (name.startsWith('mcp-') && !name.startsWith(OURS))

/** So many requests of one replica may overtake each other; what is later than that is refused. */
const WINDOW = 65_536
/** Replicas whose requests are remembered; the one that was silent longest is forgotten first. */
const SENDERS_MAX = 1024

/**
 * The version of what replicas say to each other. Each says its own with all that it sends, and is answered
 * in that of the older one: 1 knows no `UNSURE`.
 */
const LINK = 2

/** What is sent, as far as it is signed. */
interface Sent {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers: HttpHeaders
}

/** Who sends a request, and its body. */
export interface Sender {
  readonly caller: Caller
  readonly body: Buffer
  /** Whether the other replica may take over the session first. */
  readonly adopts?: boolean
}

/** Who sends a request, through which replica, and which body is its own. */
export interface Received {
  readonly caller: Caller
  readonly digest: string
  /** Whether it may take over the session first. */
  readonly adopts: boolean
  /** The version of the link in which both understand each other. */
  readonly speaks: number
}

/** A caller on its way to another replica. */
export interface CallerWords {
  readonly p: string
  readonly s?: readonly string[]
  /** Absent if the credential does not end. */
  readonly e?: number
  readonly w?: string
  readonly v?: string
  /** The proof: the hash of the token, and whether an issuer gave it out. */
  readonly t?: string
  readonly i?: true
}

interface Said extends CallerWords {
  readonly from: string
  readonly to: string
  readonly n: number
  readonly digest: string
  readonly a?: true
  /** `LINK` of the sender; absent for 1. */
  readonly l?: number
}

export const wordsOf = ({ principal, scopes, endsMs, workspace, view, proof }: Caller): CallerWords => ({
  p: principal,
  ...(scopes !== undefined && { s: [...scopes] }),
  ...(endsMs !== Number.POSITIVE_INFINITY && { e: endsMs }),
  ...(workspace !== undefined && { w: workspace }),
  ...(view !== undefined && { v: view }),
  ...(proof !== undefined && { t: proof.sha256 }),
  ...(proof?.isFromIssuer === true && { i: true }),
})

/** `edge` is the replica that says so. */
export const callerOf = ({ p, s, e, w, v, t, i }: CallerWords, edge: string): Caller => ({
  principal: p,
  scopes: s && new Set(s),
  endsMs: e ?? Number.POSITIVE_INFINITY,
  proof: t === undefined ? undefined : { sha256: t, isFromIssuer: i === true },
  workspace: w,
  view: v,
  edge,
})

/** The headers that go on. */
export const passedOf = (headers: HttpHeaders): Record<string, string> => {
  const passed: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined && isPassed(name)) passed[name] = value
  }
  return passed
}

export const digestOf = (body: Buffer): string => hash('sha256', body, 'base64url')

/**
 * Signs what goes from one replica to another: method, path, the headers that are passed, who sends it, and
 * the digest of the body. Each has a number, which its receiver takes once; it is for that one process, so
 * that no clock is needed.
 */
export class LinkSeal {
  readonly #ring: KeyRing
  readonly #id: string
  readonly #speaks: number
  readonly #taken = new Map<string, TakenNumbers>()
  #last = 0

  constructor(ring: KeyRing, id: string, speaks = LINK) {
    this.#ring = ring
    this.#id = id
    this.#speaks = speaks
  }

  /** The headers with which a request goes to an instance. */
  sign(
    to: string,
    { method, target, headers }: Sent,
    { caller, body, adopts = false }: Sender,
  ): Record<string, string> {
    this.#last += 1
    const said: Said = {
      ...{ from: this.#id, to, n: this.#last, digest: digestOf(body), ...wordsOf(caller) },
      ...(adopts && { a: true }),
      ...(this.#speaks > 1 && { l: this.#speaks }),
    }
    const passed = passedOf(headers)
    passed[WHO] = Buffer.from(JSON.stringify(said)).toString('base64url')
    passed[MAC] = this.#ring.sign(textOf({ method, target, headers: passed })).toString('base64url')
    return passed
  }

  /** Who sends a request; `other` if it is for another instance, undefined if no replica sends it now. */
  receive(sent: Sent): Received | 'other' | undefined {
    const mac = Buffer.from(sent.headers[MAC] ?? '', 'base64url')
    if (!this.#ring.isSigned(textOf(sent), mac)) return undefined
    // Whoever has the key is one of us.
    const said = JSON.parse(Buffer.from(sent.headers[WHO] ?? '', 'base64url').toString()) as Said
    if (said.to !== this.#id) return 'other'
    if (!this.#takes(said.from, said.n)) return undefined
    const speaks = Math.min(said.l ?? 1, this.#speaks)
    return { caller: callerOf(said, said.from), digest: said.digest, adopts: said.a === true, speaks }
  }

  #takes(from: string, n: number): boolean {
    const numbers = this.#taken.get(from) ?? new TakenNumbers()
    this.#taken.delete(from)
    this.#taken.set(from, numbers)
    const [oldest] = this.#taken.keys()
    if (this.#taken.size > SENDERS_MAX && oldest !== undefined) this.#taken.delete(oldest)
    return numbers.take(n)
  }
}

/** Which of the last numbers of a sender came already (as in RFC 4303 §3.4.3). */
export class TakenNumbers {
  readonly #bits = new Uint8Array(WINDOW / 8)
  #most = 0

  take(n: number): boolean {
    if (!Number.isSafeInteger(n) || n <= this.#most - WINDOW || n <= 0) return false
    if (n > this.#most + WINDOW) this.#bits.fill(0)
    else for (let at = this.#most + 1; at <= n; at += 1) this.#set(at, false)
    if (n <= this.#most && this.#has(n)) return false
    this.#most = Math.max(this.#most, n)
    this.#set(n, true)
    return true
  }

  #has(n: number): boolean {
    const at = n % WINDOW
    return ((this.#bits[at >> 3] ?? 0) & (1 << (at & 7))) !== 0
  }

  #set(n: number, isTaken: boolean): void {
    const at = n % WINDOW
    const bit = 1 << (at & 7)
    const byte = this.#bits[at >> 3] ?? 0
    this.#bits[at >> 3] = isTaken ? byte | bit : byte & ~bit
  }
}

/** No header holds a line break, so that nothing can be read as something else. */
const textOf = ({ method, target, headers }: Sent): string => {
  const lines = [method, target]
  for (const name of Object.keys(headers).sort())
    if (name === WHO || isPassed(name)) lines.push(`${name}: ${headers[name] ?? ''}`)
  return lines.join('\n')
}
