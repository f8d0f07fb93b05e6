import { at, type JsonText, memberOf, withMember } from '../kernel/json/text.js'
import { encodeNotification, idKey, type Message } from '../wire/jsonrpc.js'
import { NO_MESSAGE, textIn } from './messages.js'

/** Maximum number of renewed subscriptions. */
const SUBSCRIPTIONS = 1000

const LISTS = ['tools', 'prompts', 'resources']

const changed = (
  isTold: (list: string) => JsonText | undefined,
  params: JsonText | undefined,
): readonly Buffer[] =>
  LISTS.filter(list => isTold(list)?.toString() === 'true').map(list =>
    encodeNotification(`notifications/${list}/list_changed`, params),
  )

/** Returns the notifications that stand for the acknowledgement of a renewed subscription. */
export const changesFor = (acknowledged: JsonText): readonly Buffer[] => {
  const meta = memberOf(acknowledged, '_meta')
  const params = meta && withMember(NO_MESSAGE, '_meta', meta)
  return changed(list => at(acknowledged, 'notifications', `${list}ListChanged`), params)
}

/** Keeps the messages of a client that a new daemon needs, and the answer to `initialize`. */
export class InitializeReplay {
  #asked: { readonly key: string; readonly line: Buffer } | undefined
  #answer: JsonText | undefined
  #confirmed: Buffer | undefined
  #level: Buffer | undefined
  readonly #subscriptions = new Map<string, Buffer>()

  /** Records a message of the client. */
  recordMessage(message: Message, line: Buffer): void {
    if (message.kind === 'notification') {
      if (message.method === 'notifications/initialized') this.#confirmed = Buffer.from(line)
    } else if (message.kind === 'request') this.#requested(message, line)
  }

  /** Records a result for the client. */
  recordResult(id: JsonText, result: JsonText): void {
    if (this.#asked?.key === idKey(id)) this.#answer ??= Buffer.from(result) as JsonText
  }

  /** The client's `initialize` request, once answered. */
  get initialize(): Buffer | undefined {
    return this.#answer && this.#asked?.line
  }

  /** Reports whether a new `initialize` result has the same revision. */
  hasSameRevision(result: JsonText): boolean {
    return textIn(result, 'protocolVersion') === textIn(this.#answer, 'protocolVersion')
  }

  get confirmed(): Buffer | undefined {
    return this.#confirmed
  }

  /** Requests that set the log level or subscribe. */
  get settings(): readonly Buffer[] {
    return [...(this.#level === undefined ? [] : [this.#level]), ...this.#subscriptions.values()]
  }

  /** `list_changed` notifications for all lists whose changes were announced to the client. */
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
