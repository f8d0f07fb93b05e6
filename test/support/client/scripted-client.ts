import type { ClientHandler } from '../../../src/model/links.js'
import { originAllowed } from '../../../src/transport/http/guards.js'
import { mirrored } from '../era/codec.js'
import { HopWatch } from '../era/revision-watch.js'
import type { FakeClock } from '../fake-clock.js'
import { isObject, type Json, type Labels, Mismatch } from '../match.js'
import { serveHttpClients, servePipeClient, serveSseClients } from '../proxy/listeners.js'
import { FarEnd } from '../wire/channel-pair.js'
import { FakeResponder, httpRequest } from '../wire/fake-http.js'

/** A client driven by a vector. */
export interface ScriptedClient {
  readonly watch: HopWatch
  /** Sends a message of the vector, unchanged or as an HTTP request. */
  say(message: Json): void
  /** Sends a request whose answer is ignored. */
  sayOwn(message: Json): void
  /** Compares the next received message with a message of the vector. */
  match(expected: Json, labels: Labels): void
  /** Takes the next received message. */
  take(): Json
  /** A message that no step has taken; undefined if none is left. */
  readonly leftOver: string | undefined
  /** True if unread messages remain. */
  readonly hasMore: boolean
  hangUp(): void
  close(): void
}

/** A client on its own channel. */
export class ScriptedPipeClient implements ScriptedClient {
  readonly watch = new HopWatch()
  readonly #end = new FarEnd()
  readonly #got: Json[] = []
  readonly #own = new Set<unknown>()

  constructor(handler: ClientHandler, clock: FakeClock) {
    servePipeClient(handler, clock, this.#end.channel)
    this.#end.onMessage = message => {
      this.watch.proxySays(message)
      const about = message.method === undefined ? message.id : subscriptionOf(message.params)
      if (about === undefined || !this.#own.has(about)) this.#got.push(message as unknown as Json)
    }
  }

  say(message: Json): void {
    this.watch.peerSays(message)
    this.#end.say(message)
  }

  sayOwn(message: Json): void {
    this.#own.add(message['id'])
    this.say(message)
  }

  match(expected: Json, labels: Labels): void {
    labels.match(expected, withoutVersion(this.take()))
  }

  take(): Json {
    const message = this.#got.shift()
    if (message === undefined) throw new Mismatch('the client got nothing')
    return message
  }

  get hasMore(): boolean {
    return this.#got.length > 0
  }

  get leftOver(): string | undefined {
    return this.hasMore ? JSON.stringify(this.#got[0]) : undefined
  }

  hangUp(): void {
    this.#end.hangUp()
  }

  close(): void {
    this.hangUp()
  }
}

/** Returns the listen request that a notification belongs to. */
const subscriptionOf = (params: Json | undefined): unknown =>
  (params?.['_meta'] as Json | undefined)?.['io.modelcontextprotocol/subscriptionId']

const HEADERS = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
const lowerCase = (headers: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries((headers ?? {}) as Record<string, string>).map(([k, v]) => [k.toLowerCase(), v]),
  )

/** A client over Streamable HTTP: with one session before 2026-07-28, without sessions since. */
export class ScriptedHttpClient implements ScriptedClient {
  readonly watch = new HopWatch(true)
  readonly #host: ReturnType<typeof serveHttpClients>
  #last: FakeResponder | undefined
  #isTaken = false
  #eventsTaken = 0
  #eventsWatched = 0

  constructor(handler: ClientHandler, clock: FakeClock) {
    this.#host = serveHttpClients(handler, clock)
  }

  close(): void {
    this.#host.close()
  }

  /** Sends `{"http":"POST /mcp","h":…,"body":…}`, or a message as the body of such a request. */
  say(step: Json): void {
    this.request(step)
  }

  sayOwn(step: Json): void {
    this.request(step)
    this.forget()
  }

  request(step: Json): FakeResponder {
    const { http, h, body } = 'http' in step ? step : { http: 'POST /mcp', h: mirrored(step), body: step }
    const [method = ''] = String(http).split(' ')
    const headers = { ...HEADERS, ...lowerCase(h) }
    const responder = new FakeResponder()
    this.#last = responder
    this.#isTaken = false
    this.#eventsTaken = 0
    this.#eventsWatched = 0
    if (body !== undefined) this.watch.peerSays(body as object)
    // The guard precedes every endpoint on a port.
    if (originAllowed(headers['origin' as keyof typeof headers], new Set()))
      this.#host.handle(httpRequest(method, headers, withVersion(body)), responder)
    else responder.send(403, {})
    return responder
  }

  /** Ignores the answer to the last request. */
  forget(): void {
    this.#last = undefined
  }

  match(step: Json, labels: Labels): void {
    const last = this.#answered()
    if (typeof step['http'] === 'number') {
      if (this.#isTaken) throw new Mismatch('the request was answered once')
      labels.match(step['http'], last.status, ['http'])
    }
    for (const [name, value] of Object.entries(lowerCase(step['h'])))
      labels.match(value, last.headers[name], ['h', name])
    const body = 'http' in step || 'event' in step ? step['body'] : step
    if (body === undefined) this.#isTaken = true
    else labels.match(body, withoutVersion(this.take()), [])
  }

  take(): Json {
    const last = this.#answered()
    if (last.isStream) {
      const message = last.messages[this.#eventsTaken]
      if (message === undefined) throw new Mismatch('the client got nothing')
      this.#eventsTaken += 1
      return message as unknown as Json
    }
    if (this.#isTaken) throw new Mismatch('the request was answered once')
    this.#isTaken = true
    return last.body === '' ? {} : (last.json as unknown as Json)
  }

  #answered(): FakeResponder {
    if (this.#last === undefined || this.#last.answers === 0)
      throw new Mismatch('the request was not answered')
    this.watchNew()
    return this.#last
  }

  /** Passes newly received messages to the watch. */
  watchNew(): void {
    const last = this.#last
    if (last === undefined || last.answers === 0 || last.body === '') return
    const messages = last.isStream
      ? last.messages
      : last.headers['content-type'] === undefined
        ? []
        : [last.json]
    for (const message of messages.slice(this.#eventsWatched)) this.watch.proxySays(message)
    this.#eventsWatched = messages.length
  }

  get hasMore(): boolean {
    const last = this.#last
    if (last === undefined) return false
    if (last.isStream) return last.messages.length > this.#eventsTaken
    return last.answers > 0 && !this.#isTaken
  }

  get leftOver(): string | undefined {
    this.watchNew()
    return this.hasMore ? `status ${this.#last?.status}: ${this.#last?.body}` : undefined
  }

  hangUp(): void {
    this.#last?.goAway()
  }
}

/** A client over HTTP+SSE. */
export class ScriptedSseClient implements ScriptedClient {
  readonly watch = new HopWatch()
  readonly #host: ReturnType<typeof serveSseClients>
  readonly #stream = new FakeResponder()
  readonly #own = new Set<unknown>()
  /** Starts at 1, because the first event names the POST URL. */
  #eventsTaken = 1

  constructor(handler: ClientHandler, clock: FakeClock) {
    this.#host = serveSseClients(handler, clock)
    this.#host.stream(httpRequest('GET', { accept: 'text/event-stream' }), this.#stream)
  }

  say(message: Json): void {
    this.watch.peerSays(message)
    const query = new URL(this.#stream.events[0]?.text ?? '', 'http://x').searchParams
    this.#host.messages({ ...httpRequest('POST', HEADERS, message), query }, new FakeResponder())
  }

  sayOwn(message: Json): void {
    this.#own.add(message['id'])
    this.say(message)
  }

  match(expected: Json, labels: Labels): void {
    labels.match(expected, withoutVersion(this.take()))
  }

  take(): Json {
    const [message] = this.#waiting()
    if (message === undefined) throw new Mismatch('the client got nothing')
    this.watch.proxySays(message)
    this.#eventsTaken += 1
    return message
  }

  get hasMore(): boolean {
    return this.#waiting().length > 0
  }

  get leftOver(): string | undefined {
    return this.hasMore ? JSON.stringify(this.#waiting()[0]) : undefined
  }

  hangUp(): void {
    this.#stream.goAway()
  }

  close(): void {
    this.#host.close()
  }

  #waiting(): readonly Json[] {
    const all = this.#stream.events.map(({ text }, at) => (at === 0 ? {} : (JSON.parse(text) as Json)))
    while (this.#eventsTaken < all.length && this.#own.has(all[this.#eventsTaken]?.['id']))
      this.#eventsTaken += 1
    return all.slice(this.#eventsTaken)
  }
}

const withVersion = (body: unknown): string | object => {
  if (body === undefined) return ''
  return Array.isArray(body) ? body.map(item => ({ jsonrpc: '2.0', ...(item as object) })) : (body as object)
}

/** Returns a message in the vectors' format. */
export const withoutVersion = (message: unknown): unknown => {
  if (!isObject(message)) return message
  const { jsonrpc, ...rest } = message
  if (jsonrpc !== '2.0') throw new Mismatch('jsonrpc is not 2.0')
  return rest
}
