import { Deferred } from '../../kernel/deferred.js'
import { errorText } from '../../model/fault-table.js'
import type { Principal } from '../../model/peer.js'
import type { Outlet, ReplyStream } from '../../rpc/host.js'
import type { Channel, ChannelListener } from '../../wire/channel.js'
import { type Classified, classify, type Malformed } from '../../wire/classify.js'
import { encodeRefusal } from '../../wire/jsonrpc.js'
import { LIMITS } from '../../wire/limits.js'
import { arrayOf, batchRefusal, runBatch } from './batch.js'
import { LegacyUplink, type UplinkOptions } from './uplink.js'

/** From this revision on an error without id is part of the schema; older SDK clients reject the frame. */
const IDLESS_ERRORS_SINCE = '2025-11-25'

/** A client that lets more than this pile up is cut off; two answers of the largest size are still fine. */
const BEHIND_BYTES = 2 * LIMITS.messageBytes

/** One legacy client on a channel of its own: our stdin and stdout, a WebSocket, a socket. */
export class PipeHost implements ChannelListener, Outlet, ReplyStream {
  readonly #channel: Channel
  readonly #uplink: LegacyUplink
  readonly #options: UplinkOptions
  readonly #gone = new Deferred<void>()
  readonly canAsk = true
  #asks = 0

  constructor(channel: Channel, principal: Principal, options: UplinkOptions) {
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
    // A client that does not read is not read from, so that it cannot make us queue more and more answers.
    if (!this.#channel.send(frame)) this.#channel.pause()
    // What servers say by themselves does not stop for that.
    if (this.#channel.queuedBytes > BEHIND_BYTES) void this.close('the client does not read')
  }

  end(frame: Buffer | undefined): void {
    if (frame !== undefined) this.send(frame)
  }

  tell(frame: Buffer): void {
    this.send(frame)
  }

  ask(frame: Buffer): void {
    this.send(frame)
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
      this.#malformed({ is: 'malformed', code: -32600, why: refusal, id: undefined, answers: false })
      return
    }
    const answers: Buffer[] = []
    runBatch(items, this.#uplink, {
      canAsk: true,
      related: frame => this.send(frame),
      answered: frame => answers.push(frame),
      done: () => {
        if (answers.length > 0) this.send(arrayOf(answers))
      },
    })
  }

  #malformed({ code, why, id, answers }: Malformed): void {
    this.#options.log.warn({ client: this.#uplink.id, why }, 'dropped a malformed message of the client')
    if (answers) return
    if (id === undefined && !(this.#uplink.isOpen && this.#uplink.revision >= IDLESS_ERRORS_SINCE)) return
    this.send(encodeRefusal(id, errorText(code, why)))
  }
}

/** Serves the one client at the other end of a channel. */
export const servePipe = (channel: Channel, principal: Principal, options: UplinkOptions): PipeHost =>
  new PipeHost(channel, principal, options)
