import { cut, isWritten, trust } from '../kernel/json/cursor.js'
import {
  EMPTY,
  type JsonText,
  memberOf,
  smallInteger,
  withAt,
  withMember,
  withoutMember,
} from '../kernel/json/text.js'
import type { Progress } from '../model/progress.js'
import { encodeNotification, isId } from '../wire/jsonrpc.js'
import { type OutgoingMessage, textFrame } from '../wire/message-parts.js'

/** The path of the progress token in a request's `params` (basic/utilities/progress, all revisions). */
const TOKEN_PATH = ['_meta', 'progressToken'] as const

const PROGRESS = 'notifications/progress'
const NOTICE = `{"jsonrpc":"2.0","method":"${PROGRESS}","params":`

/**
 * Encodes a progress notification under the receiver's token, a latin1 text. Fast, because a call may have
 * hundreds.
 */
export function encodeProgress({ params, found }: Progress, token: string): OutgoingMessage {
  if (found !== undefined) return textFrame(`${NOTICE}${found.prefix}${token}${found.suffix}}`)
  return encodeNotification(
    PROGRESS,
    withMember(params, 'progressToken', trust(Buffer.from(token, 'latin1'))),
  )
}

/**
 * Replaces or removes the progress token, which never crosses a hop (base, "Progress": unique among the
 * sender's requests). A `_meta` that held nothing else stays as `{}`.
 */
export const withProgressToken = (
  params: JsonText | undefined,
  token: JsonText | undefined,
): JsonText | undefined => {
  if (token !== undefined) return withAt(params ?? EMPTY, TOKEN_PATH, token)
  if (params === undefined) return undefined
  const meta = memberOf(params, '_meta')
  if (meta === undefined || memberOf(meta, 'progressToken') === undefined) return params
  return withMember(params, '_meta', withoutMember(meta, 'progressToken'))
}

/** Returns the valid progress token in the `_meta` of a request: text or an integer (base, "Progress"). */
export const tokenIn = (meta: JsonText | undefined): JsonText | undefined => {
  const token = meta && (tokenAlone(meta) ?? memberOf(meta, 'progressToken'))
  return token !== undefined && isId(token) ? token : undefined
}

const BEFORE_TOKEN = '{"progressToken":'

/** Returns the token of a `_meta` that holds nothing else, in the usual spelling: a number. */
export const tokenAlone = (meta: JsonText): JsonText | undefined => {
  const start = BEFORE_TOKEN.length
  const end = meta.length - 1
  const isAlone = isWritten(meta, 0, start, BEFORE_TOKEN) && smallInteger(meta, start, end) !== undefined
  return isAlone ? cut(meta, start, end) : undefined
}
