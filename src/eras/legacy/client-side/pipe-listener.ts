import { LimitCounters } from '../../../kernel/limit-counters.js'
import type { Principal } from '../../../model/peer.js'
import type { PipeWriter } from '../../../rpc/channel/writer.js'
import type { UplinkOptions } from '../../../rpc/host.js'
import type { Classified } from '../../../wire/classify.js'
import type { Message } from '../../../wire/jsonrpc.js'
import { BatchAnswers, batchError, runBatch } from './batch.js'
import { LegacyUplink } from './uplink.js'

/** From this revision on an error without id is part of the schema; older SDK clients reject the frame. */
const IDLESS_ERRORS_SINCE = '2025-11-25'

/** Serves a channel for the revisions with a handshake: one session, for as long as the channel lives. */
export class LegacyPipeListener {
  readonly #uplink: LegacyUplink
  readonly #writer: PipeWriter
  readonly #bounds: LimitCounters

  constructor(principal: Principal, writer: PipeWriter, options: UplinkOptions) {
    this.#writer = writer
    this.#bounds = options.bounds ?? new LimitCounters()
    this.#uplink = new LegacyUplink(principal, writer, options)
  }

  /** Whether the client has sent a valid `initialize`. */
  get isKnown(): boolean {
    return this.#uplink.isKnown
  }

  /** Whether the client can be told what was wrong with a message whose id is not known. */
  get readsErrorsWithoutId(): boolean {
    return this.#uplink.isOpen && this.#uplink.revision >= IDLESS_ERRORS_SINCE
  }

  message(message: Message): void {
    this.#uplink.receive(message, this.#writer)
  }

  /** Runs an array of messages; its answers are one array. Returns why it is not run, if so. */
  batch(items: readonly Classified[]): string | undefined {
    const refusal = batchError(items, this.#uplink)
    if (refusal !== undefined) return refusal
    const answers = new BatchAnswers(this.#bounds.unread)
    runBatch(items, this.#uplink, {
      canAsk: true,
      send: (frame, mayDrop) => this.#writer.send(frame, mayDrop),
      answered: (frame, id) => answers.add(frame, id),
      done: () => {
        const frame = answers.take()
        if (frame !== undefined) this.#writer.tell(frame)
      },
    })
    return undefined
  }

  /** Whether the client waits for anything. */
  get isBusy(): boolean {
    return this.#uplink.isBusy
  }

  /** The client says nothing more. */
  mute(): void {
    this.#uplink.mute()
  }

  close(reason: string): void {
    this.#uplink.close(reason)
  }
}
