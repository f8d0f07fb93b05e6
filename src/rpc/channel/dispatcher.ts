import { isUtf8 } from 'node:buffer'
import { Fault } from '../../kernel/faults.js'
import { mayContain } from '../../kernel/json/edit.js'
import type { JsonText } from '../../kernel/json/text.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { CallSink } from '../../model/links.js'
import { failed, succeeded } from '../../model/outcome.js'
import { Progress } from '../../model/progress.js'
import { type Classified, classifyWithin, type Malformed } from '../../wire/classify.js'
import type { Message } from '../../wire/jsonrpc.js'
import { salvageId } from '../../wire/salvage-id.js'
import type { ConversationListener } from './conversation.js'
import { PendingRequests } from './pending-requests.js'

/** Routes a server's messages: answers and progress to their requests, the rest to the listener. */
export class Dispatcher {
  readonly pending = new PendingRequests()
  readonly #listener: ConversationListener
  readonly #log: Logger
  readonly #bounds: LimitCounters

  constructor(listener: ConversationListener, log: Logger, bounds: LimitCounters) {
    this.#bounds = bounds
    this.#listener = listener
    this.#log = log
  }

  take(bytes: Buffer, about: CallSink | undefined): void {
    const classified = classifyWithin(bytes, this.#bounds)
    if (classified.is === 'message') this.#route(classified.message, about)
    else if (classified.is === 'malformed' && classified.id === undefined && !classified.hasMethod)
      this.#unreadable(bytes, about, classified)
    else this.#sort(classified, about)
  }

  /**
   * Ends the request whose answer was skipped because of its length; `ends` are the answer's first and last
   * bytes. If they show no id, all requests end, because one of them would wait forever.
   */
  tooLong(bytes: number, ends: Buffer): void {
    const why = failed(
      new Fault('too-large', `The server's answer of ${bytes} bytes is longer than the limit`),
    )
    const { id, isResponse } = salvageId(ends)
    if (!isResponse) return
    if (id !== undefined) this.pending.take(id)?.ended(why)
    else for (const sink of this.pending.drain()) sink.ended(why)
  }

  /** Ends every open request with `why`, and reports the end of the conversation. */
  close(why: Fault): void {
    this.endAll(why)
    this.lost(why)
  }

  endAll(why: Fault): void {
    for (const sink of this.pending.drain()) sink.ended(failed(why))
  }

  /** Reports the end of the conversation; open requests may still be answered. */
  lost(why: Fault): void {
    this.#listener.closed(why)
  }

  /** Decodes invalid UTF-8 leniently. A malformed message may still show which request it ends. */
  #unreadable(bytes: Buffer, about: CallSink | undefined, malformed: Malformed): void {
    if (!isUtf8(bytes)) {
      this.#log.debug({}, 'the server sent invalid UTF-8')
      this.take(Buffer.from(bytes.toString('utf8')), about)
      return
    }
    this.#dropped(malformed.why)
    const { id, isResponse } = salvageId(bytes)
    if (isResponse) this.pending.take(id)?.ended(failed(malformedFault(malformed)))
  }

  #sort(classified: Classified, about: CallSink | undefined): void {
    switch (classified.is) {
      case 'message':
        this.#route(classified.message, about)
        return
      case 'batch':
        // Servers of 2025-03-26 may send arrays (basic, "Batching"); the members are independent.
        for (const item of classified.items) this.#sort(item, about)
        return
      case 'malformed': {
        this.#dropped(classified.why)
        const sink = classified.hasMethod ? undefined : this.pending.take(classified.id)
        sink?.ended(failed(malformedFault(classified)))
      }
    }
  }

  #dropped(why: string): void {
    this.#bounds.remark('malformed')
    this.#log.warn({ why }, 'dropped a malformed message of the server')
  }

  #route(message: Message, about: CallSink | undefined): void {
    switch (message.kind) {
      case 'request':
        this.#listener.requested(message.id, message.method, message.params, about)
        return
      case 'notification':
        if (message.method === 'notifications/progress') this.#progress(message)
        else this.#listener.notified(message.method, message.params, about)
        return
      case 'result':
        this.#answered(message.id)?.ended(succeeded(message.result))
        return
      case 'error':
        this.#answered(message.id)?.ended({ kind: 'error', error: message.error })
    }
  }

  #answered(id: JsonText | undefined): CallSink | undefined {
    const sink = this.pending.take(id)
    // Late answers to cancelled requests are expected (cancellation, "Behavior Requirements").
    if (sink === undefined) this.#log.debug({}, 'dropped an answer to no open request')
    return sink
  }

  /** Progress of a task names the task once its request is over (2025-11-25, basic/utilities/tasks). */
  #progress({ method, params, progress: found }: Message & { kind: 'notification' }): void {
    if (params === undefined) return
    const progress = new Progress(params, found)
    const sink = this.pending.find(params, progress.tokenStart, progress.tokenEnd)
    if (sink !== undefined) sink.progress(progress)
    else if (mayContain(params, 'related-task')) this.#listener.notified(method, params, undefined)
  }
}

const malformedFault = ({ why, limit }: Malformed): Fault =>
  limit === undefined
    ? new Fault('internal', `The server's answer is malformed: ${why}`)
    : new Fault('too-large', `The server's answer is beyond a limit: ${why}`, { data: { limit } })
