import type { Clock, Timer } from '../../kernel/async/clock.js'
import type { RemoteFailure } from '../../kernel/faults.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import { isJsonType, mediaTypeOf } from '../../wire/http/headers.js'
import type { HttpHeaders, OutboundExchange } from '../../wire/http.js'
import type { RemoteReply } from './fetch-reply.js'
import type { BodyParts, StatedReason } from './reply.js'

/** The part of an error body that is read; it holds the reason, or a page that is not worth reading. */
const READ_BYTES = 4096
/** The part of a reason that is passed on; a Fault cuts its message at 1 KiB. */
const REASON_BYTES = 900
/** The time for the body of an error to arrive. */
export const REFUSAL_MS = 5000

/** An HTTP error of a server (status 400 or higher), with the beginning of its body. */
export interface HttpRefusal {
  readonly status: number
  /** Empty over HTTP/2. */
  readonly statusText: string
  readonly headers: HttpHeaders
  /** At most `READ_BYTES`, as the server wrote it: mask it before it leaves the proxy. */
  readonly text: string
}

/** Creates a refusal from the part of a body that was read. */
export const refusalOf = (
  { status, statusText, headers }: Omit<HttpRefusal, 'text'>,
  body: Buffer,
): HttpRefusal => ({ status, statusText, headers, text: body.toString('utf8', 0, READ_BYTES) })

/** Reads the beginning of an error body, for a limited time, and drops the rest. */
export class RefusalBody implements BodyParts {
  readonly #exchange: Pick<OutboundExchange, 'discard'>
  readonly #timer: Timer
  readonly #chunks: Buffer[] = []
  #bytes = 0
  #done: ((body: Buffer) => void) | undefined

  constructor(
    exchange: Pick<OutboundExchange, 'discard'>,
    clock: Pick<Clock, 'after'>,
    done: (body: Buffer) => void,
  ) {
    this.#exchange = exchange
    this.#done = done
    this.#timer = clock.after(REFUSAL_MS, () => this.#enough())
  }

  data(chunk: Buffer): void {
    if (this.#done === undefined) return
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes >= READ_BYTES) this.#enough()
  }

  /** A body that breaks off holds its reason all the same. */
  ended(): void {
    const done = this.#done
    const body = Buffer.concat(this.#chunks)
    this.drop()
    done?.(body)
  }

  drop(): void {
    this.#done = undefined
    this.#timer.cancel()
    this.#chunks.length = 0
  }

  #enough(): void {
    this.#exchange.discard()
    this.ended()
  }
}

/** Reads the refusal in a reply with an error status. Never rejects. */
export const readRefusal = (reply: RemoteReply, clock: Pick<Clock, 'after'>): Promise<HttpRefusal> =>
  new Promise(resolve => {
    reply.read(new RefusalBody(reply, clock, body => resolve(refusalOf(reply, body))))
  })

/** Returns whether a refusal asks for a login (RFC 9110 §11.6.1). */
export const hasChallenge = ({ headers }: HttpRefusal): boolean => headers['www-authenticate'] !== undefined

/**
 * Returns the reason that a refusal gives: the message of a JSON error, the title of a page, or plain text.
 * One line without secrets, of at most `REASON_BYTES`; undefined if the body holds none.
 */
export const reasonIn = (refusal: HttpRefusal): string | undefined => {
  // The login is the answer; such bodies may contain account names.
  if (refusal.status === 401 && hasChallenge(refusal)) return undefined
  const text = refusal.text.trim()
  const reason = isHtml(refusal) ? ofPage(text) : (ofJson(refusal) ?? text)
  // Masked before the spaces are joined: keys may span lines.
  const line = sanitizeLine(reason, REASON_BYTES).replaceAll(/\s+/g, ' ').trim()
  if (line === '') return undefined
  return remoteOf(refusal) === 'gateway' ? `${line} (${BY_GATEWAY})` : line
}

/** Returns whether a refusal is a page for people, which no MCP server sends on purpose. */
const isHtml = ({ headers, text }: HttpRefusal): boolean =>
  mediaTypeOf(headers['content-type']) === 'text/html' || /^\s*<[!a-z]/i.test(text)

/** Statuses of gateways: RFC 9110 §15.6, and those of Cloudflare. */
const GATEWAY_STATUS: ReadonlySet<number> = new Set([502, 504, 520, 521, 522, 523, 524, 525, 526, 527, 530])

/** Signs of reverse proxies, load balancers and CDNs in their pages and texts. */
const GATEWAY_SIGNS: readonly string[] = [
  ...['nginx', 'openresty', 'cloudflare', 'cloudfront', 'awselb', 'haproxy', 'varnish', 'envoy', 'traefik'],
  ...['bad gateway', 'gateway time', 'no healthy upstream', 'upstream connect', 'upstream request'],
  ...['no server is available', 'default backend', 'apache server at'],
]

/** Reasons of nginx, Kong and IIS for requests without an accepted client certificate. */
const CERTIFICATE_SIGNS: readonly string[] = [
  ...['no required ssl certificate', 'no required tls certificate', 'the ssl certificate error'],
  ...['client certificate required', 'client certificate is required'],
]

/** Returns whether a gateway in front of the server sent the refusal, because of its status or its page. */
const isGateway = (refusal: HttpRefusal): boolean => {
  const { status, text } = refusal
  if (text.includes('"jsonrpc"')) return false
  if (GATEWAY_STATUS.has(status)) return true
  const page = text.toLowerCase()
  return (status === 503 || isHtml(refusal)) && GATEWAY_SIGNS.some(sign => page.includes(sign))
}

const remoteOf = (refusal: HttpRefusal): RemoteFailure => {
  const text = refusal.text.toLowerCase()
  if (CERTIFICATE_SIGNS.some(sign => text.includes(sign))) return 'certificate'
  return isGateway(refusal) ? 'gateway' : 'reason'
}

/** Returns the reason of a refusal, and its form. */
export const statedIn = (refusal: HttpRefusal): StatedReason => {
  const reason = reasonIn(refusal)
  return { reason, remote: reason === undefined ? undefined : remoteOf(refusal) }
}

const BY_GATEWAY = 'a gateway answered instead of the server'

// ── JSON ──

/** Members that hold a reason, the most telling first (JSON-RPC §5.1, RFC 6749 §5.2, RFC 9457 §3.1). */
const REASONS = ['error_description', 'message', 'detail', 'error', 'msg', 'reason', 'title', 'errors']
/** Bounds the nesting of a reason, as in `{"error":{"data":{"message":…}}}`. */
const DEPTH_MAX = 4

const ofJson = ({ headers, text }: HttpRefusal): string | undefined => {
  const json = text.replace(/^(?:event:[^\n]*\n)?\s*data:\s?/, '').trim()
  if (!isJsonType(mediaTypeOf(headers['content-type'])) && !/^[[{]/.test(json)) return undefined
  try {
    return reasonOf(JSON.parse(json), DEPTH_MAX)
  } catch {
    return ofCutJson(json)
  }
}

const reasonOf = (value: unknown, depth: number): string | undefined => {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null || depth === 0) return undefined
  if (Array.isArray(value)) return reasonOf(value[0], depth - 1)
  const members = value as Readonly<Record<string, unknown>>
  for (const name of REASONS) {
    const reason = reasonOf(members[name], depth - 1)
    if (reason !== undefined && reason !== '') return withDetail(reason, members, depth)
  }
  return undefined
}

/** Adds the data of a JSON-RPC error, and the code of an OAuth error: they may be more precise. */
const withDetail = (
  reason: string,
  { code, data, error }: Readonly<Record<string, unknown>>,
  depth: number,
): string => {
  const detail = typeof code === 'number' ? reasonOf(data, depth - 1) : undefined
  const lead = [code, error].find(part => typeof part === 'string' && part !== reason)
  const whole = typeof lead === 'string' ? `${lead}: ${reason}` : reason
  return detail === undefined || whole.includes(detail) ? whole : `${whole}: ${detail}`
}

/** Finds the reason in JSON that was cut. */
const ofCutJson = (json: string): string | undefined => {
  const found = /"(?:error_description|message|detail|error)"\s*:\s*"((?:[^"\\]|\\.)*)/.exec(json)?.[1]
  if (found === undefined) return undefined
  try {
    return String(JSON.parse(`"${found}"`))
  } catch {
    return found
  }
}

// ── HTML ──

/** Titles of pages whose reason is in the body, as of Express. */
const EMPTY_TITLE = /^(?:error|)$/i

const ofPage = (html: string): string => {
  const title = unescaped(elementText(html, 'title') ?? '')
  if (!EMPTY_TITLE.test(title)) return title
  const heading = elementText(html, 'h1') ?? elementText(html, 'pre') ?? elementText(html, 'body')
  return unescaped(withoutTags(heading ?? html))
}

/** Returns the contents of the first element of this name; takes linear time. */
const elementText = (html: string, name: string): string | undefined => {
  const open = new RegExp(`<${name}\\b[^<>]*>`, 'i').exec(html)
  if (open === null) return undefined
  const rest = html.slice(open.index + open[0].length)
  const end = rest.search(new RegExp(`</${name}\\b`, 'i'))
  return end === -1 ? rest : rest.slice(0, end)
}

const withoutTags = (html: string): string => html.replaceAll(/<[^<>]*>/g, ' ')

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', nbsp: ' ' }

const unescaped = (html: string): string =>
  html
    .replaceAll(/&(?:#(\d{1,6})|(\w{2,5}));/g, (all, code: string | undefined, name: string | undefined) =>
      code === undefined
        ? (ENTITIES[name ?? ''] ?? all)
        : String.fromCodePoint(Math.min(Number(code), 0xff_ff)),
    )
    .trim()
