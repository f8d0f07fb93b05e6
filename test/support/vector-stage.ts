import { silentLogger } from '../../src/kernel/logger.js'
import { Router } from '../../src/mux/router.js'
import { FakeClock, settled } from './fake-clock.js'
import { SHOWN } from './mux.js'
import { HttpVectorClient, PipeClient, withoutVersion } from './vector-clients.js'
import { aliasesOf, clientCapabilities, isHttp, methodOf, planOf } from './vector-implied.js'
import { isLabel, isObject, Labels, Mismatch } from './vector-match.js'
import { type Received, VectorServer } from './vector-servers.js'
import { type Json, revisionOf, type Step, type Vector } from './vectors.js'

/** A request that the driver makes for a vector that shows only what follows from it. */
interface OwnRequest {
  readonly id?: unknown
  readonly token?: unknown
}

/** Questions that a server asks in the course of a call. */
const DURING_CALLS = new Set(['sampling/createMessage', 'elicitation/create'])

/** Plays one vector against the real proxy. Rejects with a Mismatch that says which step went otherwise, and how. */
export const play = async (vector: Vector, wording: Readonly<Record<string, string>>): Promise<void> => {
  const stage = new Stage(vector, wording)
  try {
    await stage.prepare()
    for (const [index, step] of vector.steps.entries()) {
      try {
        await stage.step(step, index)
      } catch (thrown) {
        if (!(thrown instanceof Mismatch)) throw thrown
        throw new Mismatch(`step ${index + 1} ${step.way} ${JSON.stringify(step.message)}\n${thrown.message}`)
      }
    }
    stage.expectSilence()
  } finally {
    await stage.close()
  }
}

/** The proxy between the peers of one vector. */
class Stage {
  readonly #vector: Vector
  readonly #clock = new FakeClock()
  readonly #labels: Labels
  readonly #servers: readonly VectorServer[]
  readonly #router: Router
  readonly #client: PipeClient
  readonly #http: HttpVectorClient
  /** Requests at servers that the vector knows of and that have no answer. */
  #open = 0
  #ownRequests = 0

  constructor(vector: Vector, wording: Readonly<Record<string, string>>) {
    this.#vector = vector
    this.#labels = new Labels(wording)
    this.#servers = aliasesOf(vector).map(alias => new VectorServer(planOf(vector, alias), this.#clock))
    this.#router = new Router({
      servers: this.#servers.map(({ plan: { alias } }) => ({
        name: alias,
        alias,
        sharing: 'principal',
        maxConnections: 1000,
        start: 'lazy',
        timeouts: { connectMs: 60_000, listMs: 30_000, callMs: 300_000, totalMs: 3_600_000 },
      })),
      showingOf: () => ({ ...SHOWN, uris: 'preserve' }),
      isAlone: false,
      dial: (name, greeting, listener, signal) => this.#server(name).dial(greeting, listener, signal),
      clock: this.#clock,
      log: silentLogger,
      pageSize: 100,
      startupWaitMs: 5000,
      listWaitMs: 3000,
    })
    this.#client = new PipeClient(this.#router, this.#clock)
    this.#http = new HttpVectorClient(this.#router, this.#clock)
  }

  // ── before, after and between the steps ──

  async prepare(): Promise<void> {
    const { steps, note } = this.#vector
    const [first] = steps
    const isGreeting = first !== undefined && methodOf(first) === 'initialize'
    const isStranger = /nothing sent before|unknown session/.test(note ?? '')
    if (!isGreeting && !isStranger) {
      if (isHttp(this.#vector, 'c')) await this.#greetHttp()
      else await this.#greet(this.#client)
    }
    if (note?.startsWith('two clients') === true) {
      const other = new PipeClient(this.#router, this.#clock)
      await this.#greet(other)
      for (const client of [this.#client, other]) await this.#provideFrom(client, 'tools/call', {})
    }
    const scripted = new Set(
      steps.filter(({ way }) => way.includes('s')).flatMap(step => methodOf(step) ?? []),
    )
    for (const server of this.#servers) server.scripted = scripted
  }

  async close(): Promise<void> {
    this.#http.close()
    await this.#router.close()
  }

  /** Whatever was sent was a step. */
  expectSilence(): void {
    for (const { plan, waiting } of this.#servers) {
      const [first] = waiting
      if (first !== undefined) throw new Mismatch(`server ${plan.alias} got ${JSON.stringify(first.message)}`)
    }
    const [first] = this.#client.waiting
    if (first !== undefined) throw new Mismatch(`the client got ${JSON.stringify(first)}`)
    if (this.#http.leftOver !== undefined) throw new Mismatch(`the client got ${this.#http.leftOver}`)
  }

  /** Lets everything happen that needs no more than a moment. */
  async #quiet(): Promise<void> {
    await settled()
    this.#clock.advance(5)
    await settled()
  }

  // ── steps ──

  async step(step: Step, index: number): Promise<void> {
    switch (step.way) {
      case 'c>p':
        return await this.#clientSays(step, index)
      case 's>p':
        return await this.#serverSays(step, index)
      case 'p>c':
        return await this.#clientHears(step, index)
      case 'p>s':
        return await this.#serverHears(step, index)
    }
  }

  async #clientSays({ message }: Step, index: number): Promise<void> {
    const { id } = message
    const isReply = 'result' in message || 'error' in message
    if (isReply && isLabel('id', id) && !this.#labels.has(id)) await this.#provideQuestion(id, index)
    this.expectSilence()
    if ('http' in message) this.#http.send(this.#labels.fill(this.#inSession(message)) as Json)
    else this.#client.say(this.#labels.fill(message) as Json)
    await this.#quiet()
  }

  async #serverSays(step: Step, index: number): Promise<void> {
    const { message } = step
    const server = this.#server(step.alias)
    const { id, method } = message
    if (method === undefined && isLabel('id', id)) {
      if (!this.#labels.has(id)) await this.#provideFor(step, id, index)
      this.#open -= 1
    }
    const token = (message['params'] as Json | undefined)?.['progressToken']
    if (isLabel('progressToken', token) && !this.#labels.has(token)) await this.#provideToken(token, index)
    if (DURING_CALLS.has(method as string) && this.#open === 0) await this.#provideCall(step, index)
    this.expectSilence()
    const { m: _method, ...said } = this.#labels.fill(message) as Json
    server.say(said)
    await this.#quiet()
    if (this.#vector.note === 'client connection lost while asked') await this.#loseClient()
  }

  async #clientHears({ message }: Step, index: number): Promise<void> {
    if (index === 0) await this.#provideFrom(this.#client, 'tools/call', { id: message['id'] }, false)
    if (isHttp(this.#vector, 'c')) this.#http.match(message, this.#labels)
    else this.#labels.match(message, withoutVersion(this.#client.take()))
  }

  async #serverHears(step: Step, index: number): Promise<void> {
    const method = methodOf(step)
    if (index === 0 && method !== undefined) await this.#provideFrom(this.#client, method, {}, false)
    const { message, exchange } = this.#server(step.alias).take()
    if (message['id'] !== undefined && message['method'] !== undefined) this.#open += 1
    if (!('http' in step.message)) {
      this.#labels.match(step.message, withoutVersion(message))
      return
    }
    this.#labels.match(step.message['body'], withoutVersion(message))
    const sent = Object.entries(exchange?.headers ?? {}).filter(([name]) => name.startsWith('mcp-'))
    const headers = Object.entries((step.message['h'] ?? {}) as Json).map(([k, v]) => [k.toLowerCase(), v])
    this.#labels.match(Object.fromEntries(headers), Object.fromEntries(sent), ['h'])
  }

  // ── what vectors leave out ──

  #server(alias = this.#servers[0]?.plan.alias): VectorServer {
    const server = this.#servers.find(({ plan }) => plan.alias === alias)
    if (server === undefined) throw new Error(`no server ${alias}`)
    return server
  }

  get #hello(): Json {
    const protocolVersion = revisionOf(this.#vector.client)
    const capabilities = clientCapabilities(this.#vector)
    return { protocolVersion, capabilities, clientInfo: { name: 'c', version: '1' } }
  }

  async #greet(client: PipeClient): Promise<void> {
    client.sayOwn({ id: 'hello', method: 'initialize', params: this.#hello })
    await this.#quiet()
    client.say({ method: 'notifications/initialized' })
    await this.#quiet()
  }

  /** A request over HTTP; any session id that it names is the one of this session, unless there is none. */
  #inSession(message: Json): Json {
    const headers = message['h'] as Json | undefined
    if (headers?.['Mcp-Session-Id'] === undefined || !this.#labels.has('~s')) return message
    return { ...message, h: { ...headers, 'Mcp-Session-Id': '~s' } }
  }

  async #greetHttp(): Promise<void> {
    const hello = { id: 'hello', method: 'initialize', params: this.#hello }
    const answer = this.#http.send({ http: 'POST /mcp', body: hello })
    await this.#quiet()
    const sessionId = answer.headers['mcp-session-id'] ?? ''
    this.#labels.bind('~s', sessionId)
    const body = { method: 'notifications/initialized' }
    this.#http.send({ http: 'POST /mcp', h: { 'mcp-session-id': sessionId }, body })
    await this.#quiet()
    this.#http.forget()
  }

  /** A request of the client of which the vector shows only what it leads to; with `isTaken`, the server's end of it too. */
  async #provideFrom(
    client: PipeClient,
    method: string,
    { id, token }: OwnRequest,
    isTaken = true,
    alias?: string,
  ): Promise<Received | undefined> {
    this.#ownRequests += 1
    const server = this.#server(alias)
    const meta = token === undefined ? {} : { _meta: { progressToken: token } }
    const params = method === 'tools/call' ? { params: { name: `${server.plan.alias}__x`, ...meta } } : {}
    const greeting = method === 'initialize' ? { params: this.#hello } : {}
    const request = { method, ...params, ...greeting }
    if (id === undefined) client.sayOwn({ id: `own ${this.#ownRequests}`, ...request })
    else client.say({ id, ...request })
    await this.#quiet()
    if (!isTaken) return undefined
    this.#open += 1
    return server.take()
  }

  /** The request that a server's answer is to; the vector may show what the client gets for it. */
  async #provideFor({ message, alias }: Step, label: string, index: number): Promise<void> {
    const later = this.#later(index, ({ way, message: { method } }) => way === 'p>c' && method === undefined)
    const method = (message['m'] as string | undefined) ?? 'tools/call'
    const request = { id: later?.message['id'] }
    const received = await this.#provideFrom(this.#client, method, request, true, alias)
    this.#labels.bind(label, received?.message['id'])
  }

  /** The call that a server reports progress of, under the token that the client hears. */
  async #provideToken(label: string, index: number): Promise<void> {
    const later = this.#later(index, ({ way }) => way === 'p>c')
    const token = (later?.message['params'] as Json | undefined)?.['progressToken']
    const received = await this.#provideFrom(this.#client, 'tools/call', { token })
    const params = received?.message['params'] as Json | undefined
    const meta = params?.['_meta']
    this.#labels.bind(label, isObject(meta) ? meta['progressToken'] : undefined)
  }

  /** The call in the course of which a server asks; the vector may show how it is cancelled. */
  async #provideCall({ alias }: Step, index: number): Promise<void> {
    const received = await this.#provideFrom(this.#client, 'tools/call', {}, true, alias)
    const later = this.#later(index, ({ message }) => message['method'] === 'notifications/cancelled')
    const label = (later?.message['params'] as Json | undefined)?.['requestId']
    if (isLabel('requestId', label)) this.#labels.bind(label, received?.message['id'])
  }

  /** The question that a client's answer is to, under the id that its server is answered with. */
  async #provideQuestion(label: string, index: number): Promise<void> {
    const id = this.#later(index, ({ way }) => way === 'p>s')?.message['id']
    await this.#provideFrom(this.#client, 'tools/call', {})
    const params = { messages: [], maxTokens: 1 }
    this.#server().say({ id, method: 'sampling/createMessage', params })
    await this.#quiet()
    this.#labels.bind(label, this.#client.take()['id'])
  }

  async #loseClient(): Promise<void> {
    if (methodOf({ way: 'p>c', alias: undefined, message: this.#client.take() }) !== 'elicitation/create')
      throw new Mismatch('the client was not asked')
    this.#client.hangUp()
    await this.#quiet()
  }

  #later(index: number, is: (step: Step) => boolean): Step | undefined {
    return this.#vector.steps.slice(index + 1).find(is)
  }
}
