import type { Clock, Timer } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { type JsonText, kindOf, memberOf, objectText, textOf } from '../../kernel/json/text.js'
import type {
  CallSink,
  CancelReason,
  Downlink,
  DownstreamCall,
  OnLate,
  Requester,
} from '../../model/links.js'
import { answerOf, failed, midway, type Outcome, succeeded } from '../../model/outcome.js'
import type { CallHandle, TaskHandle } from '../calls/in-flight-call.js'
import { noInput } from '../input-required/questions.js'
import type { RoundEnd } from '../input-required/rounds/input-rounds.js'
import { type InputSource, QuestionRound } from '../input-required/rounds/question-round.js'
import { readTask, type TaskState, withoutRelated } from './task-state.js'

/** Maximum time that requests about a finished task may stay open. */
const LINGER_MS = 10_000

export interface TaskCall {
  /** The call at the server, which carries the task's progress. */
  readonly down: CallHandle | undefined
  readonly link: Pick<Downlink, 'call' | 'facts' | 'serverRequests'>
  readonly requester: Requester
  readonly result: JsonText
}

export interface TaskSink extends CallSink {
  stillAlive(): void
}

/**
 * Polls the task that a server created for a call, for a client without task support, and ends the call with
 * its result. A 2025-11-25 task returns its result and its questions on a request for the result; an SEP-2663
 * task (2026-07-28) returns both with its status.
 */
export class TaskDriver implements TaskHandle {
  readonly #call: TaskCall
  readonly #sink: TaskSink
  readonly #input: InputSource
  readonly #task: TaskState | undefined
  readonly #open = new Set<DownstreamCall>()
  #isResultAsked = false
  #poll: Timer | undefined
  #round: QuestionRound | undefined
  #rounds = 0
  /** Keys of answered questions: unique for the life of a task, while its status may lag behind. */
  readonly #answered = new Set<string>()
  readonly #acceptedUrls: string[]
  #isOver = false

  constructor(call: TaskCall, sink: TaskSink, input: InputSource) {
    this.#call = call
    this.#sink = sink
    this.#input = input
    this.#task = readTask(call.result)
    this.#acceptedUrls = [...(call.down?.acceptedUrls ?? [])]
  }

  get taskId(): string | undefined {
    return this.#task?.id
  }

  isAbout(down: DownstreamCall): boolean {
    return this.#open.has(down)
  }

  start(): void {
    this.#turn(this.#task)
  }

  cancel(reason: CancelReason, onLate?: OnLate): void {
    if (this.#isOver) return
    this.#close(reason)
    this.#cancelTask(onLate)
  }

  #turn(task: TaskState | undefined): void {
    if (task === undefined || task.id !== this.taskId) {
      this.#fail('returned invalid data about a task')
      return
    }
    this.#sink.stillAlive()
    if (this.#call.link.serverRequests === 'returned') this.#turnWithResult(task)
    else this.#turnWithoutResult(task)
  }

  /** 2025-11-25: the request for the result blocks, and carries the questions. */
  #turnWithoutResult({ status, pollMs }: TaskState): void {
    if (status !== 'working' && !this.#isResultAsked) {
      this.#isResultAsked = true
      this.#request('tasks/result', [], outcome =>
        this.#finish(outcome.kind === 'result' ? succeeded(withoutRelated(outcome.result)) : outcome),
      )
    }
    if (status === 'working' || status === 'input_required') this.#pollAfter(pollMs)
  }

  /** SEP-2663: questions and result come with the status. */
  #turnWithResult({ status, text, pollMs }: TaskState): void {
    switch (status) {
      case 'working':
        this.#pollAfter(pollMs)
        return
      case 'input_required':
        this.#ask(text, pollMs)
        return
      case 'completed': {
        const result = memberOf(text, 'result')
        if (result !== undefined && kindOf(result) === 'object') this.#finish(succeeded(result))
        else this.#fail('completed a task without a result')
        return
      }
      case 'failed': {
        const error = memberOf(text, 'error')
        if (error !== undefined && memberOf(error, 'code') !== undefined)
          this.#finish({ kind: 'error', error, revision: this.#call.link.facts.revision })
        else this.#fail('could not complete a task')
        return
      }
      case 'cancelled':
        this.#fail('cancelled a task')
    }
  }

  #pollAfter(ms: number): void {
    this.#poll = this.#input.clock.after(ms, () => {
      this.#request('tasks/get', [], outcome => {
        const isState = outcome.kind === 'result' || outcome.kind === 'task'
        if (isState) this.#turn(readTask(outcome.result))
        else this.#finish(outcome)
      })
    })
  }

  #ask(text: JsonText, pollMs: number): void {
    const { server, limits } = this.#input
    const plan = this.#input.plan(text)
    if (plan.is === 'abort') {
      this.#abort(plan.words)
      return
    }
    const questions = plan.is === 'ask' ? plan.questions.filter(({ key }) => !this.#answered.has(key)) : []
    if (questions.length === 0) {
      this.#pollAfter(pollMs)
      return
    }
    this.#rounds += 1
    if (this.#rounds > limits.rounds) {
      this.#abort(`Server ${server} asked for input more than ${limits.rounds} times`)
      return
    }
    const over = (end: RoundEnd): void => {
      this.#round = undefined
      if (end.is === 'abort') {
        this.#abort(end.words)
        return
      }
      this.#acceptedUrls.push(...round.acceptedUrls)
      for (const { key } of questions) this.#answered.add(key)
      this.#update(end.responses, pollMs)
    }
    const round = new QuestionRound(
      { questions, waitMs: limits.roundMs, bytes: text.length, over },
      this.#input,
    )
    this.#round = round
    round.start()
  }

  #update(responses: JsonText, pollMs: number): void {
    this.#request('tasks/update', [['inputResponses', responses]], outcome => {
      if (outcome.kind === 'result') this.#pollAfter(pollMs)
      else this.#finish(outcome)
    })
  }

  #abort(words: string): void {
    this.#acceptedUrls.length = 0
    this.#cancelTask()
    this.#finish(noInput('tools/call', words, this.#input.server))
  }

  #request(
    method: string,
    members: readonly (readonly [string, JsonText])[],
    on: (outcome: Outcome) => void,
  ): void {
    try {
      this.#send(method, members, outcome => {
        if (!this.#isOver) on(midway(outcome))
      })
    } catch (thrown) {
      this.#finish(failed(Fault.from(thrown)))
    }
  }

  #send(
    method: string,
    members: readonly (readonly [string, JsonText])[],
    on: (outcome: Outcome) => void,
  ): void {
    const { link, requester } = this.#call
    const params = objectText([['taskId', textOf(this.taskId)], ...members])
    // A link may end a request before it returns it.
    const under: { isOver: boolean; down?: DownstreamCall } = { isOver: false }
    const sink: CallSink = {
      owner: this.#sink.owner,
      progress: progress => this.#sink.progress(progress),
      ended: outcome => {
        under.isOver = true
        if (under.down !== undefined) this.#open.delete(under.down)
        on(outcome)
      },
    }
    under.down = link.call({ method, params, wantsProgress: false, requester, followsTasks: true }, sink)
    if (!under.isOver) this.#open.add(under.down)
  }

  #cancelTask(onLate?: OnLate): void {
    if (this.taskId === undefined) return
    try {
      this.#send('tasks/cancel', [], () => onLate?.())
    } catch {
      // The connection is lost, and the task with it.
    }
    this.#endSoon()
  }

  /** A server that has not answered within this time never will. */
  #endSoon(): void {
    this.#input.clock.after(LINGER_MS, () => {
      for (const down of this.#open) down.cancel('the client no longer waits for it')
    })
  }

  #fail(what: string): void {
    const { server } = this.#input
    this.#finish(failed(new Fault('internal', `Server ${server} ${what}`, { data: { server } })))
  }

  #finish(outcome: Outcome): void {
    if (this.#isOver) return
    this.#close('the request that it belongs to is over')
    if (outcome.kind === 'result') for (const id of this.#acceptedUrls) this.#input.elicitationComplete(id)
    this.#sink.ended(answerOf(outcome))
  }

  #close(reason: CancelReason): void {
    this.#isOver = true
    // The server reports the progress of a task under the token of its call.
    this.#call.down?.cancel(undefined)
    this.#poll?.cancel()
    this.#round?.withdraw(reason)
    this.#round = undefined
    if (this.#open.size > 0) this.#endSoon()
  }
}

/** Wraps a call that asks for a task: a cancellation waits until the server has named the task. */
export const cancelledByName = (down: DownstreamCall, clock: Clock): CallHandle => ({
  isAbout: other => other === down,
  cancel: (_reason, onLate) =>
    void clock.after(LINGER_MS, () => down.cancel('the client no longer waits for it', onLate)),
})
