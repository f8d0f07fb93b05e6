import { decimalOf } from '../kernel/json/canonical.js'
import { cut, trust } from '../kernel/json/cursor.js'
import {
  type JsonText,
  kindOf,
  memberOf,
  oneLine,
  smallInteger,
  stringOf,
  withoutMember,
  withoutOuter,
} from '../kernel/json/text.js'
import { type MessageParts, type OutgoingMessage, whole } from './message-parts.js'

/**
 * The params of progress, one character per byte (latin1), split around the token; and the progress value.
 */
interface ProgressText {
  readonly prefix: string
  readonly token: string
  readonly suffix: string
  readonly value: number | undefined
}

/** One JSON-RPC 2.0 message of any revision; its values stay unchanged text. */
export type Message =
  | {
      readonly kind: 'request'
      readonly id: JsonText
      readonly method: string
      readonly params: JsonText | undefined
      /** The `name` in its params, if they are known to hold only `name`, `arguments` and `_meta`. */
      readonly named?: string | undefined
      /** The `_meta` in its params; if this and `named` are undefined, it was not determined. */
      readonly meta?: JsonText | undefined
    }
  | {
      readonly kind: 'notification'
      readonly method: string
      readonly params: JsonText | undefined
      /** The parsed parts of progress in the usual spelling. */
      readonly progress?: ProgressText | undefined
    }
  | { readonly kind: 'result'; readonly id: JsonText; readonly result: JsonText }
  | { readonly kind: 'error'; readonly id: JsonText | undefined; readonly error: JsonText }

/** Returns the `_meta` in the params of a request or notification. */
export const metaOf = (message: Message): JsonText | undefined => {
  if (!('params' in message)) return undefined
  if (message.kind === 'request' && (message.named ?? message.meta) !== undefined) return message.meta
  return message.params && memberOf(message.params, '_meta')
}

/** Returns the params of a request without `_meta`. */
export const bareParams = ({ params, meta }: Message & { kind: 'request' }): JsonText | undefined =>
  params && ((meta && withoutOuter(params, '_meta', meta)) ?? withoutMember(params, '_meta'))

const META_KEY = Buffer.from(',"_meta":')
const CLOSE = Buffer.from('}')

/** Adds a `_meta` to non-empty params without one. */
export const withMeta = (params: JsonText, meta: JsonText): JsonText =>
  trust(Buffer.concat([params.subarray(0, -1), META_KEY, meta, CLOSE]))

const HEAD_WITH_ID = '{"jsonrpc":"2.0","id":'

/** Encodes a request under an id of ours, on one line without newline. */
export const encodeRequest = (id: number | string, method: string, params: JsonText | undefined): Buffer =>
  whole(frameRequest(id, method, params))

/** Encodes the same without copying the params, for callers that send pieces. */
export const frameRequest = (
  id: number | string,
  method: string,
  params: JsonText | undefined,
): OutgoingMessage => frameAsk(`${HEAD_WITH_ID}${JSON.stringify(id)},"method":${quoted(method)}`, params)

export const encodeNotification = (method: string, params: JsonText | undefined): Buffer =>
  whole(frameAsk(`{"jsonrpc":"2.0","method":${quoted(method)}`, params))

/** Encodes the answer to the request with this `id`, on one line without newline. */
export const encodeResult = (id: JsonText, result: JsonText): Buffer => whole(frameResult(id, result))

/** Encodes the same without copying the result, for callers that send pieces. */
export const frameResult = (id: JsonText, result: JsonText): MessageParts => ({
  head: `${HEAD_WITH_ID}${id.toString('latin1')},"result":`,
  body: oneLine(result),
  tail: '}',
})

const RESULT_HEAD = /^\{"jsonrpc":"2\.0","id":(-?\d{1,15}|"[^"\\]{0,64}"),"result":/
const RESULT_HEAD_BYTES = 128

/**
 * Parses a line of `encodeResult` without validating the result; only for trusted writers. Undefined if the
 * line starts differently.
 */
export const writtenResult = (line: Buffer): (Message & { kind: 'result' }) | undefined => {
  const [head, id] = RESULT_HEAD.exec(line.toString('latin1', 0, RESULT_HEAD_BYTES)) ?? []
  if (head === undefined || id === undefined) return undefined
  const text = trust(line)
  return {
    kind: 'result',
    id: cut(text, HEAD_WITH_ID.length, HEAD_WITH_ID.length + id.length),
    result: cut(text, head.length, line.length - 1),
  }
}

/** Encodes an error, on one line without newline; without an id if the request's was unreadable. */
export function encodeError(id: JsonText | undefined, error: JsonText): Buffer {
  const start = id === undefined ? '{"jsonrpc":"2.0"' : HEAD_WITH_ID + id.toString('latin1')
  return whole({ head: `${start},"error":`, body: oneLine(error), tail: '}' })
}

/** Quotes a method in latin1; most need no escapes. */
const quoted = (method: string): string =>
  /^[a-z/_]+$/i.test(method) ? `"${method}"` : Buffer.from(JSON.stringify(method)).toString('latin1')

function frameAsk(head: string, params: JsonText | undefined): OutgoingMessage {
  return params === undefined
    ? Buffer.from(`${head}}`, 'latin1')
    : { head: `${head},"params":`, body: oneLine(params), tail: '}' }
}

/** Ids and tokens are kept as long as a request, and repeated in every message about it. */
const MAX_ID_BYTES = 4096

/**
 * Returns whether a text is a valid request id: a string, or an integer in any spelling, of at most 4 KiB.
 */
export function isId(text: JsonText): boolean {
  if (smallInteger(text) !== undefined) return true
  if (text.length > MAX_ID_BYTES) return false
  const kind = kindOf(text)
  return kind === 'string' || (kind === 'number' && integerKey(text.toString('latin1')) !== undefined)
}

/**
 * Returns a table key, equal exactly if two ids are equal: `"a"` and `"\u0061"`, or `1` and `1.0`, share one;
 * `1` and `"1"`, or integers that a double cannot distinguish, do not. Only for ids that `isId` accepts.
 */
export function idKey(id: JsonText): string {
  const integer = smallInteger(id)
  if (integer !== undefined) return String(integer)
  const string = stringOf(id)
  if (string !== undefined) return `"${string}`
  const text = id.toString('latin1')
  return integerKey(text) ?? text
}

/** Returns the canonical spelling of an integer; undefined for a number with a fraction. */
function integerKey(text: string): string | undefined {
  if (/^(?:0|-?[1-9]\d{0,14})$/.test(text)) return text
  const { sign, digits, exponent } = decimalOf(text)
  if (digits === '') return '0'
  if (exponent < 0) return undefined
  if (digits.length + exponent <= 15) return `${sign}${digits}${'0'.repeat(exponent)}`
  // A double cannot hold this exponent: keeps the spelling, so that different ids stay different.
  return Number.isSafeInteger(exponent) ? `${sign}${digits}e${exponent}` : text
}
