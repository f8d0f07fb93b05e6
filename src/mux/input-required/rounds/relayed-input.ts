import { Fault } from '../../../kernel/faults.js'
import { editMember } from '../../../kernel/json/edit.js'
import {
  EMPTY,
  type JsonText,
  kindOf,
  mapMembers,
  memberOf,
  membersOf,
  repeatedKey,
  textMember,
  textOf,
  withMember,
} from '../../../kernel/json/text.js'
import type { Call } from '../../../model/links.js'
import type { ServerOptions } from '../../../peers/dial.js'
import { canBeAsked } from '../client-capabilities.js'
import { withoutContext } from '../passed-request.js'
import { mayNeedInput, type RequestStates } from '../retry/request-states.js'
import { QUESTIONS_MAX } from './input-rounds.js'

/** Maximum time for a client to return. */
const STATE_MS = 3_600_000
const MEMBERS = new Set(['inputRequests', 'requestState'])

export interface Relaying {
  readonly states: RequestStates
  /** True with several servers, whose context clients must not share. */
  readonly isShared: boolean
}

/**
 * Relays an `InputRequiredResult` with the server's state wrapped in the proxy's: servers see one principal,
 * the proxy, and could not check the owner of a state (basic/patterns/mrtr, "Security"). Throws a Fault for
 * questions that this client must not receive.
 */
export const relayedInput = (
  result: JsonText,
  call: Call,
  server: Pick<ServerOptions, 'name' | 'alias' | 'isProcess'>,
  { states, isShared }: Relaying,
): JsonText => {
  const fault = faultOf(result, call)
  if (fault !== undefined) {
    throw new Fault('internal', `Server ${server.name} asked for input ${fault}`, {
      data: { server: server.name },
    })
  }
  const inner = memberOf(result, 'requestState')
  const facts = { kind: 'relay', inner, ...(server.isProcess && { replica: states.replica }) } as const
  const state = states.seal(call, server.alias, facts, STATE_MS)
  const asked = isShared
    ? editMember(result, 'inputRequests', requests => mapMembers(requests, (_, entry) => bareEntry(entry)))
    : result
  return withMember(asked, 'requestState', textOf(state))
}

/** Returns the error in an `InputRequiredResult`, if any. */
const faultOf = (result: JsonText, { method, client }: Call): string | undefined => {
  if (!mayNeedInput(method)) return 'where the protocol does not allow it'
  if (!isWellFormed(result)) return 'with an invalid request'
  let count = 0
  for (const { value } of membersOf(memberOf(result, 'inputRequests') ?? EMPTY)) {
    const question = { method: textMember(value, 'method') ?? '', params: memberOf(value, 'params') }
    if (!canBeAsked(question, client.capabilities)) return 'that this client cannot provide'
    if (++count > QUESTIONS_MAX) return `with more than ${QUESTIONS_MAX} questions`
  }
  return undefined
}

const isWellFormed = (result: JsonText): boolean => {
  const [requests, state] = [memberOf(result, 'inputRequests'), memberOf(result, 'requestState')]
  return (
    repeatedKey(result, MEMBERS) === undefined &&
    (requests === undefined || kindOf(requests) === 'object') &&
    (state === undefined || kindOf(state) === 'string') &&
    (requests !== undefined || state !== undefined)
  )
}

const bareEntry = (entry: JsonText): JsonText =>
  textMember(entry, 'method') === 'sampling/createMessage'
    ? editMember(entry, 'params', withoutContext)
    : entry
