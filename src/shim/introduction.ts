import { at, type JsonText, memberOf, withMember } from '../kernel/json/text.js'
import { encodeNotification, idKey, type Message } from '../wire/jsonrpc.js'
import { NOTHING, textIn } from './messages.js'

/** The most subscriptions that are renewed. */
const SUBSCRIPTIONS = 1000

const LISTS = ['tools', 'prompts', 'resources']

const changed = (
  isTold: (list: string) => JsonText | undefined,
  params: JsonText | undefined,
): readonly Buffer[] =>
  LISTS.filter(list => isTold(list)?.toString() === 'true').map(list =>
    encodeNotification(`notifications/${list}/list_changed`, params),
  )

/** The same for a subscription that was made again, in the words in which its client hears of it. */
export const changesFor = (acknowledged: JsonText): readonly Buffer[] => {
  const meta = memberOf(acknowledged, '_meta')
  const params = meta && withMember(NOTHING, '_meta', meta)
  return changed(list => at(acknowledged, 'notifications', `${list}ListChanged`), params)
}

/** What a client has said that another daemon must hear too, and what it was told about itself. */
export class Introduction {
  #asked: { readonly key: string; readonly line: Buffer } | undefined
  #answer: JsonText | undefined
  #confirmed: Buffer | undefined
  #level: Buffer | undefined
  readonly #subscriptions = new Map<string, Buffer>()

  /** Takes a message of the client. */
  said(message: Message, line: Buffer): void {
    if (message.kind === 'notification') {
      if (message.method === 'notifications/initialized') this.#confirmed = Buffer.from(line)
    } else if (message.kind === 'request') this.#requested(message, line)
  }

  /** Takes an answer to the client. */
  answered(id: JsonText, result: JsonText): void {
    if (this.#asked?.key === idKey(id)) this.#answer ??= Buffer.from(result) as JsonText
  }

  /** The client's `initialize`, once it was answered. */
  get initialize(): Buffer | undefined {
    return this.#answer && this.#asked?.line
  }

  /** Whether a new answer to it agrees on the same revision. */
  agrees(result: JsonText): boolean {
    return textIn(result, 'protocolVersion') === textIn(this.#answer, 'protocolVersion')
  }

  get confirmed(): Buffer | undefined {
    return this.#confirmed
  }

  /** The requests that set something for the session. */
  get wishes(): readonly Buffer[] {
    return [...(this.#level === undefined ? [] : [this.#level]), ...this.#subscriptions.values()]
  }

  /** Says that lists may have changed, where the client was told that we would say so. */
  get changes(): readonly Buffer[] {
    const answer = this.#answer
    if (answer === undefined) return []
    return changed(name => at(answer, 'capabilities', name, 'listChanged'), undefined)
  }

  #requested({ id, method, params }: Message & { kind: 'request' }, line: Buffer): void {
    const uri = textIn(params, 'uri')
    switch (method) {
      case 'initialize':
        this.#asked ??= { key: idKey(id), line: Buffer.from(line) }
        return
      case 'logging/setLevel':
        this.#level = Buffer.from(line)
        return
      case 'resources/subscribe':
        if (uri !== undefined && this.#subscriptions.size < SUBSCRIPTIONS)
          this.#subscriptions.set(uri, Buffer.from(line))
        return
      case 'resources/unsubscribe':
        if (uri !== undefined) this.#subscriptions.delete(uri)
        return
    }
  }
}
