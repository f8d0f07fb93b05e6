import { type JsonText, memberOf, textMember } from '../../../kernel/json/text.js'
import type { Principal } from '../../../model/peer.js'
import type { PipeWriter } from '../../../rpc/channel/writer.js'
import type { HostOptions } from '../../../rpc/host.js'
import { idKey, isId, type Message } from '../../../wire/jsonrpc.js'
import { ModernUplink } from './uplink.js'

/** Serves a channel for this revision: requests that stand for themselves, until the channel is gone. */
export class ModernPipeListener {
  readonly #principal: Principal
  readonly #writer: PipeWriter
  readonly #uplink: ModernUplink

  constructor(principal: Principal, writer: PipeWriter, options: HostOptions) {
    this.#principal = principal
    this.#writer = writer
    this.#uplink = new ModernUplink(options, 'channel')
  }

  /** Whether the client has ever asked anything in this revision. */
  get isUsed(): boolean {
    return this.#uplink.hasClients
  }

  /** Whether the client waits for anything. */
  get isBusy(): boolean {
    return this.#uplink.isBusy
  }

  message(message: Message & { kind: 'request' | 'notification' }): void {
    if (message.kind === 'request') {
      const key = idKey(message.id)
      const arrival = { principal: this.#principal, replies: this.#writer, key, headers: undefined }
      this.#uplink.receive(message, arrival)
    } else if (message.method === 'notifications/cancelled') {
      this.cancel(message.params)
    }
  }

  /** Cancels the request that a `notifications/cancelled` names; false if none of ours has that id. */
  cancel(params: JsonText | undefined): boolean {
    const id = params && memberOf(params, 'requestId')
    const call = id && isId(id) ? this.#uplink.find(idKey(id)) : undefined
    if (params === undefined || call === undefined) return false
    call.cancel(textMember(params, 'reason'))
    return true
  }

  close(reason: string): void {
    this.#uplink.close(reason)
  }
}
