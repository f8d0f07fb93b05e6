import {
  type JsonText,
  memberOf,
  objectText,
  textMember,
  textOf,
  valueOf,
} from '../../../kernel/json/text.js'
import { succeeded } from '../../../model/outcome.js'
import type { ServerFacts } from '../../../model/peer.js'
import { isLegacyRevision } from '../../../model/revision.js'
import { type LegacyFacts, readInitializeResult } from '../initialize-params.js'

/** Longer sessions are not saved: their server gets a new session from the next replica. */
const SAVED_BYTES = 16 * 1024

/** A session over Streamable HTTP, saved so that another replica can resume it. */
export interface SavedSession {
  /** The session id is sent to no other URL. */
  readonly url: string
  readonly id: string
  /** No earlier owner used a higher request id. */
  readonly ids: number
  readonly facts: LegacyFacts
}

/** Encodes a session in the server's own terms; undefined if it is too long. */
export const writeSavedSession = ({
  facts: { revision, announced, info, instructions },
  ...session
}: Omit<SavedSession, 'facts'> & { readonly facts: ServerFacts }): JsonText | undefined => {
  const result = objectText([
    ['protocolVersion', textOf(revision)],
    ['capabilities', announced],
    ['serverInfo', info],
    ...(instructions === undefined ? [] : [['instructions', textOf(instructions)] as const]),
  ])
  const saved = objectText([
    ['session', textOf(session)],
    ['result', result],
  ])
  return saved.length > SAVED_BYTES ? undefined : saved
}

/** Decodes a saved session; undefined if there is none, for another URL, or for an unknown revision. */
export const readSavedSession = (saved: JsonText | undefined, url: string): SavedSession | undefined => {
  const session = saved && memberOf(saved, 'session')
  const result = saved && memberOf(saved, 'result')
  if (session === undefined || result === undefined || textMember(session, 'url') !== url) return undefined
  if (!isLegacyRevision(textMember(result, 'protocolVersion') ?? '')) return undefined
  const { id, ids } = valueOf(session) as Pick<SavedSession, 'id' | 'ids'>
  return { url, id, ids, facts: readInitializeResult(succeeded(result)) }
}
