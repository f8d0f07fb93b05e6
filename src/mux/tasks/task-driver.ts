import type { Clock, Timer } from '../../kernel/async/clock.js'
import type { ByteAccount } from '../../kernel/byte-account.js'
import { Fault } from '../../kernel/faults.js'
import { type JsonText, kindOf, memberOf, objectText, textOf } from '../../kernel/json/text.js'
import type {
  CallSink,
  CancelReason,
  Downlink,
  DownstreamCall,
  Request,
  ServerRequest,
} from '../../model/links.js'
import { failed, midway, type Outcome, resulted } from '../../model/outcome.js'
import type { Progress } from '../../model/progress.js'
import type { CallHandle } from '../calls/in-flight-call.js'
import { noInput } from '../input-required/answers.js'
import type { RoundPlan } from '../input-required/rounds/input-rounds.js'
import { QuestionRound } from '../input-required/rounds/question-round.js'
import { ROUND_LIMITS } from '../input-required/rounds/round-driver.js'
import { readTask, type TaskState, withoutTask } from './task-state.js'

/** How long requests about a task that nobody follows any more may stay open. */
const LINGER_MS = 10_000

/** What following a task needs. */
export interface TaskOptions {
  /** For texts that clients read. */
  readonly server: string
  readonly clock: Clock
  /** How long the client may take for questions that a task returns; something else may limit it. */
  readonly waitMs: number
  /** Where is counted what waits for the client. */
  readonly account: ByteAccount
  /** What to ask the client for such a wish for input. */
  plan(wish: JsonText): RoundPlan
  /** Puts a question to the client. */
  ask(request: ServerRequest): void
  /** The user has been to the page that the client was asked to send it to: told before the result. */
  elicitationComplete(elicitationId: string): void
  /** The server said how the task stands. */
  stillAlive(): void
}

/**
 * One call of a tool that its server makes a task of, for a client that knows nothing of tasks: the task is asked about until
 * it is over, and its result is the result of the call. A task of 2025-11-25 gives its result, and asks its questions, when it
 * is asked for the result; one of the extension of 2026-07-28 (SEP-2663) returns both with its status.
 */
export class TaskDriver implements CallHandle, CallSink {
  readonly #link: Pick<Downlink, 'call' | 'facts' | 'serverRequests'>
  readonly #request: Request
  readonly #sink: CallSink
  readonly #makeOptions: () => TaskOptions
  #madeOptions: TaskOptions | undefined
  /** Requests under way about the task. */
  #open: Set<DownstreamCall> | undefined
  #call: DownstreamCall | undefined
  #isCalled = false
  #taskId: string | undefined
  #isResultAsked = false
  #poll: Timer | undefined
  #round: QuestionRound | undefined
  #rounds = 0
  /** Keys of questions that were answered: they are unique for the life of a task, and its status may be behind. */
  #answered: Set<string> | undefined
  #acceptedUrls: string[] | undefined
  #isOver = false

  constructor(
    link: Pick<Downlink, 'call' | 'facts' | 'serverRequests'>,
    request: Request,
    sink: CallSink,
    options: () => TaskOptions,
  ) {
    this.#link = link
    this.#request = request
    this.#sink = sink
    this.#makeOptions = options
  }

  get #options(): TaskOptions {
    this.#madeOptions ??= this.#makeOptions()
    return this.#madeOptions
  }

  /** The server's name for the task, if there is one. */
  get taskId(): string | undefined {
    return this.#taskId
  }

  isAbout(down: DownstreamCall): boolean {
    return (down === this.#call && !this.#isCalled) || this.#open?.has(down) === true
  }

  /** Makes the request, which follows tasks. Throws what the link throws. */
  start(): void {
    this.#call = this.#link.call(this.#request, this)
  }

  /** Nobody waits any more: the server hears of it in the way of tasks, once there is one. */
  cancel(reason: CancelReason): void {
    if (this.#isOver) return
    this.#close(reason)
    if (this.#taskId !== undefined) this.#cancelTask()
    // A task that was asked for is called off by its name, which is still to come.
    else if (this.#request.taskTtlMs !== undefined) this.#endSoon()
    else this.#call?.cancel(reason)
  }

  // ── what the server says ──

  progress(progress: Progress): void {
    this.#sink.progress(progress)
  }

  /** How the call of the tool ended. */
  ended(outcome: Outcome): void {
    this.#isCalled = true
    if (outcome.kind !== 'task') {
      this.#finish(outcome)
      return
    }
    const task = readTask(outcome.result)
    this.#taskId = task?.id
    if (!this.#isOver) {
      this.#turn(task)
      return
    }
    this.#forgetProgress()
    this.#cancelTask()
  }

  #turn(task: TaskState | undefined): void {
    const { server } = this.#options
    if (task === undefined || task.id !== this.#taskId) {
      this.#fail(`Server ${server} says what cannot be understood about a task`)
      return
    }
    this.#options.stillAlive()
    if (this.#link.serverRequests === 'returned') this.#turnWithResult(task)
    else this.#turnWithoutResult(task)
  }

  /** 2025-11-25: the request for the result waits for it, and is what questions come with. */
  #turnWithoutResult({ status, pollMs }: TaskState): void {
    if (status !== 'working' && !this.#isResultAsked) {
      this.#isResultAsked = true
      this.#ask('tasks/result', [], outcome =>
        this.#finish(outcome.kind === 'result' ? resulted(withoutTask(outcome.result)) : outcome),
      )
    }
    if (status === 'working' || status === 'input_required') this.#pollAfter(pollMs)
  }

  /** SEP-2663: questions and result stand beside the status. */
  #turnWithResult({ status, text, pollMs }: TaskState): void {
    const { server } = this.#options
    switch (status) {
      case 'working':
        this.#pollAfter(pollMs)
        return
      case 'input_required':
        this.#input(text, pollMs)
        return
      case 'completed': {
        const result = memberOf(text, 'result')
        if (result !== undefined && kindOf(result) === 'object') this.#finish(resulted(result))
        else this.#fail(`Server ${server} completed a task without a result`)
        return
      }
      case 'failed': {
        const error = memberOf(text, 'error')
        if (error !== undefined && memberOf(error, 'code') !== undefined)
          this.#finish({ kind: 'error', error, revision: this.#link.facts.revision })
        else this.#fail(`Server ${server} could not complete a task`)
        return
      }
      case 'cancelled':
        this.#fail(`Server ${server} cancelled a task`)
    }
  }

  #pollAfter(ms: number): void {
    this.#poll = this.#options.clock.after(ms, () => {
      this.#ask('tasks/get', [], outcome => {
        const isState = outcome.kind === 'result' || outcome.kind === 'task'
        if (isState) this.#turn(readTask(outcome.result))
        else this.#finish(outcome)
      })
    })
  }

  // ── questions that a task returns ──

  #input(text: JsonText, pollMs: number): void {
    const { server, clock, waitMs, account } = this.#options
    const plan = this.#options.plan(text)
    if (plan.is === 'abort') {
      this.#abort(plan.words)
      return
    }
    const questions =
      plan.is === 'ask' ? plan.questions.filter(({ key }) => this.#answered?.has(key) !== true) : []
    if (questions.length === 0) {
      this.#pollAfter(pollMs)
      return
    }
    this.#rounds += 1
    if (this.#rounds > ROUND_LIMITS.rounds) {
      this.#abort(`Server ${server} asked for input more than ${ROUND_LIMITS.rounds} times`)
      return
    }
    const round = new QuestionRound(questions, {
      server,
      clock,
      waitMs,
      bytes: text.length,
      account,
      isSequential: false,
      ask: request => this.#options.ask(request),
      over: end => {
        this.#round = undefined
        if (end.is === 'abort') {
          this.#abort(end.words)
          return
        }
        this.#acceptedUrls = [...(this.#acceptedUrls ?? []), ...round.acceptedUrls]
        this.#answered = new Set([...(this.#answered ?? []), ...questions.map(({ key }) => key)])
        this.#update(end.responses, pollMs)
      },
    })
    this.#round = round
    round.start()
  }

  #update(responses: JsonText, pollMs: number): void {
    this.#ask('tasks/update', [['inputResponses', responses]], outcome => {
      if (outcome.kind === 'result') this.#pollAfter(pollMs)
      else this.#finish(outcome)
    })
  }

  /** The task cannot go on without what nobody gives it. */
  #abort(words: string): void {
    this.#acceptedUrls = undefined
    this.#cancelTask()
    this.#finish(noInput(this.#request.method, words, this.#options.server))
  }

  // ── requests ──

  #ask(
    method: string,
    members: readonly (readonly [string, JsonText])[],
    on: (outcome: Outcome) => void,
  ): void {
    const params = objectText([['taskId', textOf(this.#taskId)], ...members])
    const { caller } = this.#request
    try {
      this.#send({ method, params, wantsProgress: false, caller, followsTasks: true }, outcome => {
        if (!this.#isOver) on(midway(outcome))
      })
    } catch (thrown) {
      this.#finish(failed(Fault.from(thrown)))
    }
  }

  #send(request: Request, on: (outcome: Outcome) => void): DownstreamCall {
    // A link may end a request before it returns it.
    const under: { isOver: boolean; down?: DownstreamCall } = { isOver: false }
    const sink: CallSink = {
      progress: progress => this.#sink.progress(progress),
      ended: outcome => {
        under.isOver = true
        if (under.down !== undefined) this.#open?.delete(under.down)
        on(outcome)
      },
    }
    const down = this.#link.call(request, sink)
    under.down = down
    if (!under.isOver) {
      this.#open ??= new Set()
      this.#open.add(down)
    }
    return down
  }

  /** Nobody waits for what the server says to that. */
  #cancelTask(): void {
    if (this.#taskId === undefined) return
    const { caller } = this.#request
    const params = textOf({ taskId: this.#taskId })
    try {
      this.#send(
        { method: 'tasks/cancel', params, wantsProgress: false, caller, followsTasks: true },
        () => undefined,
      )
    } catch {
      // The connection is gone, and the task with it.
    }
    this.#endSoon()
  }

  /** A server that has not answered by then never will. */
  #endSoon(): void {
    this.#options.clock.after(LINGER_MS, () => {
      const first = this.#isCalled ? [] : [this.#call]
      for (const down of [...first, ...(this.#open ?? [])]) down?.cancel('nobody waits for it')
    })
  }

  // ── the end ──

  #fail(words: string): void {
    this.#finish(failed(new Fault('internal', words, { data: { server: this.#options.server } })))
  }

  #finish(outcome: Outcome): void {
    if (this.#isOver) return
    this.#close('the request that it belongs to is over')
    if (outcome.kind === 'result')
      for (const id of this.#acceptedUrls ?? []) this.#options.elicitationComplete(id)
    this.#sink.ended(outcome)
  }

  /** The server tells of the progress of a task under the token of its call, until nobody listens there any more. */
  #forgetProgress(): void {
    if (this.#taskId !== undefined) this.#call?.cancel(undefined)
  }

  #close(reason: CancelReason): void {
    this.#isOver = true
    this.#forgetProgress()
    this.#poll?.cancel()
    this.#round?.withdraw(reason)
    this.#round = undefined
    if (this.#open !== undefined && this.#open.size > 0) this.#endSoon()
  }
}
