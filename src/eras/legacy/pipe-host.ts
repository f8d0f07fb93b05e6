import type { Clock } from '../../kernel/clock.js'
import { Deferred } from '../../kernel/deferred.js'
import type { JsonText } from '../../kernel/json-text.js'
import { errorText } from '../../model/fault-table.js'
import type { Principal } from '../../model/peer.js'
import type { Outlet, ReplyStream } from '../../rpc/host.js'
import type { Channel, ChannelListener } from '../../wire/channel.js'
import { type Classified, classify, type Malformed } from '../../wire/classify.js'
import { encodeRefusal } from '../../wire/jsonrpc.js'
import { arrayOf, batchRefusal, runBatch } from './batch.js'
import { LegacyUplink, type UplinkOptions } from './uplink.js'

/** From this revision on an error without id is part of the schema; older SDK clients reject the frame. */
const IDLESS_ERRORS_SINCE = '2025-11-25'

/** A client that is further behind than this when the next message comes is cut off; the message itself may be larger. */
const BEHIND_BYTES = 32 * 1024 * 1024

/**
 * An answer does not follow on the heels of what was said about its request: SDK clients handle notifications a moment later
 * than answers, and drop the progress of a request whose answer was in the same read.
 */
const SETTLE_MS = 5

/** What a face on a channel needs beside what every uplink needs. */
export interface PipeOptions extends UplinkOptions {
  readonly clock: Clock
}

/** One legacy client on a channel of its own: our stdin and stdout, a WebSocket, a socket. */
export class PipeHost implements ChannelListener, Outlet, ReplyStream {
  readonly #channel: Channel
  readonly #uplink: LegacyUplink
  readonly #options: PipeOptions
  readonly #gone = new Deferred<void>()
  readonly canAsk = true
  #asks = 0
  /** When something was last said about a request under way. */
  #saidAtMs = Number.NEGATIVE_INFINITY

  constructor(channel: Channel, principal: Principal, options: PipeOptions) {
    this.#channel = channel
    this.#options = options
    this.#uplink = new LegacyUplink(principal, this, options)
    channel.listen(this)
  }

  /** Resolves when the client is gone and its session is over. */
  get gone(): Promise<void> {
    return this.#gone.promise
  }

  /** Ends the session and the channel. */
  async close(reason: string): Promise<void> {
    this.#uplink.close(reason)
    await this.#channel.close()
  }

  // ── what the channel tells ──

  message(bytes: Buffer): void {
    this.#take(classify(bytes))
  }

  skipped(bytes: number): void {
    this.#options.log.warn({ bytes }, 'skipped a message of the client that is longer than the limit')
  }

  drained(): void {
    this.#channel.resume()
  }

  closed(): void {
    this.#uplink.close('the client closed the connection')
    this.#gone.resolve()
  }

  // ── what the uplink says: there is only one way to the client ──

  send(frame: Buffer): void {
    this.#saidAtMs = this.#options.clock.nowMs()
    this.tell(frame)
  }

  end(frame: Buffer | undefined): void {
    if (frame === undefined) return
    const { clock } = this.#options
    if (clock.nowMs() - this.#saidAtMs >= SETTLE_MS) this.tell(frame)
    else clock.after(SETTLE_MS, () => this.tell(frame))
  }

  tell(frame: Buffer): void {
    if (this.#channel.queuedBytes > BEHIND_BYTES) void this.close('the client does not read')
    // A client that does not read is not read from, so that it cannot make us queue more and more answers; what servers say
    // by themselves does not stop for that.
    else if (!this.#channel.send(frame)) this.#channel.pause()
  }

  ask(frame: Buffer): void {
    this.tell(frame)
  }

  nextAskId(): number {
    this.#asks += 1
    return this.#asks
  }

  #take(classified: Classified): void {
    switch (classified.is) {
      case 'message':
        this.#uplink.receive(classified.message, this)
        return
      case 'batch':
        this.#batch(classified.items)
        return
      case 'malformed':
        this.#malformed(classified)
    }
  }

  #batch(items: readonly Classified[]): void {
    const refusal = batchRefusal(items, this.#uplink)
    if (refusal !== undefined) {
      this.#refuse(-32600, refusal, undefined)
      return
    }
    const answers: Buffer[] = []
    runBatch(items, this.#uplink, {
      canAsk: true,
      related: frame => this.send(frame),
      answered: frame => answers.push(frame),
      done: () => {
        if (answers.length > 0) this.tell(arrayOf(answers))
      },
    })
  }

  #malformed({ code, why, id, answers }: Malformed): void {
    if (answers) this.#dropped(why)
    else this.#refuse(code, why, id)
  }

  #dropped(why: string): void {
    this.#options.log.warn({ client: this.#uplink.id, why }, 'dropped a malformed message of the client')
  }

  #refuse(code: number, why: string, id: JsonText | undefined): void {
    this.#dropped(why)
    if (id === undefined && !(this.#uplink.isOpen && this.#uplink.revision >= IDLESS_ERRORS_SINCE)) return
    this.tell(encodeRefusal(id, errorText(code, why)))
  }
}

/** Serves the one client at the other end of a channel. */
export const servePipe = (channel: Channel, principal: Principal, options: PipeOptions): PipeHost =>
  new PipeHost(channel, principal, options)
