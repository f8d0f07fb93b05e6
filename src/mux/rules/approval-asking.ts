import type { Clock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Deferred } from '../../kernel/async/deferred.js'
import { type JsonText, kindOf, memberOf, repeatedKey, textMember, textOf } from '../../kernel/json/text.js'
import type { Client, ServerRequest } from '../../model/links.js'
import { failed, type Outcome } from '../../model/outcome.js'
import { type ClientCapabilities, hasElicitation } from '../../model/peer.js'
import { Progress } from '../../model/progress.js'
import { type CallVerdict, type RoutedRecord, TAKEN } from '../calls/call-record.js'
import { inputRequired } from '../input-required/questions.js'
import { mayNeedInput, type RequestStates } from '../input-required/retry/request-states.js'
import { type ApprovalQuestion, pageQuestion, questionForm, questionText } from './approval-question.js'
import type { Approval, ApprovalRecords } from './approval-records.js'
import type { SessionAnswers } from './approval-sessions.js'
import { approvalDeclined, approvalExpired, approvalImpossible, undecided } from './refusals.js'

/** Maximum time that a call without a progress token stays open: SDK clients give up after 60 s. */
const HOLD_MS = 45_000
/** Maximum time that a repeated request waits for a decision on the page. */
const RETURN_MS = 30_000
const FIRST_PROGRESS_MS = 2000
const PROGRESS_MS = 10_000
/** Values increase by such a small part that the server's own values still increase. */
const PROGRESS_PARTS = 1_000_000
/** Maximum time for a client to return; longer than any approval lasts, so that it is asked again. */
const STATE_MS = 2 * 3_600_000
const KEY = 'approval'
const DECISION = new Set(['decision'])

type Verdict = CallVerdict | Promise<CallVerdict>

interface Question {
  readonly is: Approval['asks']
  readonly params?: JsonText
}

interface Hold {
  readonly params?: JsonText
  readonly ms?: number
  readonly still?: () => Verdict
}

export interface AskingContext {
  readonly clock: Clock
  /** Returns the address of the page of an approval; undefined without pages. */
  readonly pageUrl: (id: string) => string | undefined
  /** Returns whether `mcp-proxy approve` can reach this process. */
  readonly hasCommands: () => boolean
  readonly states: () => Pick<RequestStates, 'seal' | 'replica'>
  readonly sessions: SessionAnswers
}

/** Called with a granted approval for the call that holds it. */
type OnGranted = (record: RoutedRecord, approval: Approval) => Verdict

/** Asks the client of a call, or holds the call until a person decides elsewhere. */
export class ApprovalAsking {
  readonly #context: AskingContext
  readonly #records: ApprovalRecords
  readonly #onGranted: OnGranted

  constructor(context: AskingContext, records: ApprovalRecords, onGranted: OnGranted) {
    this.#context = context
    this.#records = records
    this.#onGranted = onGranted
  }

  isPossible(record: RoutedRecord, approval: Approval): boolean {
    return this.#isReachable(approval) || this.#questionFor(record, approval).is === 'form'
  }

  /** Asks about a call whose approval waits. */
  ask(record: RoutedRecord, approval: Approval): Verdict {
    record.asked = approval
    const { is, params } = this.#questionFor(record, approval)
    approval.asks = is
    if (is === 'hold') return this.#held(record, approval)
    if (params === undefined) return this.#refusal(approval)
    if (record.client.serverRequests === 'returned') return this.#sealed(record, approval, params)
    const pushed = projected(record.client, params)
    return pushed === undefined ? this.#refusal(approval) : this.#held(record, approval, { params: pushed })
  }

  /** Reads the answer that a retry brings to a waiting approval. */
  answered(record: RoutedRecord, approval: Approval): Verdict {
    const { responses } = record.retry ?? {}
    const answer = responses && kindOf(responses) === 'object' ? memberOf(responses, KEY) : undefined
    approval.holder = record
    record.asked = approval
    if (answer === undefined && approval.asks === 'form') return this.ask(record, approval)
    if (answer !== undefined) this.#apply(record, approval, answer)
    return approval.state === 'waiting'
      ? this.#held(record, approval, { ms: RETURN_MS, still: () => this.ask(record, approval) })
      : this.decided(record, approval)
  }

  /** Returns how a call goes on once its approval is decided. */
  decided(record: RoutedRecord, approval: Approval): Verdict {
    const { state, subject } = approval
    record.asked = approval
    if (state === 'granted') return this.#onGranted(record, approval)
    if (state === 'expired') return failed(approvalExpired(subject.rule))
    if (state !== 'declined') return TAKEN
    approval.isReported = true
    return failed(approvalDeclined(subject.rule))
  }

  #isReachable({ id }: Approval): boolean {
    return this.#context.pageUrl(id) !== undefined || this.#context.hasCommands()
  }

  /** Returns how a call is asked about, and the question to its client. */
  #questionFor(record: RoutedRecord, approval: Approval): Question {
    const { id, subject } = approval
    const { ask } = subject.rule
    if (ask.of !== undefined) return { is: this.#isReachable(approval) ? 'hold' : 'refusal' }
    const url = this.#context.pageUrl(id)
    const elicitation = elicitationOf(record)
    const takesForm = elicitation?.form === true && ask.via === 'client'
    const message = takesForm ? questionText(questionOf(record, approval, url)) : undefined
    if (message !== undefined) {
      const isForSession = ask.rememberMs !== undefined && record.client.serverRequests === 'pushed'
      const requestedSchema = questionForm(isForSession)
      return { is: 'form', params: textOf({ mode: 'form', message, requestedSchema }) }
    }
    if (elicitation?.url !== true || url === undefined) return { is: 'refusal' }
    return { is: 'url', params: textOf({ mode: 'url', message: pageQuestion(subject.server), url }) }
  }

  /** Asks in a result; the client returns with the sealed state. */
  #sealed(record: RoutedRecord, approval: Approval, params: JsonText): Outcome {
    const { alias } = record.owner.server.options
    const states = this.#context.states()
    approval.isSealed = true
    approval.holder = undefined
    const facts = { kind: 'approval', approval: { id: approval.id }, replica: states.replica } as const
    const state = states.seal(record, alias, facts, STATE_MS)
    return {
      kind: 'input',
      result: inputRequired([{ key: KEY, method: 'elicitation/create', params }], state),
    }
  }

  /**
   * Keeps a call open until its approval is decided, it is cancelled, its client cannot be asked, or its time
   * is over. Meanwhile its client gets the question `params`. `still` continues an undecided call.
   */
  async #held(
    record: RoutedRecord,
    approval: Approval,
    { params, ms, still = () => this.#refusal(approval) }: Hold = {},
  ): Promise<CallVerdict> {
    const isForm = approval.asks === 'form'
    const gone = new Deferred<void>()
    const release = record.onCancelled(() => {
      if (isForm) this.#records.withdraw(approval)
      gone.resolve()
    })
    const end = params && this.#elicit(record, approval, { params, onUnanswered: () => gone.resolve() })
    const stop = this.#beat(record)
    const longest = isForm || record.wantsProgress ? Number.POSITIVE_INFINITY : HOLD_MS
    const { clock } = this.#context
    await within(Promise.race([approval.settled, gone.promise]), { clock, ms: ms ?? longest })
    stop()
    release()
    const isOver = approval.state !== 'waiting' || record.isOver
    end?.()
    if (!isOver) return still()
    // A call that is over, or whose approval another call has taken, changes nothing.
    return record.isOver || approval.holder !== record ? TAKEN : this.decided(record, approval)
  }

  /** Ends a call whose approval keeps waiting, for the next equal call. */
  #refusal(approval: Approval): Outcome {
    const { id, endsMs, endsAtMs, subject } = approval
    const { rule } = subject
    if (!this.#isReachable(approval)) {
      this.#records.withdraw(approval)
      return failed(approvalImpossible(rule))
    }
    approval.asks = 'refusal'
    approval.isSealed = false
    const url = this.#context.pageUrl(id)
    return undecided(rule, { id, url, leftMs: endsMs - this.#context.clock.nowMs(), endsAtMs })
  }

  /** Applies the answer of a client. Accepting a link only means that the page was opened. */
  #apply(record: RoutedRecord, approval: Approval, answer: JsonText): void {
    if (approval.asks !== 'form') {
      if (textMember(answer, 'action') !== 'accept') this.#decide(record, approval, false)
      return
    }
    const { rememberMs } = approval.subject.rule.ask
    const decision = decisionIn(answer)
    const isForSession = decision === 'session' && record.client.serverRequests === 'pushed'
    this.#decide(record, approval, decision === 'once' || (isForSession && rememberMs !== undefined))
    if (isForSession && rememberMs !== undefined && approval.state === 'granted')
      this.#context.sessions.remember(record.client, approval, rememberMs)
  }

  #decide(record: RoutedRecord, approval: Approval, isAllowed: boolean): void {
    this.#records.decide(approval, isAllowed, { by: record.client.principal, via: 'form' })
  }

  /** Sends a question on the stream of the call. Returns a function that ends it. */
  #elicit(
    record: RoutedRecord,
    approval: Approval,
    { params, onUnanswered }: { readonly params: JsonText; readonly onUnanswered: () => void },
  ): () => void {
    let isOpen = true
    const request: ServerRequest = {
      ...{ method: 'elicitation/create', params, about: undefined, wantsProgress: false },
      answer: answer => {
        if (!isOpen || record.isOver) return
        isOpen = false
        if (answer.kind === 'result') this.#apply(record, approval, answer.result)
        else if (answer.kind === 'error' && approval.asks === 'form') this.#decide(record, approval, false)
        else onUnanswered()
      },
      progress: () => undefined,
      onWithdrawn: undefined,
    }
    record.client.ask(request, record.call)
    return () => {
      const elicitationId = textMember(params, 'elicitationId')
      if (approval.state !== 'waiting' && !record.isOver && elicitationId !== undefined)
        record.notify('notifications/elicitation/complete', textOf({ elicitationId }))
      if (isOpen) request.onWithdrawn?.('the call is decided or over')
      isOpen = false
    }
  }

  /** Reports progress while a person decides; returns a function that stops it. */
  #beat(record: RoutedRecord): () => void {
    if (!record.wantsProgress) return () => undefined
    const { clock } = this.#context
    const send = (): void => {
      record.progressed = (Math.floor(Math.max(0, record.progressed) * PROGRESS_PARTS) + 1) / PROGRESS_PARTS
      record.progress(
        new Progress(
          textOf({ progressToken: 0, progress: record.progressed, message: 'Waiting for approval' }),
        ),
      )
      timer = clock.after(PROGRESS_MS, send)
    }
    let timer = clock.after(FIRST_PROGRESS_MS, send)
    return () => timer.cancel()
  }
}

/** Returns how a client can be asked about a call; undefined if it cannot. */
const elicitationOf = ({ client, method }: RoutedRecord): ClientCapabilities['elicitation'] => {
  const canAsk = client.serverRequests === 'pushed' || mayNeedInput(method)
  return canAsk && hasElicitation(client) ? client.capabilities.elicitation : undefined
}

const questionOf = (
  { method, owner, ownName: name, params }: RoutedRecord,
  { subject, changed, endsAtMs }: Approval,
  url: string | undefined,
): ApprovalQuestion => ({
  ...{ method, server: owner.server.name, name, rule: subject.rule, changed, endsAtMs, url },
  arguments: params && memberOf(params, 'arguments'),
})

/** Returns the params of a question in the client's revision; undefined if it has no such question. */
const projected = (client: Client, params: JsonText): JsonText | undefined => {
  const found = client.project('elicitation/create', params, true)
  return found.is === 'request' ? found.params : undefined
}

/** Returns the choice of an accepted form; undefined for any other answer. */
const decisionIn = (answer: JsonText): string | undefined => {
  if (textMember(answer, 'action') !== 'accept' || repeatedKey(answer, ANSWER) !== undefined) return undefined
  const content = memberOf(answer, 'content')
  if (content === undefined || kindOf(content) !== 'object') return undefined
  return repeatedKey(content, DECISION) === undefined ? textMember(content, 'decision') : undefined
}

const ANSWER = new Set(['action', 'content'])
