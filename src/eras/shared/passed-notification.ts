import { mayContain } from '../../kernel/json/edit.js'
import { type JsonText, kindOf, memberOf, withMember, withoutMember } from '../../kernel/json/text.js'
import type { DownstreamCall } from '../../model/links.js'
import { ownIdOf } from '../../rpc/channel/pending-requests.js'
import { isId } from '../../wire/jsonrpc.js'
import { META } from './protocol.js'

/** The names of a request on the client's hop. */
interface ClientNames {
  readonly id: JsonText
  readonly token: JsonText | undefined
}

const NAMES = ['progressToken', META.subscriptionId]

/** Returns the first known request that a notification names in its `_meta`, by our id. */
export const namedIn = <T>(
  params: JsonText | undefined,
  find: (id: JsonText) => T | undefined,
): T | undefined => {
  const meta = params && mayContain(params, '"_meta"') ? memberOf(params, '_meta') : undefined
  if (meta === undefined || kindOf(meta) !== 'object') return undefined
  for (const name of NAMES) {
    const id = memberOf(meta, name)
    const found = id !== undefined && isId(id) ? find(id) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * Replaces the names of a request in the `_meta` of a notification about it: its id `down` at the server
 * becomes the client's progress token or id.
 */
export const withClientNames = (
  params: JsonText | undefined,
  down: DownstreamCall['id'],
  { id, token }: ClientNames,
): JsonText | undefined => {
  const meta = params && memberOf(params, '_meta')
  if (params === undefined || meta === undefined || down === undefined || kindOf(meta) !== 'object')
    return params
  const isNamed = (key: string): boolean => ownIdOf(memberOf(meta, key)) === down
  let named = meta
  if (isNamed('progressToken'))
    named =
      token === undefined ? withoutMember(named, 'progressToken') : withMember(named, 'progressToken', token)
  if (isNamed(META.subscriptionId)) named = withMember(named, META.subscriptionId, id)
  return named === meta ? params : withMember(params, '_meta', named)
}
