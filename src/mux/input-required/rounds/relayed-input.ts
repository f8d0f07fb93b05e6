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
import type { ClientCapabilities } from '../../../model/peer.js'
import type { ServerOptions } from '../../../peers/dial.js'
import { canBeAsked } from '../client-capabilities.js'
import { withoutContext } from '../passed-request.js'
import { mayNeedInput, type RequestStates } from '../retry/request-states.js'
import type { RelayFacts } from '../retry/sealed-state.js'
import { QUESTIONS_MAX } from './input-rounds.js'

/** Maximum time for a client to return. */
const STATE_MS = 3_600_000
const MEMBERS = new Set(['inputRequests', 'requestState'])

export interface Relaying {
  readonly states: RequestStates
  /** True with several servers, whose context clients must not share. */
  readonly isShared: boolean
  /** The proof for the retry of a call that a person approved. */
  readonly approval: RelayFacts['approval']
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
  { states, isShared, approval }: Relaying,
): JsonText => {
  const problem = problemOf(result, call)
  if (problem !== undefined) throw wrongInput(server.name, problem)
  const inner = memberOf(result, 'requestState')
  const isHere = server.isProcess || approval !== undefined
  const facts = { kind: 'relay', inner, approval, ...(isHere && { replica: states.replica }) } as const
  const state = states.seal(call, server.alias, facts, STATE_MS)
  const asked = isShared
    ? editMember(result, 'inputRequests', requests => mapMembers(requests, (_, entry) => bareEntry(entry)))
    : result
  return withMember(asked, 'requestState', textOf(state))
}

/** Makes the Fault of questions that a server must not ask; `problem` comes from `problemOfQuestions`. */
export const wrongInput = (server: string, problem: string): Fault =>
  new Fault('internal', `Server ${server} asked for input ${problem}`, { data: { server } })

const INVALID = 'with an invalid request'

/** Returns the error in an `InputRequiredResult`, if any. */
const problemOf = (result: JsonText, { method, client }: Call): string | undefined => {
  if (!mayNeedInput(method)) return 'where the protocol does not allow it'
  if (!isWellFormed(result)) return INVALID
  return problemOfQuestions(memberOf(result, 'inputRequests') ?? EMPTY, client.capabilities)
}

/** Returns the error in the questions of a server for a client with these capabilities, if any. */
export const problemOfQuestions = (
  requests: JsonText,
  capabilities: ClientCapabilities,
): string | undefined => {
  if (kindOf(requests) !== 'object') return INVALID
  let count = 0
  for (const { value } of membersOf(requests)) {
    const question = { method: textMember(value, 'method') ?? '', params: memberOf(value, 'params') }
    if (!canBeAsked(question, capabilities)) return 'that this client cannot provide'
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
