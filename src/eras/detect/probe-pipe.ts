import type { Clock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { unguessableId } from '../../kernel/ids.js'
import { type JsonText, rawText, textOf } from '../../kernel/json/text.js'
import type { Logger } from '../../kernel/logger.js'
import { said } from '../../kernel/mask.js'
import { errorText, RPC_CODES } from '../../model/fault-table.js'
import type { CallSink } from '../../model/links.js'
import type { Outcome } from '../../model/outcome.js'
import { type CallerContext, PipeCaller } from '../../rpc/channel/caller.js'
import type { Conversation, ConversationListener } from '../../rpc/channel/conversation.js'
import type { Channel } from '../../wire/channel.js'
import { discoverParams } from '../modern/server-side/discovered.js'
import { MODERN_REVISIONS, type ModernRevision } from '../versions.js'
import { type PipeProbe, type ProbeRules, type ProbeVerdict, verdictOfPipe } from './probe-verdict.js'

const EMPTY = rawText('{}')

/** What asking takes. */
export interface AskAround {
  readonly identity: JsonText
  /** How long the server may take to answer. */
  readonly limitMs: number
  readonly mayFallBack: boolean
  readonly signal: AbortSignal
}

/**
 * A channel to a server of which it is not known what it speaks: first it is asked, then whoever speaks the same takes the
 * conversation over.
 */
export class UnknownPipe implements ConversationListener {
  readonly talk: Conversation
  readonly #log: Logger
  readonly #clock: Clock
  #listener: ConversationListener | undefined
  /** Why the channel is closed. */
  #gone: Fault | undefined

  constructor(channel: Channel, around: CallerContext) {
    this.#log = around.log
    this.#clock = around.clock
    this.talk = new PipeCaller(channel, this, around)
  }

  /** Why the channel is closed; undefined while it is open. */
  get gone(): Fault | undefined {
    return this.#gone
  }

  /** From here on what the server says is heard by `listener`. */
  readonly handTo = (listener: ConversationListener): Conversation => {
    this.#listener = listener
    const gone = this.#gone
    if (gone !== undefined) queueMicrotask(() => listener.closed(gone))
    return this.talk
  }

  /**
   * Asks what the server speaks (2026-07-28, basic/transports/stdio, "Backward Compatibility"): nothing may come before this,
   * for some older servers end at anything but `initialize`. Rejects with the Fault `cancelled`.
   */
  async ask(around: AskAround): Promise<ProbeVerdict> {
    this.#listener = undefined
    const first = await this.#askOnce(MODERN_REVISIONS[0], false, around)
    return first.is === 'repeat' ? await this.#askOnce(first.revision, true, around) : first
  }

  async #askOnce(revision: ModernRevision, isRepeat: boolean, around: AskAround): Promise<ProbeVerdict> {
    // A text, so that a late answer is never taken for one to a numbered request.
    const id = `probe-${unguessableId()}`
    const rules: ProbeRules = { id: textOf(id), isRepeat, mayFallBack: around.mayFallBack }
    return verdictOfPipe(await this.#probe(id, discoverParams(revision, around.identity), around), rules)
  }

  #probe(id: string, params: JsonText, { limitMs, signal }: AskAround): Promise<PipeProbe> {
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        timer.cancel()
        signal.removeEventListener('abort', onAbort)
        // No `notifications/cancelled`: before `initialize` it ends sessions of the Python SDK.
        this.talk.forget(id)
      }
      const onAbort = (): void => {
        settle()
        reject(new Fault('cancelled', 'The connection attempt was called off'))
      }
      const timer = this.#clock.after(limitMs, () => {
        settle()
        resolve({ got: 'silence' })
      })
      signal.addEventListener('abort', onAbort)
      const sink: CallSink = {
        progress: () => undefined,
        ended: outcome => {
          settle()
          resolve(probeOf(outcome))
        },
      }
      if (signal.aborted) onAbort()
      else this.talk.request(id, 'server/discover', params, sink)
    })
  }

  // ── what the conversation tells ──

  asked(id: JsonText, method: string, params: JsonText | undefined, about: CallSink | undefined): void {
    if (this.#listener !== undefined) this.#listener.asked(id, method, params, about)
    else if (method === 'ping') this.talk.reply(id, EMPTY)
    else this.talk.refuse(id, errorText(RPC_CODES['unknown-method'], `Method not found: ${said(method)}`))
  }

  noticed(method: string, params: JsonText | undefined, about: CallSink | undefined): void {
    if (this.#listener !== undefined) this.#listener.noticed(method, params, about)
    else this.#log.debug({ method }, 'the server says something before it was introduced')
  }

  closed(fault: Fault): void {
    this.#gone = fault
    this.#listener?.closed(fault)
  }
}

const probeOf = (outcome: Outcome): PipeProbe => {
  switch (outcome.kind) {
    case 'result':
    case 'input':
    case 'task':
      return { got: 'result', result: outcome.result }
    case 'error':
      return { got: 'error', error: outcome.error }
    case 'fault': {
      // An answer that is malformed is one all the same; any other fault is that there is nobody to answer.
      const { code, message } = outcome.fault
      return code === 'internal'
        ? { got: 'error', error: errorText(RPC_CODES.internal, message) }
        : { got: 'exit' }
    }
  }
}
