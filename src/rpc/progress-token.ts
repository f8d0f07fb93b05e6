import { Output } from '../kernel/json/splice.js'
import {
  type JsonText,
  memberOf,
  oneLine,
  rawText,
  withAt,
  withMember,
  withoutMember,
} from '../kernel/json/text.js'
import type { Progress } from '../model/progress.js'
import { encodeNotification, isId } from '../wire/jsonrpc.js'

/** Where in a request's `params` the progress token stands (basic/utilities/progress, all revisions). */
const TOKEN_PATH = ['_meta', 'progressToken'] as const
const EMPTY_OBJECT = rawText('{}')

const PROGRESS = 'notifications/progress'
const NOTICE = Buffer.from(`{"jsonrpc":"2.0","method":"${PROGRESS}","params":`)
const CLOSE = Buffer.from('}')

/** Writes a progress notification under the token of whoever is told, in one go: a call may have hundreds. */
export function encodeProgress({ params, tokenStart, tokenEnd }: Progress, token: JsonText): Buffer {
  if (tokenEnd === 0) return encodeNotification(PROGRESS, withMember(params, 'progressToken', token))
  const line = oneLine(params)
  const kept = line.length - (tokenEnd - tokenStart)
  const out = new Output(NOTICE.length + kept + token.length + CLOSE.length)
  out.add(NOTICE, 0, NOTICE.length)
  out.add(line, 0, tokenStart)
  out.add(token, 0, token.length)
  out.add(line, tokenEnd, line.length)
  out.add(CLOSE, 0, CLOSE.length)
  return out.bytes
}

/**
 * Replaces or removes the progress token, which never crosses a hop (base, "Progress": unique among the
 * sender's requests). A `_meta` that held nothing else stays as `{}`.
 */
export const withToken = (
  params: JsonText | undefined,
  token: JsonText | undefined,
): JsonText | undefined => {
  if (token !== undefined) return withAt(params ?? EMPTY_OBJECT, TOKEN_PATH, token)
  if (params === undefined) return undefined
  const meta = memberOf(params, '_meta')
  if (meta === undefined || memberOf(meta, 'progressToken') === undefined) return params
  return withMember(params, '_meta', withoutMember(meta, 'progressToken'))
}

/** The legal progress token in the `_meta` of a request: text or an integer (base, "Progress"). */
export const tokenIn = (meta: JsonText | undefined): JsonText | undefined => {
  const token = meta && memberOf(meta, 'progressToken')
  return token !== undefined && isId(token) ? token : undefined
}
