import { isUtf8 } from 'node:buffer'
import { cut, isWritten, trust } from '../kernel/json/cursor.js'
import type { Message } from './jsonrpc.js'

// Regular expressions over JSON as latin1 text, whose bytes are valid UTF-8 (RFC 8259, sections 6 and 7).

const STRING = String.raw`"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"`
const NUMBER = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?`

// Nearly all programs write requests and responses in one of two orders, without white space: version and id
// first, or last, like the SDKs for TypeScript and Python. The patterns hold fixed words and valid values
// only, so that no member can be there twice, or under a key that is spelled in another way.

/** Up to this size `JSON.parse`, of which nothing is kept, costs less than a search of ours. */
const SHORT_BYTES = 1024

const SCALAR = `(?:${STRING}|${NUMBER}|true|false|null)`
/** Objects of scalars, and lists of such objects in one: most arguments and results. The rest is parsed. */
const FLAT = String.raw`\{(?:${STRING}:${SCALAR}(?:,${STRING}:${SCALAR})*)?\}`
const LIST = String.raw`\{${STRING}:\[${FLAT}(?:,${FLAT})*\](?:,${STRING}:${SCALAR})*\}`

const ID = String.raw`"jsonrpc":"2\.0","id":(0|[1-9]\d{0,14}|"[ !#-[\]-~]*")`
const PARAMS = String.raw`\{"name":"([ !#-[\]-~]*)"(?:,"arguments":(?:${FLAT}|(\{.*\})))?\}`
const BODY = String.raw`"(?:method":"([a-zA-Z/_]+)","params":(${PARAMS})|result":(${LIST}|(\{.*\})))`

const ID_FIRST = new RegExp(String.raw`^\{${ID},${BODY}\}$`, 's')
const ID_LAST = new RegExp(String.raw`^\{${BODY},${ID}\}$`, 's')

const LETTER_I = 0x69
const LETTER_J = 0x6a
const LETTER_N = 0x6e
const ID_AT = '{"jsonrpc":"2.0","id":'.length
const METHOD_AT = '{"method":"'.length
const PARAMS_BEHIND = '","params":'.length
const RESULT_AT = '{"result":'.length

/**
 * Reads a short message that is written as usual; undefined if a closer look is needed. What V8 itself does
 * is fast from the first call of a process on: our scanner is ten times slower in the first thousand.
 */
export function usualMessage(bytes: Buffer, maxDepth: number): Message | undefined {
  // So few bytes are never nested too deep: each level takes two.
  if (bytes.length > SHORT_BYTES || bytes.length > 2 * maxDepth || !isUtf8(bytes)) return undefined
  const text = bytes.toString('latin1')
  const isVersionFirst = bytes[2] === LETTER_J
  // Notifications have no id, and the names of their methods alone begin with this letter.
  if (isVersionFirst ? bytes[ID_AT - 4] !== LETTER_I : bytes[METHOD_AT] === LETTER_N) {
    return usualProgress(bytes, text, isVersionFirst)
  }
  return isVersionFirst ? idFirst(bytes, text) : idLast(bytes, text)
}

function idFirst(bytes: Buffer, text: string): Message | undefined {
  const found = ID_FIRST.exec(text)
  if (found === null || !isJson(found[5] ?? found[7])) return undefined
  const id = cut(trust(bytes), ID_AT, ID_AT + lengthOf(found[1]))
  const end = bytes.length - 1
  const method = found[2]
  if (method === undefined)
    return { kind: 'result', id, result: cut(trust(bytes), end - lengthOf(found[6]), end) }
  const params = cut(trust(bytes), end - lengthOf(found[3]), end)
  return { kind: 'request', id, method, params, named: found[4], meta: undefined }
}

function idLast(bytes: Buffer, text: string): Message | undefined {
  const found = ID_LAST.exec(text)
  if (found === null || !isJson(found[4] ?? found[6])) return undefined
  const end = bytes.length - 1
  const id = cut(trust(bytes), end - lengthOf(found[7]), end)
  const method = found[1]
  if (method === undefined) {
    return { kind: 'result', id, result: cut(trust(bytes), RESULT_AT, RESULT_AT + lengthOf(found[5])) }
  }
  const from = METHOD_AT + method.length + PARAMS_BEHIND
  const params = cut(trust(bytes), from, from + lengthOf(found[2]))
  return { kind: 'request', id, method, params, named: found[3], meta: undefined }
}

const lengthOf = (text: string | undefined): number => text?.length ?? 0

/** Whether a text, each character of which is a byte, is a value; what is not there is fine. */
function isJson(text: string | undefined): boolean {
  if (text === undefined) return true
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const PROGRESS = 'notifications/progress'

const PROGRESS_MEMBER = `"(?:progress(?:Token":${STRING}|(?:Token)?":${NUMBER})|total":${NUMBER}|message":${STRING})`
// The token is what it is sent on by: it must be there once.
const PROGRESS_PARAMS = String.raw`\{(?!.*"progressToken":.*"progressToken":)${PROGRESS_MEMBER}(?:,${PROGRESS_MEMBER}){0,3}\}`

const VERSION_FIRST = new RegExp(
  String.raw`^\{"jsonrpc":"2\.0","method":"${PROGRESS}","params":${PROGRESS_PARAMS}\}$`,
)
const VERSION_LAST = new RegExp(
  String.raw`^\{"method":"${PROGRESS}","params":${PROGRESS_PARAMS},"jsonrpc":"2\.0"\}$`,
)

const PROGRESS_AT = `{"jsonrpc":"2.0","method":"${PROGRESS}","params":`.length
const PROGRESS_AT_BEHIND = `{"method":"${PROGRESS}","params":`.length
const VERSION_BYTES = ',"jsonrpc":"2.0"}'.length

/** Reads a progress notification that is written as usual (`text` is `bytes` in latin1). */
function usualProgress(bytes: Buffer, text: string, isVersionFirst: boolean): Message | undefined {
  if (!(isVersionFirst ? VERSION_FIRST : VERSION_LAST).test(text)) return undefined
  const from = isVersionFirst ? PROGRESS_AT : PROGRESS_AT_BEHIND
  const to = bytes.length - (isVersionFirst ? 1 : VERSION_BYTES)
  return { kind: 'notification', method: PROGRESS, params: cut(trust(bytes), from, to) }
}

const METHOD_FIRST = '{"method":'

/**
 * Whether a message is written as the SDKs write requests, `method` first, and hardly anybody else does.
 * Clients of the TypeScript SDK handle notifications a moment after they read them, but answers at once
 * (`packages/core/src/shared/protocol.ts`, `_onnotification` and `_onresponse`).
 */
export const isOfSdk = (message: Buffer): boolean => isWritten(message, 0, METHOD_FIRST.length, METHOD_FIRST)
