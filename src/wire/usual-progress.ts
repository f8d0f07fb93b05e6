import { cut, trust } from '../kernel/json/cursor.js'
import { NUMBER_PATTERN as NUMBER, STRING_PATTERN as STRING } from '../kernel/json/patterns.js'
import type { Message } from './jsonrpc.js'

const METHOD = 'notifications/progress'

const MEMBER = `"(?:progress(?:Token":${STRING}|(?:Token)?":${NUMBER})|total":${NUMBER}|message":${STRING})`
// The token is what it is sent on by: it must be there once.
const PARAMS = String.raw`\{(?!.*"progressToken":.*"progressToken":)${MEMBER}(?:,${MEMBER}){0,3}\}`

const VERSION_FIRST = new RegExp(String.raw`^\{"jsonrpc":"2\.0","method":"${METHOD}","params":${PARAMS}\}$`)
const VERSION_LAST = new RegExp(String.raw`^\{"method":"${METHOD}","params":${PARAMS},"jsonrpc":"2\.0"\}$`)

const PARAMS_AT = `{"jsonrpc":"2.0","method":"${METHOD}","params":`.length
const PARAMS_AT_FIRST = `{"method":"${METHOD}","params":`.length
const VERSION_BYTES = ',"jsonrpc":"2.0"}'.length

/** The notification of progress that bytes are, which are `text` in latin1, if it is written as usual: there may be hundreds in a call. */
export function usualProgress(bytes: Buffer, text: string, isVersionFirst: boolean): Message | undefined {
  if (isVersionFirst)
    return VERSION_FIRST.test(text) ? noticeOf(bytes, PARAMS_AT, bytes.length - 1) : undefined
  return VERSION_LAST.test(text) ? noticeOf(bytes, PARAMS_AT_FIRST, bytes.length - VERSION_BYTES) : undefined
}

const noticeOf = (bytes: Buffer, from: number, to: number): Message => ({
  kind: 'notification',
  method: METHOD,
  params: cut(trust(bytes), from, to),
})
