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

/** What is longer is not noted: its server gets a new session from the replica that comes next. */
const NOTED_BYTES = 16 * 1024

/** A session over Streamable HTTP, as another replica goes on with it. */
export interface SavedSession {
  /** Nobody else is told the id. */
  readonly url: string
  readonly id: string
  /** No request of whoever had it before has a higher id. */
  readonly ids: number
  readonly facts: LegacyFacts
}

/** Writes it in the words of the server; undefined if it would be too long. */
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
  const noted = objectText([
    ['session', textOf(session)],
    ['result', result],
  ])
  return noted.length > NOTED_BYTES ? undefined : noted
}

/** Undefined if none was noted, or one of another address, or of a revision that a later version knows. */
export const readSavedSession = (noted: JsonText | undefined, url: string): SavedSession | undefined => {
  const session = noted && memberOf(noted, 'session')
  const result = noted && memberOf(noted, 'result')
  if (session === undefined || result === undefined || textMember(session, 'url') !== url) return undefined
  if (!isLegacyRevision(textMember(result, 'protocolVersion') ?? '')) return undefined
  const { id, ids } = valueOf(session) as Pick<SavedSession, 'id' | 'ids'>
  return { url, id, ids, facts: readInitializeResult(succeeded(result)) }
}
