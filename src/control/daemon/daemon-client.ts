import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { Fault } from '../../kernel/faults.js'
import {
  type JsonText,
  memberOf,
  membersOf,
  objectText,
  textMember,
  textOf,
  valueOf,
} from '../../kernel/json/text.js'
import { DEFAULT_LIMITS } from '../../kernel/limits.js'
import { IDENTITY } from '../../kernel/machine/identity.js'
import { isObject, objectIn } from '../../kernel/object.js'
import type { ListName } from '../../model/listing.js'
import { type Answer, failed, succeeded } from '../../model/outcome.js'
import { NEWEST_LEGACY } from '../../model/revision.js'
import { askToConnect, bodyOf } from '../../shim/ask.js'
import { decodeRefusal, decodeWelcome, HELLO_HEADER, type Hello, isProven } from '../../shim/hello.js'
import { messagesOf } from '../../shim/messages.js'
import { isAbsent, isHangUp, type RuntimePaths } from '../../shim/place.js'
import { LineSplitter } from '../../wire/framing/ndjson.js'
import { encodeError, encodeNotification, encodeRequest, type Message } from '../../wire/jsonrpc.js'
import { type LocalClientOptions, readWholeList } from '../local-client.js'
import { asking, tokenInFile } from './daemon-lock.js'

/** Time limit for a stopping proxy to be replaced. */
const DRAIN_MS = 10_000
const POLL_MS = 100
const LF = Buffer.from('\n')
const PROGRESS = 'notifications/progress'
const UNASKED = textOf({ code: -32601, message: 'This client answers no requests' })

interface DaemonClientOptions extends Pick<LocalClientOptions, 'onProgress'> {
  /** The name in the list of clients; see `isOwnProgram`. */
  readonly name: string
}

/** A client of the daemon that sends requests and answers none. */
export class DaemonClient {
  readonly #stream: Duplex
  readonly #onProgress: DaemonClientOptions['onProgress']
  readonly #waiting = new Map<string, (answer: Answer) => void>()
  #capabilities: unknown
  #last = 0

  private constructor(stream: Duplex, { onProgress }: DaemonClientOptions) {
    this.#stream = stream
    this.#onProgress = onProgress
    const lines = new LineSplitter({ maxBytes: DEFAULT_LIMITS.message })
    const tooLong = new Fault('too-large', 'The proxy sent a message beyond the limit')
    stream.on('data', (chunk: Buffer) => {
      const onLine = (line: Buffer): void => {
        for (const message of messagesOf(line)) this.#take(message)
      }
      lines.push(chunk, onLine, () => this.#fail(tooLong))
    })
    stream.once('close', () => this.#fail(new Fault('disconnected', 'The proxy ended')))
    stream.resume()
  }

  /**
   * Returns undefined if no proxy is running. Rejects with a Fault: `timeout` if the proxy does not answer.
   */
  static async open(place: RuntimePaths, options: DaemonClientOptions): Promise<DaemonClient | undefined> {
    const stream = await openStream(place, options.name)
    if (stream === undefined) return undefined
    const client = new DaemonClient(stream, options)
    const params = { protocolVersion: NEWEST_LEGACY, capabilities: {}, clientInfo: IDENTITY }
    const welcome = await client.request('initialize', textOf(params))
    if (welcome.kind !== 'result') {
      client.close()
      throw welcome.kind === 'fault'
        ? welcome.fault
        : new Fault('unavailable', 'The proxy refused this client')
    }
    const capabilities = memberOf(welcome.result, 'capabilities')
    client.#capabilities = capabilities && valueOf(capabilities)
    client.#send(encodeNotification('notifications/initialized', undefined))
    return client
  }

  /** See `LocalClient.list`. */
  list(list: ListName): Promise<JsonText[]> {
    const known = isObject(this.#capabilities) ? this.#capabilities : {}
    return readWholeList(list, known, (method, params) => this.request(method, params))
  }

  /** See `LocalClient.request`. */
  request(method: string, params?: JsonText): Promise<Answer> {
    this.#last += 1
    const id = this.#last
    const all = this.#onProgress === undefined ? params : withProgressToken(params, id)
    return new Promise(resolve => {
      if (this.#stream.destroyed) resolve(failed(new Fault('disconnected', 'The proxy ended')))
      else {
        this.#waiting.set(String(id), resolve)
        this.#send(encodeRequest(id, method, all))
      }
    })
  }

  /** Disconnects. The proxy cancels the requests in flight. */
  close(): void {
    this.#stream.destroy()
  }

  #send(line: Buffer): void {
    this.#stream.write(Buffer.concat([line, LF]))
  }

  #take(message: Message): void {
    if (message.kind === 'request') this.#send(encodeError(message.id, UNASKED))
    else if (message.kind === 'notification') {
      if (message.method === PROGRESS && message.params !== undefined) this.#onProgress?.(message.params)
    } else {
      const key = message.id?.toString() ?? ''
      const settle = this.#waiting.get(key)
      this.#waiting.delete(key)
      settle?.(message.kind === 'result' ? succeeded(message.result) : answerIn(message.error))
    }
  }

  #fail(fault: Fault): void {
    const waiting = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const settle of waiting) settle(failed(fault))
    this.#stream.destroy()
  }
}

const withProgressToken = (params: JsonText | undefined, token: number): JsonText =>
  objectText([
    ...(params === undefined ? [] : [...membersOf(params)].map(({ key, value }) => [key, value] as const)),
    ['_meta', textOf({ progressToken: token })],
  ])

/** Errors of the proxy are faults, as for a client in its process. Other errors come from servers. */
const answerIn = (error: JsonText): Answer => {
  const data = objectIn(memberOf(error, 'data')?.toString() ?? '') ?? {}
  const message = textMember(error, 'message') ?? ''
  if (data['errorId'] === undefined) return { kind: 'error', error }
  const isLogin = data['reason'] === 'needs-auth' || data['reason'] === 'insufficient-scope'
  return failed(new Fault(isLogin ? 'unauthorized' : 'unavailable', message, { data }))
}

const openStream = async (place: RuntimePaths, name: string): Promise<Duplex | undefined> => {
  for (const endMs = performance.now() + DRAIN_MS; ; ) {
    try {
      const stream = await tryStream(place, name)
      if (stream !== 'draining') return stream
    } catch (thrown) {
      if (isAbsent(thrown)) return undefined
      if (!isHangUp(thrown)) throw thrown
    }
    if (performance.now() >= endMs) throw new Fault('unavailable', 'the proxy is stopping')
    await delay(POLL_MS)
  }
}

const tryStream = async (place: RuntimePaths, client: string): Promise<Duplex | 'draining'> => {
  const options = asking(place)
  const hello: Hello = { ...options.hello, client, cwd: process.cwd() }
  const { status, headers, stream } = await askToConnect({ ...options, hello })
  if (status !== 101) {
    const { no, say = 'the proxy refused this client' } = decodeRefusal(await bodyOf(stream))
    if (no === 'draining') return 'draining'
    throw new Fault('unavailable', say)
  }
  const { proof } = decodeWelcome(headers.get(HELLO_HEADER)) ?? {}
  if (isProven(tokenInFile(place.token), 'daemon', { nonce: hello.nonce, proof })) return stream
  stream.destroy()
  throw new Fault('unavailable', `the program at ${place.socket} is not mcp-proxy`)
}
