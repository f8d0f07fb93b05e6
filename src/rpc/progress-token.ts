import {
  at,
  type JsonText,
  memberOf,
  rawText,
  withAt,
  withMember,
  withoutMember,
} from '../kernel/json-text.js'
import { isId } from '../wire/jsonrpc.js'

/** Where in a request's `params` the progress token stands (basic/utilities/progress, all revisions). */
const TOKEN_PATH = ['_meta', 'progressToken'] as const
const EMPTY_OBJECT = rawText('{}')

/**
 * Request params for another hop: its own progress token in, or none at all. A token never crosses a hop
 * (base, "Progress": unique among the sender's requests), and a `_meta` that held nothing else stays as `{}`.
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

/** The token that a request's params carry, if it is a legal one: text or an integer (base, "Progress"). */
export const tokenOf = (params: JsonText | undefined): JsonText | undefined => {
  const token = params === undefined ? undefined : at(params, ...TOKEN_PATH)
  return token !== undefined && isId(token) ? token : undefined
}
