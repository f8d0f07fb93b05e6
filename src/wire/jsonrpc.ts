import { type JsonText, kindOf, oneLine, smallInteger, stringOf } from '../kernel/json-text.js'
import type { Framed, OutgoingFrame } from './framed.js'

/** One JSON-RPC 2.0 message of any revision; what it carries stays text, as it came. */
export type Message =
  | {
      readonly kind: 'request'
      readonly id: JsonText
      readonly method: string
      readonly params: JsonText | undefined
      /** The `name` in its params, where nothing but that and `arguments` is known to stand there: no `_meta`, and nothing new. */
      readonly named?: string | undefined
    }
  | { readonly kind: 'notice'; readonly method: string; readonly params: JsonText | undefined }
  | { readonly kind: 'reply'; readonly id: JsonText; readonly result: JsonText }
  | { readonly kind: 'refusal'; readonly id: JsonText | undefined; readonly error: JsonText }

const REPLY_HEAD = '{"jsonrpc":"2.0","id":'
const RESULT_HEAD = ',"result":'
const WITH_ID = Buffer.from(REPLY_HEAD)
const WITHOUT_ID = Buffer.from('{"jsonrpc":"2.0"')
const RESULT = Buffer.from(RESULT_HEAD)
const ERROR = Buffer.from(',"error":')
const CLOSE = Buffer.from('}')

/** Writes a request under an id that we minted, on one line without its newline. */
export function encodeRequest(id: number | string, method: string, params: JsonText | undefined): Buffer {
  return encodeAsk(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":${quoted(method)}`, params)
}

/** The same without copying the params, for whoever joins it with something else or can send pieces. */
export function frameRequest(
  id: number | string,
  method: string,
  params: JsonText | undefined,
): OutgoingFrame {
  if (params === undefined) return encodeRequest(id, method, params)
  const head = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":${quoted(method)},"params":`
  return { head: asLatin1(head), body: oneLine(params), tail: '}' }
}

/** Writes a notification, on one line without its newline. */
export function encodeNotice(method: string, params: JsonText | undefined): Buffer {
  return encodeAsk(`{"jsonrpc":"2.0","method":${quoted(method)}`, params)
}

/** Writes the answer to the request that came with `id`, on one line without its newline. */
export function encodeReply(id: JsonText, result: JsonText): Buffer {
  return Buffer.concat([WITH_ID, id, RESULT, oneLine(result), CLOSE])
}

/** The same without copying the result, for whoever joins it with something else or can send pieces. */
export function frameReply(id: JsonText, result: JsonText): Framed {
  return { head: `${REPLY_HEAD}${id.toString('latin1')}${RESULT_HEAD}`, body: oneLine(result), tail: '}' }
}

/** Writes an error, on one line without its newline; without an id if the request was too broken for one. */
export function encodeRefusal(id: JsonText | undefined, error: JsonText): Buffer {
  return id === undefined
    ? Buffer.concat([WITHOUT_ID, ERROR, oneLine(error), CLOSE])
    : Buffer.concat([WITH_ID, id, ERROR, oneLine(error), CLOSE])
}

/** Nearly all methods are such that they need no escapes. */
const quoted = (method: string): string =>
  /^[a-z/_]+$/i.test(method) ? `"${method}"` : JSON.stringify(method)

/** A text whose characters are the bytes of this one. */
const asLatin1 = (text: string): string =>
  /^[ -~]*$/.test(text) ? text : Buffer.from(text).toString('latin1')

function encodeAsk(head: string, params: JsonText | undefined): Buffer {
  if (params === undefined) return Buffer.from(`${head}}`)
  const start = `${head},"params":`
  const line = oneLine(params)
  const most = start.length * 3 + line.length + 1
  const frame = Buffer.allocUnsafe(most)
  const from = frame.write(start)
  frame.set(line, from)
  frame[from + line.length] = 0x7d
  return frame.subarray(0, from + line.length + 1)
}

/** Whether a text may be the id of a request: a string, or a number that is an integer in any spelling. */
export function isId(text: JsonText): boolean {
  if (smallInteger(text) !== undefined) return true
  const kind = kindOf(text)
  return kind === 'string' || (kind === 'number' && integerKey(text.toString('latin1')) !== undefined)
}

/**
 * A key for tables, equal exactly when two ids are: `"a"` and `"\u0061"`, or `1` and `1.0`, have the same;
 * `1` and `"1"` have not, nor have integers that a double cannot tell apart. Only for what `isId` accepts.
 */
export function idKey(id: JsonText): string {
  const integer = smallInteger(id)
  if (integer !== undefined) return String(integer)
  const string = stringOf(id)
  if (string !== undefined) return `"${string}`
  const text = id.toString('latin1')
  return integerKey(text) ?? text
}

/** The one spelling that all spellings of an integer share; undefined for a number with a fraction. */
function integerKey(text: string): string | undefined {
  if (/^(?:0|-?[1-9]\d{0,14})$/.test(text)) return text
  const { sign, digits, exponent } = decimalOf(text)
  if (digits === '') return '0'
  if (exponent < 0) return undefined
  if (digits.length + exponent <= 15) return `${sign}${digits}${'0'.repeat(exponent)}`
  // An exponent that a double cannot hold: the spelling itself, so that two such ids are never taken for one.
  return Number.isSafeInteger(exponent) ? `${sign}${digits}e${exponent}` : text
}

/** A JSON number as sign, digits without zeros at either end, and the power of ten behind them. */
function decimalOf(text: string): { sign: string; digits: string; exponent: number } {
  const [mantissa = '', power = '0'] = text.toLowerCase().split('e')
  const sign = mantissa.startsWith('-') ? '-' : ''
  const [whole = '', fraction = ''] = mantissa.slice(sign.length).split('.')
  const all = whole + fraction
  let from = 0
  let to = all.length
  while (all[from] === '0') from += 1
  while (to > from && all[to - 1] === '0') to -= 1
  return { sign, digits: all.slice(from, to), exponent: Number(power) + all.length - fraction.length - to }
}
