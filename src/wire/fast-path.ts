import { isUtf8 } from 'node:buffer'
import { cut, isWritten, type JsonText, trust } from '../kernel/json/cursor.js'
import { isJson } from '../kernel/json/text.js'
import type { Message } from './jsonrpc.js'

// Regular expressions over JSON as latin1 text, whose bytes are valid UTF-8 (RFC 8259, sections 6 and 7).

const STRING = String.raw`"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"`
const NUMBER = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?`

// Most programs write requests and responses without white space and in one of two orders: version and id
// first, or last, like the SDKs for TypeScript and Python. The patterns consist of fixed words and valid
// values only, so that no member can be repeated or have a key in another spelling.

const SCALAR = `(?:${STRING}|${NUMBER}|true|false|null)`
// Each pattern occurs once, with a lookahead: V8 compiles the whole expression, twice, when a process reads
// its first messages.
const objectOf = (value: string): string => String.raw`\{(?:${STRING}:${value}(?:,(?=")|(?=\})))*\}`
const FLAT = objectOf(SCALAR)
const NESTED = objectOf(`(?:${SCALAR}|${FLAT})`)
/** Matches most results: a list of flat objects, between scalars and shallow values. Others are parsed. */
const LIST = String.raw`\{(?:${STRING}:${SCALAR},)*${STRING}:\[(?:${FLAT}(?:,(?=\{)|(?=\])))+\](?:,${STRING}:(?:${SCALAR}|${NESTED}))*\}`
/** Matches a `_meta` in the usual spelling. With `.*` instead, a hostile message could take milliseconds. */
const META = objectOf(`(?:${SCALAR}|${NESTED})`)

const ID = String.raw`"jsonrpc":"2\.0","id":(0|[1-9]\d{0,14}|"[ !#-[\]-~]*")`
const NAMED = String.raw`"name":"([ !#-[\]-~]*)"(?:,"arguments":(?:${FLAT}|(\{.*?\})))?`
const PARAMS = String.raw`\{(?:"_meta":(${META}),)?${NAMED}(?:,"_meta":(${META}))?\}`
const BODY = String.raw`"(?:method":"([a-zA-Z/_]+)","params":(${PARAMS})|result":(${LIST}|(\{.*\})))`

const ID_FIRST = new RegExp(String.raw`^\{${ID},${BODY}\}$`, 's')
/** Its first group never matches, so that both expressions number their groups alike. */
const ID_LAST = new RegExp(String.raw`^\{(?:|())${BODY},${ID}\}$`, 's')

const ID_AT = '{"jsonrpc":"2.0","id":'.length
const METHOD_AT = '{"method":"'.length
const PARAMS_AFTER = '","params":'.length
const RESULT_AT = '{"result":'.length
const META_AT = '{"_meta":'.length
/** Longer messages are scanned. */
const SHORT_BYTES = 1024
const TOKEN = '"progressToken"'

/**
 * Parses a short message in one of the usual spellings; returns undefined for all others, which are scanned.
 * Regular expressions and `JSON.parse` are fast from the first call of a process, whereas the scanner is ten
 * times slower during its first thousand calls.
 */
export function fastPathMessage(bytes: Buffer, maxDepth: number): Message | undefined {
  // Each level takes two bytes, so a text this short is never nested too deep.
  if (bytes.length > Math.min(SHORT_BYTES, 2 * maxDepth) || !isUtf8(bytes)) return undefined
  const text = bytes.toString('latin1')
  const isVersionFirst = text[2] === 'j'
  // Notifications have no id, and only their method names start with this letter.
  const isNotice = isVersionFirst ? text[ID_AT - 4] !== 'i' : text[METHOD_AT] === 'n'
  if (!isNotice) return fastPathCall(bytes, text, isVersionFirst)
  const methodAt = METHOD_AT + (isVersionFirst ? VERSION_BYTES : 0)
  return text.startsWith(PROGRESS, methodAt) ? fastPathProgress(bytes, text, isVersionFirst) : undefined
}

/** Parses a request or a result whose id is its first or last member; `text` is `bytes` in latin1. */
function fastPathCall(bytes: Buffer, text: string, isIdFirst: boolean): Message | undefined {
  const found = (isIdFirst ? ID_FIRST : ID_LAST).exec(text)
  if (found === null) return undefined
  const [, first, method, params, front, named, args, back, result, other, last] = found
  if (!isOptionalJson(args ?? other)) return undefined
  const end = bytes.length - 1
  const idFrom = isIdFirst ? ID_AT : end - lengthOf(last)
  const id = cut(trust(bytes), idFrom, idFrom + lengthOf(last ?? first))
  const bodyBytes = lengthOf(params ?? result)
  const bodyAt = method === undefined ? RESULT_AT : METHOD_AT + method.length + PARAMS_AFTER
  const from = isIdFirst ? end - bodyBytes : bodyAt
  const body = cut(trust(bytes), from, from + bodyBytes)
  if (method === undefined) return { kind: 'result', id, result: body }
  const meta = metaOf(body, front, back)
  return meta === 'unusual' ? undefined : { kind: 'request', id, method, params: body, named, meta }
}

/** Returns the `_meta` of params, which is their first or last member. */
function metaOf(params: JsonText, front: string | undefined, back: string | undefined) {
  const meta = front ?? back
  if (meta === undefined) return undefined
  // Its keys must contain no escapes, and at most one progress token.
  const token = meta.indexOf(TOKEN)
  const hasTwo = token >= 0 && meta.includes(TOKEN, token + TOKEN.length)
  const isTwice = (front !== undefined && back !== undefined) || hasTwo
  if (isTwice || meta.includes('\\u')) return 'unusual'
  const from = front === undefined ? params.length - 1 - meta.length : META_AT
  return cut(params, from, from + meta.length)
}

const isOptionalJson = (text: string | undefined): boolean => text === undefined || isJson(text)

const lengthOf = (text: string | undefined): number => text?.length ?? 0

const PROGRESS = 'notifications/progress'

const MEMBER = `"(?:total":${NUMBER}|message":${STRING})`
const VALUE = `"progress":(${NUMBER})`
// The token is used for routing, so it must occur exactly once.
const PROGRESS_PARAMS = String.raw`(\{(?:${MEMBER},)*(?:${VALUE},(?:${MEMBER},)*)?"progressToken":)(${STRING}|${NUMBER})((?:,${MEMBER})*(?:,${VALUE}(?:,${MEMBER})*)?\})`

const NOTICE = new RegExp(
  String.raw`^\{(?:"jsonrpc":"2\.0",)?"method":"${PROGRESS}","params":${PROGRESS_PARAMS}(?:,"jsonrpc":"2\.0")?\}$`,
)
const PROGRESS_AT = `{"method":"${PROGRESS}","params":`.length
const VERSION_BYTES = '"jsonrpc":"2.0",'.length

/** Parses a progress notification in the usual spelling; `text` is `bytes` in latin1. */
function fastPathProgress(bytes: Buffer, text: string, isVersionFirst: boolean): Message | undefined {
  if (isVersionFirst === text.endsWith(',"jsonrpc":"2.0"}')) return undefined
  const found = NOTICE.exec(text)
  if (found === null) return undefined
  const [, prefix = '', first, token = '', suffix = '', second] = found
  const from = PROGRESS_AT + (isVersionFirst ? VERSION_BYTES : 0)
  const to = bytes.length - 1 - (isVersionFirst ? 0 : VERSION_BYTES)
  const value = first ?? second
  return {
    kind: 'notification',
    method: PROGRESS,
    params: cut(trust(bytes), from, to),
    progress: { prefix, token, suffix, value: value === undefined ? undefined : Number(value) },
  }
}

const METHOD_FIRST = '{"method":'

/**
 * Returns whether a message has the typical spelling of SDK requests, `method` first. Clients of the
 * TypeScript SDK defer notifications but handle answers at once (`packages/core/src/shared/protocol.ts`,
 * `_onnotification` and `_onresponse`).
 */
export const isSdkRequest = (message: Buffer): boolean =>
  isWritten(message, 0, METHOD_FIRST.length, METHOD_FIRST)
