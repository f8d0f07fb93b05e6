import { Fault } from '../../kernel/faults.js'
import { mayContain } from '../../kernel/json/edit.js'
import {
  type JsonText,
  kindOf,
  memberOf,
  membersOf,
  repeatedKey,
  stringOf,
  textMember,
  withMember,
  withoutMember,
} from '../../kernel/json/text.js'
import type { CallTrace } from '../../model/call-trace.js'
import type { Call } from '../../model/links.js'
import type { Answer } from '../../model/outcome.js'
import { canAnswerQuestions } from '../../model/peer.js'
import type { Connection } from '../../peers/connection.js'
import {
  type CallRecord,
  type CallVerdict,
  type Interceptor,
  NEXT,
  type RoutedRecord,
  TAKEN,
} from '../calls/call-record.js'
import type { DeferredRoots } from './deferred-roots.js'
import type { EarlierRun } from './parked/parked-call-context.js'
import type { ParkedCalls } from './parked/parked-calls.js'
import { bareAnswer, isAnswer, noInput } from './questions.js'
import { ASKABLE, invalidState, mayNeedInput, type RequestStates } from './retry/request-states.js'
import type { History, Retry, StateOf } from './retry/sealed-state.js'
import type { UrlElicitations } from './url-elicitations.js'

/** Maximum time that a call waits for its user's visit to a page; then its server decides. */
const VISIT_WAIT_MS = 30_000
const KEYS = ['inputResponses', 'requestState'] as const
const QUOTED = KEYS.map(key => `"${key}"`)
const KEY_SET: ReadonlySet<string> = new Set(KEYS)

/** The params and handling of a retry at its server. */
export interface Resumed {
  /** Params for the server, still under the client's names. */
  readonly params: JsonText | undefined
  readonly earlier?: EarlierRun
  readonly after?: Promise<void>
}

export interface InputRetriesContext {
  readonly states: RequestStates
  readonly parkedCalls: ParkedCalls
  readonly deferredRoots: DeferredRoots
  readonly urlElicitations: UrlElicitations
}

/** Routes retries to the parked call that waits for them, or to the server whose state they carry. */
export class InputRetries {
  readonly #context: InputRetriesContext

  constructor(context: InputRetriesContext) {
    this.#context = context
  }

  /** Reads the answers that a request carries, and hands them to a parked call that waits for them. */
  get received(): Interceptor {
    const run: Interceptor['run'] = record => {
      record.retry = this.read(record)
      return record.retry !== undefined && this.isTaken(record, record.retry) ? TAKEN : NEXT
    }
    return { name: 'retries', stage: 'request', clients: 'returned', methods: ASKABLE, run }
  }

  /** Prepares other retries for their server, and lets calls be parked. */
  get parking(): Interceptor {
    const run = (record: RoutedRecord): CallVerdict => {
      const { retry, client, connection } = record
      const resumed = retry === undefined ? undefined : this.resume(record, retry, connection)
      if (resumed !== undefined && 'kind' in resumed) return resumed
      if (resumed !== undefined) record.sentParams = resumed.params
      if (retry !== undefined) record.party = this.#context.parkedCalls.partyOf(client, retry)
      record.visit = resumed?.after
      if (canAnswerQuestions(client.capabilities))
        record.front = this.#context.parkedCalls.adopt(record, connection, record.party, resumed?.earlier)
      return NEXT
    }
    return { name: 'parking', stage: 'routed', clients: 'returned', methods: ASKABLE, run }
  }

  /** Waits for the user's visit to a page. */
  get visits(): Interceptor {
    const run: Interceptor['run'] = ({ visit }) => visit?.then(() => NEXT) ?? NEXT
    return { name: 'visits', stage: 'sending', clients: 'returned', methods: ASKABLE, run }
  }

  /** Reads the answers and the state of a request, if any. Throws a Fault for a foreign state. */
  read(call: Call & { readonly trace?: CallTrace | undefined }): Retry | undefined {
    const { params, named, client, method } = call
    if (client.serverRequests !== 'returned' || params === undefined || !mayNeedInput(method))
      return undefined
    if (named !== undefined || !mayContain(params, ...QUOTED)) return undefined
    const [responses, state] = KEYS.map(key => memberOf(params, key))
    if (responses === undefined && state === undefined) return undefined
    if (repeatedKey(params, KEY_SET) !== undefined) throw invalidState()
    return {
      state: state === undefined ? undefined : this.#context.states.open(call, stringOf(state)),
      responses,
    }
  }

  /** Hands a retry to its parked call, if there is one. After a Fault the call stays parked. */
  isTaken(call: CallRecord, { state, responses }: Retry): boolean {
    if (state?.kind !== 'park') return false
    const was = this.#context.parkedCalls.retry(call, state, responses)
    if (was instanceof Fault) throw was
    return was === 'taken'
  }

  /** Returns how a retry without a parked call continues at its server, or its outcome. Throws a Fault. */
  resume(call: Call, { state, responses }: Retry, connection: Connection): Resumed | Answer {
    const { params } = call
    // Without a state, the server alone judges the answers.
    if (state === undefined) return { params }
    if (state.server !== connection.server.alias) throw invalidState()
    switch (state.kind) {
      case 'relay':
        return { params: withInner(params, state.inner) }
      case 'park':
        return { params: bare(params), earlier: this.#earlier(call, state, responses, connection) }
      case 'pre':
        this.#context.deferredRoots.answered(connection, state.parkId, responses)
        return { params: bare(params) }
      case 'url':
        return this.#visited(call, state, responses, connection)
      case 'sign-in':
      case 'roots':
      case 'approval':
        return { params: bare(params) }
    }
  }

  #earlier(
    call: Call,
    state: StateOf<'park'>,
    responses: JsonText | undefined,
    connection: Connection,
  ): EarlierRun {
    const { client, caller, method, params } = call
    if (!this.#context.parkedCalls.mayReplay({ client, caller, method, params, connection }))
      throw new Fault('invalid-params', 'Request state expired; call the tool again')
    return { round: state.round, answers: [...state.history, ...answersTo(state, responses)] }
  }

  #visited(
    call: Call,
    { elicitations }: StateOf<'url'>,
    responses: JsonText | undefined,
    connection: Connection,
  ): Resumed | Answer {
    const declined = declinedVisit(call, responses, connection.server.name)
    if (declined !== undefined) return declined
    return {
      params: bare(call.params),
      after: this.#context.urlElicitations.completed(connection, elicitations, VISIT_WAIT_MS),
    }
  }
}

/** Returns the outcome after a user declined to visit a page; undefined without such an answer. */
export const declinedVisit = (
  { method }: Call,
  responses: JsonText | undefined,
  server: string,
): Answer | undefined => {
  const action = responses && otherThanAccept(responses)
  if (action !== 'decline' && action !== 'cancel') return undefined
  const words = `Server ${server} needed a page to be visited; the user answered: ${action}`
  return noInput(method, words, server)
}

const otherThanAccept = (responses: JsonText): string | undefined => {
  for (const { value } of membersOf(responses)) {
    const action = textMember(value, 'action')
    if (action !== 'accept') return action
  }
  return undefined
}

export const bare = (params: JsonText | undefined): JsonText | undefined =>
  params && withoutMember(params, ...KEYS)

const withInner = (params: JsonText | undefined, inner: JsonText | undefined): JsonText | undefined =>
  params &&
  (inner === undefined ? withoutMember(params, 'requestState') : withMember(params, 'requestState', inner))

/** Returns a retry's answers to the questions of its state. Throws a Fault for a malformed answer. */
const answersTo = ({ asked }: StateOf<'park'>, responses: JsonText | undefined): History => {
  if (responses === undefined) return []
  if (kindOf(responses) !== 'object') throw new Fault('invalid-params', 'inputResponses must be an object')
  return asked.flatMap(({ key, method, question }) => {
    const answer = memberOf(responses, key)
    if (answer === undefined) return []
    if (!isAnswer(method, answer))
      throw new Fault('invalid-params', `inputResponses: ${key} is not an answer to ${method}`)
    return [[question, bareAnswer(method, answer)] as const]
  })
}
