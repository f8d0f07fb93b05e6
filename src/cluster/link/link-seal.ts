import { hash } from 'node:crypto'
import type { Caller } from '../../kernel/caller.js'
import type { PassedHeaders } from '../../kernel/header-patterns.js'
import type { HttpHeaders } from '../../wire/http.js'
import type { KeyRing } from '../key-ring.js'

const WHO = 'mcp-proxy-who'
const MAC = 'mcp-proxy-mac'
const OURS = 'mcp-proxy-'

/** Headers passed on to the owner: those of the protocol, never credentials. */
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

/** Maximum reordering of requests from one replica; older numbers are refused. */
const WINDOW = 65_536
/** Maximum number of remembered senders; the one silent for longest is dropped first. */
const SENDERS_MAX = 1024

/**
 * Version of the link protocol. Each request carries the sender's version, and the response uses the older of
 * both. Version 1 lacks `UNSURE`.
 */
const LINK = 2

/** The signed parts of a request. */
interface Sent {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers: HttpHeaders
}

/** The caller and body of a request to sign. */
export interface Sender {
  readonly caller: Caller
  readonly body: Buffer
  /** Allows the recipient to take over the session first. */
  readonly adopts?: boolean
}

/** The verified data of a request. */
export interface Received {
  readonly caller: Caller
  readonly digest: string
  /** True if this replica may take over the session first. */
  readonly adopts: boolean
  /** The older link version of both sides. */
  readonly speaks: number
}

/** A caller, encoded for another replica. */
export interface CallerClaims {
  readonly p: string
  readonly s?: readonly string[]
  /** Absent if the credential does not expire. */
  readonly e?: number
  readonly w?: string
  readonly v?: string
  /** Hash of the token; `i` is set if an issuer created it. */
  readonly t?: string
  readonly i?: true
  /** Headers that servers get. */
  readonly h?: PassedHeaders
}

interface Claims extends CallerClaims {
  readonly from: string
  readonly to: string
  readonly n: number
  readonly digest: string
  readonly a?: true
  /** `LINK` of the sender; absent for 1. */
  readonly l?: number
}

export const sealContext = (caller: Caller): CallerClaims => {
  const { principal, scopes, endsMs, workspace, view, proof, headers } = caller
  return {
    p: principal,
    ...(scopes !== undefined && { s: [...scopes] }),
    ...(endsMs !== Number.POSITIVE_INFINITY && { e: endsMs }),
    ...(workspace !== undefined && { w: workspace }),
    ...(view !== undefined && { v: view }),
    ...(proof !== undefined && { t: proof.sha256 }),
    ...(proof?.isFromIssuer === true && { i: true }),
    ...(headers !== undefined && { h: headers }),
  }
}

/** Decodes a caller; `edge` is the replica that authenticated it. */
export const callerOf = ({ p, s, e, w, v, t, i, h }: CallerClaims, edge: string): Caller => ({
  principal: p,
  scopes: s && new Set(s),
  endsMs: e ?? Number.POSITIVE_INFINITY,
  proof: t === undefined ? undefined : { sha256: t, isFromIssuer: i === true },
  workspace: w,
  view: v,
  ...(h !== undefined && { headers: h }),
  edge,
})

/** Returns the headers to pass on. */
export const passedOf = (headers: HttpHeaders): Record<string, string> => {
  const passed: Record<string, string> = {}
  for (const name in headers) {
    const value = headers[name]
    if (value !== undefined && isPassed(name)) passed[name] = value
  }
  return passed
}

export const bodyDigestOf = (body: Buffer): string => hash('sha256', body, 'base64url')

/**
 * Signs requests between replicas: method, path, passed headers, caller, and the digest of the body. Each
 * carries a number that its recipient, one process, accepts once. No clock is involved.
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

  /** Returns the headers of a signed request to an instance. */
  sign(
    to: string,
    { method, target, headers }: Sent,
    { caller, body, adopts = false }: Sender,
  ): Record<string, string> {
    this.#last += 1
    const said: Claims = {
      ...{ from: this.#id, to, n: this.#last, digest: bodyDigestOf(body), ...sealContext(caller) },
      ...(adopts && { a: true }),
      ...(this.#speaks > 1 && { l: this.#speaks }),
    }
    const passed = passedOf(headers)
    passed[WHO] = Buffer.from(JSON.stringify(said)).toString('base64url')
    passed[MAC] = this.#ring.sign(textOf({ method, target, headers: passed })).toString('base64url')
    return passed
  }

  /** Verifies a request; `other` if it is for another instance, undefined if it is invalid or old. */
  receive(sent: Sent): Received | 'other' | undefined {
    const mac = Buffer.from(sent.headers[MAC] ?? '', 'base64url')
    if (!this.#ring.isSigned(textOf(sent), mac)) return undefined
    // Only replicas have the key, so the content is trusted.
    const said = JSON.parse(Buffer.from(sent.headers[WHO] ?? '', 'base64url').toString()) as Claims
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

/** Tracks which recent numbers of a sender were used (as in RFC 4303 §3.4.3). */
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

/** Joins the signed parts with line breaks, which no header value can contain. */
const textOf = ({ method, target, headers }: Sent): string => {
  const lines = [method, target]
  for (const name of Object.keys(headers).sort())
    if (name === WHO || isPassed(name)) lines.push(`${name}: ${headers[name] ?? ''}`)
  return lines.join('\n')
}
