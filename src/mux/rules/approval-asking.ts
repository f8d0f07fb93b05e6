import type { Clock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Deferred } from '../../kernel/async/deferred.js'
import { type JsonText, kindOf, memberOf, repeatedKey, textMember, textOf } from '../../kernel/json/text.js'
import type { Client, ServerRequest } from '../../model/links.js'
import { type Answer, failed, type Outcome } from '../../model/outcome.js'
import { type ClientCapabilities, hasElicitation } from '../../model/peer.js'
import { Progress } from '../../model/progress.js'
import { type CallVerdict, type RoutedRecord, TAKEN } from '../calls/call-record.js'
import { inputRequired } from '../input-required/questions.js'
import { mayNeedInput, type RequestStates } from '../input-required/retry/request-states.js'
import { type ApprovalQuestion, pageQuestion, questionForm, questionText } from './approval-question.js'
import type { Approval, ApprovalRecords } from './approval-records.js'
import type { SessionAnswers } from './approval-sessions.js'
import {
  approvalDeclined,
  approvalExpired,
  approvalImpossible,
  approvalNeeded,
  approvalWaiting,
} from './refusals.js'

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
type Method = 'form' | 'url' | 'hold' | 'refusal' | 'impossible'

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
    return this.#methodFor(record, approval).is !== 'impossible'
  }

  /** Asks about a call whose approval waits. */
  ask(record: RoutedRecord, approval: Approval): Verdict {
    record.asked = approval
    const { is, text = '' } = this.#methodFor(record, approval)
    const isReturned = record.client.serverRequests === 'returned'
    switch (is) {
      case 'form':
        approval.asks = 'form'
        return isReturned
          ? this.#sealed(record, approval, formParams(text, false))
          : this.#askForm(record, approval, text)
      case 'url':
        approval.asks = 'url'
        return isReturned
          ? this.#sealed(record, approval, this.#urlParams(approval))
          : this.#askUrl(record, approval)
      case 'hold':
        return this.#hold(record, approval)
      case 'refusal':
      case 'impossible':
        return this.#refusal(approval)
    }
  }

  /** Reads the answer that a retry brings to a waiting approval. */
  answered(record: RoutedRecord, approval: Approval): Verdict {
    const { responses } = record.retry ?? {}
    const answer = responses && kindOf(responses) === 'object' ? memberOf(responses, KEY) : undefined
    approval.holder = record
    record.asked = approval
    if (approval.asks === 'form') {
      if (answer === undefined) return this.ask(record, approval)
      this.#decide(record, approval, decisionIn(answer) === 'once')
      return this.decided(record, approval)
    }
    if (answer !== undefined && textMember(answer, 'action') !== 'accept') {
      this.#decide(record, approval, false)
      return this.decided(record, approval)
    }
    return this.#wait(record, approval, { ms: RETURN_MS }).then(() =>
      approval.state === 'waiting' ? this.ask(record, approval) : this.#continued(record, approval),
    )
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

  /** A call that is over, or whose approval another call has taken, changes nothing. */
  #continued(record: RoutedRecord, approval: Approval): Verdict {
    return record.isOver || approval.holder !== record ? TAKEN : this.decided(record, approval)
  }

  #methodFor(record: RoutedRecord, approval: Approval): { readonly is: Method; readonly text?: string } {
    const { ask } = approval.subject.rule
    const url = this.#context.pageUrl(approval.id)
    const isReachable = url !== undefined || this.#context.hasCommands()
    if (ask.of !== undefined) return { is: isReachable ? 'hold' : 'impossible' }
    const elicitation = elicitationOf(record)
    const takesForm = elicitation?.form === true && ask.via === 'client'
    const text = takesForm ? questionText(questionOf(record, approval, url)) : undefined
    if (text !== undefined) return { is: 'form', text }
    if (elicitation?.url === true && url !== undefined) return { is: 'url' }
    return { is: isReachable ? 'refusal' : 'impossible' }
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

  async #askForm(record: RoutedRecord, approval: Approval, text: string): Promise<CallVerdict> {
    const { rememberMs } = approval.subject.rule.ask
    const params = projected(record.client, formParams(text, rememberMs !== undefined))
    if (params === undefined) return this.#refusal(approval)
    const release = record.onCancelled(() => this.#records.withdraw(approval))
    const stop = this.#beat(record)
    const answer = await this.#elicit(record, approval, params).answered
    stop()
    release()
    if (answer?.kind === 'fault' && approval.state === 'waiting') {
      // The client was not asked after all.
      return record.isOver ? TAKEN : this.#refusal(approval)
    }
    if (answer !== undefined) {
      const decision = answer.kind === 'result' ? decisionIn(answer.result) : undefined
      const isForSession = rememberMs !== undefined && decision === 'session'
      this.#decide(record, approval, decision === 'once' || isForSession)
      if (isForSession && approval.state === 'granted')
        this.#context.sessions.remember(record.client, approval, rememberMs)
    }
    return this.#continued(record, approval)
  }

  async #askUrl(record: RoutedRecord, approval: Approval): Promise<CallVerdict> {
    const params = projected(record.client, this.#urlParams(approval))
    if (params === undefined) return this.#refusal(approval)
    const elicitation = this.#elicit(record, approval, params)
    const isOpened = elicitation.answered.then(answer => {
      if (answer?.kind === 'result' && textMember(answer.result, 'action') === 'accept') return true
      if (answer?.kind === 'result' && !record.isOver) this.#decide(record, approval, false)
      return false
    })
    await this.#wait(record, approval, { ms: this.#holdMs(record), unless: isOpened })
    const isDecided = approval.state !== 'waiting'
    const elicitationId = textMember(params, 'elicitationId')
    if (isDecided && !record.isOver && elicitationId !== undefined)
      record.notify('notifications/elicitation/complete', textOf({ elicitationId }))
    elicitation.withdraw()
    return isDecided || record.isOver ? this.#continued(record, approval) : this.#refusal(approval)
  }

  async #hold(record: RoutedRecord, approval: Approval): Promise<CallVerdict> {
    await this.#wait(record, approval, { ms: this.#holdMs(record) })
    return approval.state !== 'waiting' || record.isOver
      ? this.#continued(record, approval)
      : this.#refusal(approval)
  }

  /** Ends a call whose approval keeps waiting, for the next equal call. */
  #refusal(approval: Approval): Outcome {
    const { id, endsMs, endsAtMs, subject } = approval
    const { rule } = subject
    const url = this.#context.pageUrl(id)
    if (url === undefined && !this.#context.hasCommands()) {
      this.#records.withdraw(approval)
      return failed(approvalImpossible(rule))
    }
    approval.asks = 'refusal'
    approval.isSealed = false
    const waiting = { id, url, leftMs: endsMs - this.#context.clock.nowMs(), endsAtMs }
    return rule.ask.of === undefined ? approvalNeeded(rule, waiting) : approvalWaiting(rule, waiting)
  }

  #urlParams({ id, subject }: Approval): JsonText {
    return textOf({ mode: 'url', message: pageQuestion(subject.server), url: this.#context.pageUrl(id) })
  }

  #decide(record: RoutedRecord, approval: Approval, isAllowed: boolean): void {
    this.#records.decide(approval, isAllowed, { by: record.client.principal, via: 'form' })
  }

  /** Sends a question on the stream of the call. Its answer is undefined if the approval is over before. */
  #elicit(record: RoutedRecord, approval: Approval, params: JsonText) {
    const answer = new Deferred<Answer | undefined>()
    let isOpen = true
    const request: ServerRequest = {
      ...{ method: 'elicitation/create', params, about: undefined, wantsProgress: false },
      answer: outcome => {
        isOpen = false
        answer.resolve(outcome)
      },
      progress: () => undefined,
      onWithdrawn: undefined,
    }
    const withdraw = (): void => {
      if (isOpen) request.onWithdrawn?.('the call is decided or over')
      isOpen = false
      answer.resolve(undefined)
    }
    record.client.ask(request, record.call)
    void approval.settled.then(() => {
      if (approval.asks === 'form') withdraw()
    })
    return { answered: answer.promise, withdraw }
  }

  #holdMs({ wantsProgress }: RoutedRecord): number {
    return wantsProgress ? Number.POSITIVE_INFINITY : HOLD_MS
  }

  /** Waits for the decision, or for the end of the call; also ends if `unless` resolves to false. */
  async #wait(
    record: RoutedRecord,
    approval: Approval,
    { ms, unless }: { readonly ms: number; readonly unless?: Promise<boolean> },
  ): Promise<void> {
    const gone = new Deferred<void>()
    const release = record.onCancelled(() => gone.resolve())
    void unless?.then(isWorthWaiting => {
      if (!isWorthWaiting) gone.resolve()
    })
    const stop = this.#beat(record)
    await within(Promise.race([approval.settled, gone.promise]), { clock: this.#context.clock, ms })
    stop()
    release()
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

const formParams = (message: string, isForSession: boolean): JsonText =>
  textOf({ mode: 'form', message, requestedSchema: questionForm(isForSession) })

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
