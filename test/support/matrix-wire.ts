import { EventEmitter, once } from 'node:events'
import { HopWatch } from './hop-watch.js'
import type { AnyTransport } from './matrix-transports.js'
import type { Loose } from './raw-client.js'

/** Any message, loosely, for assertions. */
export interface AnyMessage {
  readonly id?: string | number | undefined
  readonly method?: string
  readonly params?: Loose
  readonly result?: Loose
  readonly error?: { code: number; message: string; data?: Loose }
}

/** Ids and tokens of clients can be told from all others by this. */
const MARK = 'client-'
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'

const marked = (value: unknown): string => `${MARK}${typeof value}-${String(value)}`
const unmarked = (value: unknown): unknown => {
  const [, type, text] = /^client-(number|string)-(.*)$/.exec(String(value)) ?? []
  return type === undefined ? value : type === 'number' ? Number(text) : text
}

/** A message with one member of it, at this path, turned into another; itself if it has none. */
const turned = (message: Loose, path: readonly string[], turn: (value: unknown) => unknown): Loose => {
  const [name = '', ...rest] = path
  if (message?.[name] === undefined) return message
  return { ...message, [name]: rest.length === 0 ? turn(message[name]) : turned(message[name], rest, turn) }
}

const markedAll = (message: AnyMessage): AnyMessage => {
  const withToken = turned(message, ['params', '_meta', 'progressToken'], marked)
  if (message.method === 'notifications/cancelled') return turned(withToken, ['params', 'requestId'], marked)
  return message.method === undefined ? withToken : turned(withToken, ['id'], marked)
}

const unmarkedAll = (message: AnyMessage): AnyMessage =>
  [
    ...(message.method === undefined ? [['id']] : []),
    ['params', 'progressToken'],
    ['params', 'requestId'],
    ['params', '_meta', SUBSCRIPTION],
    ['result', '_meta', SUBSCRIPTION],
  ].reduce((said, path) => turned(said, path, unmarked), message)

/** What went over a client's transport, in order, as it went; the SDK above has its own ids. */
export class Wire {
  readonly sent: AnyMessage[] = []
  readonly heard: AnyMessage[] = []
  /** What is checked of everything that the proxy says. */
  readonly watch = new HopWatch(true)
  readonly #events = new EventEmitter().setMaxListeners(0)

  /** Listens at a transport that is not started; `initialize` offers `revision` whatever the SDK would offer. */
  constructor(transport: AnyTransport, revision: string) {
    const send = transport.send.bind(transport)
    transport.send = (message, options) => {
      const said = markedAll(offering(message, revision))
      this.sent.push(said)
      this.watch.peerSays(said)
      return send(said, options)
    }
    // The SDKs exchange their handlers, also after the start.
    let hear: AnyTransport['onmessage']
    const onMessage: AnyTransport['onmessage'] = (message, extra) => {
      this.heard.push(message)
      this.watch.proxySays(message)
      hear?.(unmarkedAll(message), extra)
      this.#events.emit('message')
    }
    Object.defineProperty(transport, 'onmessage', {
      get: () => (hear === undefined ? undefined : onMessage),
      set: (handler: AnyTransport['onmessage']) => {
        if (handler !== onMessage) hear = handler
      },
    })
  }

  /** The first message heard that fits, from now or from the `from`-th on. */
  async hears(fits: (message: AnyMessage) => boolean, from = 0): Promise<AnyMessage> {
    for (;;) {
      const found = this.heard.slice(from).find(fits)
      if (found !== undefined) return found
      await once(this.#events, 'message')
    }
  }

  /** The last call of a tool that was sent. */
  lastCall(tool: string): AnyMessage | undefined {
    return this.sent.findLast(({ method, params }) => method === 'tools/call' && params.name === tool)
  }

  /** The answer to a request, and what was heard before it. */
  answerTo(request: AnyMessage | undefined) {
    const at = this.heard.findIndex(({ id, method }) => id === request?.id && method === undefined)
    return { answer: this.heard[at], before: this.heard.slice(0, Math.max(at, 0)) }
  }

  /** Texts of the proxy that have a meaning on this hop only: cursors, states, ids of its own questions. */
  get minted(): readonly string[] {
    return this.heard
      .flatMap(({ id, method, result }) => [
        result?.nextCursor,
        result?.requestState,
        method === undefined ? undefined : id,
      ])
      .filter(value => typeof value === 'string')
  }
}

const offering = (message: AnyMessage, revision: string): AnyMessage =>
  message.method === 'initialize'
    ? { ...message, params: { ...message.params, protocolVersion: revision } }
    : message
