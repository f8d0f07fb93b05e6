import { createHttpHost, type HttpHost } from '../../src/eras/legacy/http-host.js'
import { servePipe } from '../../src/eras/legacy/pipe-host.js'
import { silentLogger } from '../../src/kernel/logger.js'
import type { Reception } from '../../src/model/links.js'
import { originAllowed } from '../../src/transport/http-guards.js'
import { FarEnd } from './channel-pair.js'
import type { FakeClock } from './fake-clock.js'
import { FakeResponder, httpRequest } from './fake-http.js'
import { IDENTITY } from './fake-reception.js'
import { isObject, type Labels, Mismatch } from './vector-match.js'
import type { Json } from './vectors.js'

/** A client that a vector scripts, on a channel of its own. */
export class PipeClient {
  readonly #end = new FarEnd()
  readonly #got: Json[] = []
  /** Requests that the vector does not speak of; nor does it of their answers. */
  readonly #own = new Set<unknown>()

  constructor(reception: Reception, clock: FakeClock) {
    servePipe(this.#end.channel, 'local', { reception, identity: IDENTITY, log: silentLogger, clock })
    this.#end.onMessage = message => {
      if (message.method !== undefined || !this.#own.has(message.id))
        this.#got.push(message as unknown as Json)
    }
  }

  /** Sends a request whose answer is nobody's business. */
  sayOwn(message: Json): void {
    this.#own.add(message['id'])
    this.say(message)
  }

  say(message: Json): void {
    this.#end.say(message)
  }

  hangUp(): void {
    this.#end.hangUp()
  }

  take(): Json {
    const message = this.#got.shift()
    if (message === undefined) throw new Mismatch('the client got nothing')
    return message
  }

  /** Messages that no step has taken. */
  get waiting(): readonly Json[] {
    return this.#got
  }
}

const HEADERS = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
const lowerCase = (headers: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries((headers ?? {}) as Record<string, string>).map(([k, v]) => [k.toLowerCase(), v]),
  )

/** A client that a vector scripts over Streamable HTTP, in one session. */
export class HttpVectorClient {
  readonly #host: HttpHost
  #last: FakeResponder | undefined
  #isTaken = false
  #eventsTaken = 0

  constructor(reception: Reception, clock: FakeClock) {
    this.#host = createHttpHost({
      reception,
      clock,
      identity: IDENTITY,
      log: silentLogger,
      principalOf: () => 'local',
    })
  }

  close(): void {
    this.#host.close()
  }

  /** Sends `{"http":"POST /mcp","h":…,"body":…}`. */
  send(step: Json): FakeResponder {
    const [method = ''] = String(step['http']).split(' ')
    const headers = { ...HEADERS, ...lowerCase(step['h']) }
    const body = step['body'] as object | undefined
    const responder = new FakeResponder()
    this.#last = responder
    this.#isTaken = false
    this.#eventsTaken = 0
    // The guard stands in front of every face on a port.
    if (originAllowed(headers['origin' as keyof typeof headers], new Set()))
      this.#host.handle(httpRequest(method, headers, withVersion(body)), responder)
    else responder.send(403, {})
    return responder
  }

  /** The answer to the last request is nobody's business. */
  forget(): void {
    this.#last = undefined
  }

  /** Compares the answer to the last request, or its next event. */
  match(step: Json, labels: Labels): void {
    const last = this.#last
    if (last === undefined || last.answers === 0) throw new Mismatch('the request was not answered')
    if (typeof step['http'] === 'number') {
      if (this.#isTaken) throw new Mismatch('the request was answered once')
      this.#isTaken = true
      labels.match(step['http'], last.status, ['http'])
    }
    for (const [name, value] of Object.entries(lowerCase(step['h'])))
      labels.match(value, last.headers[name], ['h', name])
    if (step['body'] === undefined) return
    if (step['event'] === undefined) {
      labels.match(step['body'], withoutVersion(last.json), [])
      return
    }
    labels.match(step['body'], withoutVersion(last.messages[this.#eventsTaken]), [])
    this.#eventsTaken += 1
  }

  /** Why something is left that no step has taken; undefined if nothing is. */
  get leftOver(): string | undefined {
    const last = this.#last
    if (last === undefined) return undefined
    if (!last.isStream) return last.answers > 0 && !this.#isTaken ? `status ${last.status}` : undefined
    return last.messages.length > this.#eventsTaken ? `events: ${last.body}` : undefined
  }
}

const withVersion = (body: unknown): string | object => {
  if (body === undefined) return ''
  return Array.isArray(body) ? body.map(item => ({ jsonrpc: '2.0', ...(item as object) })) : (body as object)
}

/** A message as vectors write it. */
export const withoutVersion = (message: unknown): unknown => {
  if (!isObject(message)) return message
  const { jsonrpc, ...rest } = message
  if (jsonrpc !== '2.0') throw new Mismatch('jsonrpc is not 2.0')
  return rest
}
