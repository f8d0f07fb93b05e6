import type { Timer } from '../../../kernel/async/clock.js'
import type { Holding } from '../../../kernel/byte-account.js'
import type { Caller } from '../../../kernel/caller.js'
import { Fault } from '../../../kernel/faults.js'
import type { JsonText } from '../../../kernel/json/text.js'
import {
  Cancellable,
  type CancelReason,
  type Client,
  type Release,
  type ServerRequest,
} from '../../../model/links.js'
import type { McpLogLevel } from '../../../model/log-level.js'
import { type Answer, bytesOf, failed, type Outcome, succeeded } from '../../../model/outcome.js'
import type { Progress } from '../../../model/progress.js'
import type { Connection } from '../../../peers/connection.js'
import type { CallRecord, ClientSide } from '../../calls/call-record.js'
import { canBeAsked } from '../client-capabilities.js'
import { inputRequired, noInput } from '../questions.js'
import { invalidState } from '../retry/request-states.js'
import { BufferedNotifications, kept } from './buffered-notifications.js'
import type { EarlierRun, Parkable, ParkedCallContext } from './parked-call-context.js'
import {
  AnswerHistory,
  answerAll,
  askedUnder,
  type OpenQuestion,
  ParkedQuestions,
  type Waiter,
} from './parked-questions.js'

type State =
  | { readonly at: 'running' }
  | { readonly at: 'collecting'; readonly window: Timer }
  | { readonly at: 'parked'; readonly deadline: Timer }
  | { readonly at: 'finished'; readonly deadline: Timer; readonly outcome: Outcome }
  | { readonly at: 'over' }

const RUNNING: State = { at: 'running' }

/**
 * A request of a modern client at a legacy server, which may ask questions meanwhile. The in-flight call sees
 * one request, although the client retries it with answers.
 *
 *  running ── question ──▶ collecting ── window over ──▶ parked ── retry, all answered ──▶ running
 *  parked ── retry, questions left ──▶ parked;  parked ── outcome ──▶ finished ── retry, or deadline ──▶ over
 *  parked ── deadline ──▶ over, cancelled at the server, then its questions answered
 *  running, collecting ── outcome, client cancels, or too many rounds ──▶ over
 */
export class ParkedCall extends Cancellable implements ClientSide, Parkable {
  readonly connection: Connection
  readonly method: string
  readonly params: JsonText | undefined
  readonly wantsProgress: boolean
  party: number | undefined
  readonly #context: ParkedCallContext
  readonly #questions = new ParkedQuestions(() => this.#nothingToAsk())
  readonly #buffered = new BufferedNotifications()
  readonly #history: AnswerHistory
  readonly #holding: Holding
  /** The client's open request; while parked, the last one. */
  #upstream: CallRecord
  #detach: Release | undefined
  #state: State = RUNNING
  #round: number
  #beat: Timer | undefined
  #lastMs = Number.POSITIVE_INFINITY
  #parkedMs = 0

  constructor(call: CallRecord, connection: Connection, context: ParkedCallContext, earlier?: EarlierRun) {
    super()
    this.connection = connection
    this.method = call.method
    this.params = call.params
    this.wantsProgress = call.wantsProgress
    this.#context = context
    this.#round = earlier?.round ?? 0
    this.#history = new AnswerHistory(earlier?.answers)
    this.#upstream = call
    this.#holding = context.account.open(() => this.expire())
    this.#attach(call)
  }

  get client(): Client {
    return this.#upstream.client
  }

  get caller(): Caller {
    return this.#upstream.caller
  }

  get logLevel(): McpLogLevel | undefined {
    return this.#upstream.logLevel
  }

  get trace(): ClientSide['trace'] {
    return this.#upstream.trace
  }

  get at(): State['at'] {
    return this.#state.at
  }

  /** Returns whether the client was asked at or before a time and has not returned. */
  isParkedSince(ms: number): boolean {
    const { at } = this.#state
    return (at === 'parked' || at === 'finished') && this.#parkedMs <= ms
  }

  /** Accepts a question for the client. Returns false, without answering it, if there is no room. */
  ask(request: ServerRequest, waiter: Waiter): boolean {
    const { at } = this.#state
    if (at === 'finished' || at === 'over') return false
    const known = this.#history.take(request)
    if (known !== undefined) {
      request.answer(succeeded(known))
      return true
    }
    if (at === 'running') {
      if (!this.#context.admit(this)) return false
      const window = this.#context.clock.after(this.#context.limits.windowMs, () => this.#nextRound())
      this.#state = { at: 'collecting', window }
    }
    this.#questions.add(request, waiter)
    return true
  }

  progress(progress: Progress): void {
    if (this.#isAttached) {
      if (this.#upstream.wantsProgress) this.#upstream.progress(progress)
    } else if (this.#state.at === 'parked') {
      this.#buffered.progress(progress)
      this.#weigh()
    }
  }

  notify(method: string, params: JsonText | undefined): void {
    if (this.#isAttached) {
      if (this.#context.wantsNotification(this.#upstream, method, params))
        this.#upstream.notify(method, params)
    } else if (this.#state.at === 'parked') {
      this.#buffered.notify(method, params)
      this.#weigh()
    }
  }

  end(outcome: Outcome): void {
    const state = this.#state
    if (state.at === 'parked') {
      this.#stopBeat()
      answerAll(this.#questions.takeAll())
      this.#state = {
        at: 'finished',
        deadline: state.deadline,
        outcome: kept(outcome, this.#context.limits.resultBytes),
      }
      this.#weigh()
    } else if (this.#isAttached) {
      const questions = this.#close()
      answerAll(questions)
      this.#upstream.end(outcome)
    }
  }

  /** Takes over a retry, whose state names `round`. Returns a Fault if it must fail; then nothing changed. */
  retry(call: CallRecord, round: number, responses: JsonText | undefined): Fault | undefined {
    const state = this.#state
    const isForeign = round > this.#round || round < 1
    if (isForeign || (state.at !== 'parked' && state.at !== 'finished')) {
      // One retry per round: while its request is open, a second one is an error or an attack.
      return invalidState()
    }
    // The retry is counted and logged for the same server.
    if (this.#upstream.owner !== undefined) call.routedTo(this.#upstream.owner)
    if (state.at === 'finished') {
      this.#close()
      this.#buffered.replay(call, this.#context)
      call.end(state.outcome)
      return undefined
    }
    // The result of an earlier round was lost: its questions are asked again, and its answers ignored.
    if (round < this.#round) {
      this.#upstream = call
      call.end(this.#inputRequired())
      return undefined
    }
    const answers = this.#questions.read(responses)
    if (answers instanceof Fault) return answers
    this.#resume(call, state.deadline, answers)
    return undefined
  }

  /** Ends a parked call as at its deadline; a running one is left to its in-flight call. */
  expire(): void {
    const { at } = this.#state
    if (at !== 'parked' && at !== 'finished') return
    if (at === 'parked') this.#abandon('input not provided')
    else this.#close()
  }

  #resume(call: CallRecord, deadline: Timer, answers: ReadonlyMap<OpenQuestion, Answer>): void {
    deadline.cancel()
    this.#stopBeat()
    this.#context.onParked?.(this.#context.clock.nowMs() - this.#parkedMs)
    this.trace?.waited('parked', this.#parkedMs)
    this.#state = RUNNING
    this.#weigh()
    this.#attach(call)
    this.#buffered.replay(call, this.#context)
    for (const [question, outcome] of answers) {
      if (outcome.kind === 'result' && this.#context.mayReplay(this))
        this.#history.add(question.request, outcome.result)
      this.#questions.settle(question, outcome)
    }
    if (!this.#isAttached) return
    if (this.#questions.size > 0) this.#nextRound()
    else this.#context.release(this)
  }

  #refuseOthers(): void {
    this.#questions.failUnless(this.client.capabilities)
    if (this.#isAttached && this.#questions.size === 0) {
      this.#state = RUNNING
      this.#context.release(this)
    }
  }

  #nextRound(): void {
    const { clock, limits } = this.#context
    if (this.#state.at === 'collecting') this.#state.window.cancel()
    this.#refuseOthers()
    if (!this.#isAttached || this.#questions.size === 0) return
    if (this.#lastMs === Number.POSITIVE_INFINITY) this.#lastMs = clock.nowMs() + limits.totalMs
    const waitMs = Math.min(limits.roundMs, this.#lastMs - clock.nowMs())
    if (this.#round >= limits.rounds) {
      this.#giveUp(`Server ${this.connection.server.name} asked for input more than ${limits.rounds} times`)
      return
    }
    if (waitMs <= 0) {
      this.#giveUp(`Server ${this.connection.server.name} waited too long for input`)
      return
    }
    this.#round += 1
    this.#questions.number(this.#round)
    const outcome = this.#inputRequired()
    this.#parkedMs = clock.nowMs()
    this.#state = { at: 'parked', deadline: clock.after(waitMs, () => this.expire()) }
    // SDK servers give up on a question after 60 s without progress.
    this.#beat = clock.every(limits.beatMs, () => this.#questions.beat())
    this.#upstream.end(outcome)
    this.#weigh()
  }

  #inputRequired(): Outcome {
    try {
      return { kind: 'input', result: this.#asked() }
    } catch (thrown) {
      return failed(Fault.from(thrown))
    }
  }

  #asked(): JsonText {
    const { capabilities } = this.client
    const questions = this.#questions.keyed.filter(request => canBeAsked(request, capabilities))
    const isKept = this.#context.mayReplay(this)
    const state = this.#context.mintState(this, {
      round: this.#round,
      asked: isKept ? askedUnder(questions) : [],
      history: isKept ? this.#history.entries : [],
    })
    return inputRequired(questions, state)
  }

  #giveUp(words: string): void {
    this.#abandon('input not provided')
    this.#upstream.end(noInput(this.method, words, this.connection.server.name))
  }

  /** Cancels the call before any answer, so that the server does not continue in vain. */
  #abandon(reason: CancelReason): void {
    const questions = this.#close()
    this.cancelled(reason)
    answerAll(questions)
  }

  /** Ends the call; returns the questions that must still be answered. */
  #close(): readonly ServerRequest[] {
    const state = this.#state
    if (state.at === 'collecting') state.window.cancel()
    if (state.at === 'parked' || state.at === 'finished') state.deadline.cancel()
    this.#stopBeat()
    this.#state = { at: 'over' }
    this.#weigh()
    this.#context.release(this)
    this.#context.forget(this)
    return this.#questions.takeAll()
  }

  #nothingToAsk(): void {
    if (this.#state.at !== 'collecting') return
    this.#state.window.cancel()
    this.#state = RUNNING
    this.#context.release(this)
  }

  #weigh(): void {
    const state = this.#state
    const kept = (this.params?.length ?? 0) + this.#buffered.bytes
    if (state.at === 'parked') this.#holding.set(kept + this.#questions.bytes)
    else this.#holding.set(state.at === 'finished' ? kept + bytesOf(state.outcome) : 0)
  }

  #stopBeat(): void {
    this.#beat?.cancel()
    this.#beat = undefined
  }

  get #isAttached(): boolean {
    return this.#state.at === 'running' || this.#state.at === 'collecting'
  }

  #attach(call: CallRecord): void {
    this.#detach?.()
    this.#upstream = call
    this.#detach = call.onCancelled(reason => {
      if (this.#isAttached) this.#abandon(reason)
    })
  }
}
