import type { ScriptedClient, ScriptedHttpClient } from '../../support/client/scripted-client.js'
import { codecOf, revisionOf } from '../../support/era/codec.js'
import { isLabel, isObject, type Json, Mismatch } from '../../support/match.js'
import type { Received } from '../../support/server/scripted-server.js'
import { clientCapabilities, isHttp, isModernClient, methodOf, rpcOf, subscribedIn } from './plan.js'
import type { Stage } from './stage.js'
import type { Step } from './vector.js'

/** A request that the vector shows only the consequences of. */
interface Own {
  readonly id?: unknown
  readonly token?: unknown
  readonly alias?: string | undefined
  readonly params?: Json
  /** Whether the server's end of it is not shown either. */
  readonly isTaken?: boolean
}

const PARK_TTL_MS = 600_000

/** Does what a vector leaves out, so that its steps have a reason. */
export class Provider {
  readonly #stage: Stage
  #ownRequests = 0

  constructor(stage: Stage) {
    this.#stage = stage
  }

  // ── before the steps ──

  async prepare(): Promise<void> {
    const { vector, servers } = this.#stage
    const { steps, note = '' } = vector
    const [first] = steps
    const isGreeting = first !== undefined && /^(initialize|server\/discover)$/.test(methodOf(first) ?? '')
    const isStranger = /nothing sent before|unknown session/.test(note)
    if (!isGreeting && !isStranger) await this.#greet(this.#stage.client)
    if (note.startsWith('two clients')) {
      const other = this.#stage.newClient()
      await this.#greet(other)
      for (const client of [this.#stage.client, other]) await this.#send('tools/call', {}, client)
    }
    if (subscribedIn(vector) !== undefined || note.includes('shuts down')) await this.#listen()
    // What a server lists later than it is called is listed a second time.
    const isListed = steps.some(({ way, message }) => way === 'p>s' && message['method'] === 'tools/list')
    if (isListed && first?.way === 's>p' && rpcOf(first)['error'] !== undefined) await this.list('tools/list')
    // Changes are told to those who have seen what it was before.
    if (methodOf(first as Step)?.endsWith('list_changed') || note.includes(' age '))
      await this.list('tools/list')
    const age = /age (\d+) s/.exec(note)?.[1]
    if (age !== undefined) this.#stage.clock.advance(Number(age) * 1000)
    const scripted = new Set(
      steps.filter(({ way }) => way.includes('s')).flatMap(step => methodOf(step) ?? []),
    )
    for (const server of servers) server.scripted = scripted
  }

  async #greet(client: ScriptedClient): Promise<void> {
    const { vector } = this.#stage
    this.#ownRequests += 1
    const id = `hello ${this.#ownRequests}`
    if (this.#codec.hasHandshake && isHttp(vector, 'c')) {
      await this.#greetHttp(client as ScriptedHttpClient, id)
      return
    }
    client.sayOwn({ id, ...this.#greeting })
    await this.#stage.quiet()
    if (!this.#codec.hasHandshake) return
    client.say({ method: 'notifications/initialized' })
    await this.#stage.quiet()
  }

  async #greetHttp(client: ScriptedHttpClient, id: string): Promise<void> {
    const body = { id, ...this.#greeting }
    const answer = client.request({ http: 'POST /mcp', body })
    await this.#stage.quiet()
    client.watchNew()
    const sessionId = answer.headers['mcp-session-id'] ?? ''
    this.#stage.labels.bind('~s', sessionId)
    const ready = { method: 'notifications/initialized' }
    client.request({ http: 'POST /mcp', h: { 'mcp-session-id': sessionId }, body: ready })
    await this.#stage.quiet()
    client.forget()
  }

  get #codec() {
    return codecOf(revisionOf(this.#stage.vector.client))
  }

  get #greeting() {
    const { vector } = this.#stage
    return this.#codec.greeting(revisionOf(vector.client), clientCapabilities(vector))
  }

  /** Listens, as the note of the vector says the client does. */
  async #listen(): Promise<void> {
    const { vector, client } = this.#stage
    const notifications = { toolsListChanged: true, resourceSubscriptions: subscribedIn(vector) ?? [] }
    const id = /"io.modelcontextprotocol\/subscriptionId":"(\w+)"/.exec(
      JSON.stringify(vector.steps.map(s => s.message)),
    )?.[1]
    client.say({ id, method: 'subscriptions/listen', params: this.#enveloped({ notifications }) })
    await this.#stage.until(() => client.hasMore)
    client.take()
  }

  /** A request over HTTP; any session id that it names is the one of this session, unless there is none. */
  inSession(message: Json): Json {
    const headers = message['h'] as Json | undefined
    if (headers?.['Mcp-Session-Id'] === undefined || !this.#stage.labels.has('~s')) return message
    return { ...message, h: { ...headers, 'Mcp-Session-Id': '~s' } }
  }

  // ── requests that are not shown ──

  #enveloped(params: Json): Json {
    return this.#codec.params(params, clientCapabilities(this.#stage.vector))
  }

  /** Parameters for a request: those that the vector shows of it further down, or any that will do. */
  #paramsFor(method: string, { alias, token, params }: Own): Json {
    if (method === this.#greeting.method) return this.#greeting.params
    const prefix = this.#stage.server(alias).plan.alias
    const meta = token === undefined ? {} : { _meta: { progressToken: token } }
    const shown = this.#stage.vector.steps.find(step => step.way === 'p>s' && methodOf(step) === method)
    const { inputResponses, requestState, _meta, ...known } =
      (shown && (rpcOf(shown)['params'] as Json | undefined)) ?? {}
    const call = { ...known, name: `${prefix}__${known['name'] ?? 'x'}` }
    return this.#enveloped({ ...(method === 'tools/call' && call), ...params, ...meta })
  }

  /** Sends a request; with `isTaken`, also takes it at the server. */
  async #send(method: string, own: Own, client = this.#stage.client): Promise<Received | undefined> {
    this.#ownRequests += 1
    const params = this.#paramsFor(method, own)
    const request = { method, ...(Object.keys(params).length > 0 && { params }) }
    if (own.id === undefined) client.sayOwn(this.#carried({ id: `own ${this.#ownRequests}`, ...request }))
    else client.say(this.#carried({ id: own.id, ...request }))
    await this.#stage.quiet()
    if (own.isTaken === false) return undefined
    this.#stage.open += 1
    return this.#stage.server(own.alias).take()
  }

  /** A legacy request over HTTP is one of the session. */
  #carried(request: Json): Json {
    const { vector, labels } = this.#stage
    if (!isHttp(vector, 'c') || isModernClient(vector) || !labels.has('~s')) return request
    return { http: 'POST /mcp', h: { 'Mcp-Session-Id': labels.fill('~s', 'mcp-session-id') }, body: request }
  }

  async list(method: string): Promise<void> {
    await this.#send(method, { isTaken: false })
    await this.#stage.until(() => this.#stage.servers.some(({ waiting }) => waiting.length > 0))
  }

  /** Why the client hears what the first step shows. */
  async reasonForClient(step: Step): Promise<void> {
    if (this.#stage.vector.note?.includes('shuts down')) void this.#stage.router.close()
    else await this.#send('tools/call', { id: rpcOf(step)['id'], isTaken: false })
  }

  /** Why the server hears what the first step shows. */
  async reasonForServer(step: Step, index: number): Promise<void> {
    const method = methodOf(step) ?? ''
    if (this.#stage.vector.note?.startsWith('no retry')) await this.#expirePark(step, index)
    else {
      const isGreeting = method === 'initialize' || method === 'server/discover'
      await this.#send(isGreeting ? this.#greeting.method : method, { isTaken: false })
    }
    // A probe that is not answered is given up before the vector begins.
    if (this.#stage.server().plan.ignoresProbe)
      await this.#stage.until(() => this.#stage.server().waiting.length > 0)
  }

  /** The request that a server's answer is to; the vector may show what the client gets for it. */
  async request(step: Step, label: string, index: number): Promise<void> {
    const later = this.#later(index, one => one.way === 'p>c' && rpcOf(one)['method'] === undefined)
    const method = (rpcOf(step)['m'] as string | undefined) ?? 'tools/call'
    const id = later === undefined ? 'unnamed' : rpcOf(later)['id']
    const received = await this.#send(method, { id, alias: step.alias })
    this.#stage.labels.bind(label, received?.message['id'])
  }

  /** The call that a server reports progress of, under the token that the client hears. */
  async token(label: string, index: number): Promise<void> {
    const later = this.#later(index, ({ way }) => way === 'p>c')
    const token = (later?.message['params'] as Json | undefined)?.['progressToken']
    const received = await this.#send('tools/call', { token })
    const meta = (received?.message['params'] as Json | undefined)?.['_meta']
    this.#stage.labels.bind(label, isObject(meta) ? meta['progressToken'] : undefined)
  }

  /**
   * The call in the course of which a server asks; the vector may show how it is cancelled, or what it ends
   * in.
   */
  async call({ alias }: Step, index: number): Promise<void> {
    if (this.#stage.vector.note === 'no call in flight') return
    const answer = this.#later(
      index,
      ({ way, message }) => way === 'p>c' && isObject(message['result']) && 'resultType' in message['result'],
    )
    const received = await this.#send('tools/call', { id: answer?.message['id'], alias })
    this.#bindCancelled(received, index)
  }

  /** The call that a client cancels without having made it. */
  async cancelled(id: unknown, index: number): Promise<void> {
    const { rule, steps } = this.#stage.vector
    const isMade = steps.slice(0, index).some(step => step.way === 'c>p' && rpcOf(step)['id'] === id)
    // Other vectors are about cancellations that have no effect.
    if (isMade || !rule.startsWith('CN-')) return
    this.#bindCancelled(await this.#send('tools/call', { id }), index)
  }

  /** What the vector calls a request that it shows only the cancellation of. */
  #bindCancelled(received: Received | undefined, index: number): void {
    const later = this.#later(
      index - 1,
      one => one.way === 'p>s' && methodOf(one) === 'notifications/cancelled',
    )
    const label = (later?.message['params'] as Json | undefined)?.['requestId']
    if (isLabel('requestId', label)) this.#stage.labels.bind(label, received?.message['id'])
  }

  // ── questions that are not shown ──

  /** The question that a client's answer is to. */
  async question(step: Step, label: string, index: number): Promise<void> {
    const { client, labels } = this.#stage
    const server = this.#stage.server()
    const later = this.#later(index, ({ way }) => way === 'p>s')
    const received = await this.#send('tools/call', {})
    const method = (step.message['m'] as string | undefined) ?? 'sampling/createMessage'
    if (server.plan.isModern) server.say(roundOf(received, later && (rpcOf(later)['params'] as Json), method))
    else server.say({ id: later?.message['id'] ?? 'question', method, params: QUESTIONS[method] })
    await this.#stage.until(() => client.hasMore)
    labels.bind(label, client.take()['id'])
  }

  /** The first round of a request that a client makes again with the state that it got. */
  async round(step: Step, label: string, index: number): Promise<void> {
    const { client, labels } = this.#stage
    const server = this.#stage.server(step.alias)
    const { method, params } = rpcOf(step) as { method: string; params: Json }
    const { inputResponses, requestState, ...first } = params
    const isOther = this.#stage.vector.note?.includes('tampered')
    const other = { ...first, arguments: { as: 'another' } }
    const received = await this.#send(method, { id: 'first', params: isOther ? other : first })
    const later = this.#later(index, ({ way }) => way === 'p>s')
    const retry = { inputResponses, ...(later && (rpcOf(later)['params'] as Json)) }
    if (server.plan.isModern) server.say(roundOf(received, retry, 'elicitation/create'))
    else server.say({ id: 'question', method: 'elicitation/create', params: QUESTIONS['elicitation/create'] })
    await this.#stage.until(() => client.hasMore)
    labels.bind(label, (client.take()['result'] as Json | undefined)?.['requestState'])
  }

  /** The call that a server made a task of, which the vector shows under the server's own name. */
  async task(label: string): Promise<void> {
    const { client, labels, vector } = this.#stage
    const isModern = isModernClient(vector)
    const server = this.#stage.server()
    const own = /"taskIds?":\[?"(\w+)"/.exec(JSON.stringify(vector.steps.map(({ message }) => message)))?.[1]
    const params = { name: `${server.plan.alias}__x`, ...(!isModern && { task: { ttl: 1 } }) }
    const declared = isModern ? { extensions: { 'io.modelcontextprotocol/tasks': {} } } : {}
    client.say({ id: 'task', method: 'tools/call', params: this.#codec.params(params, declared) })
    await this.#stage.until(() => server.waiting.length > 0)
    const task = {
      taskId: own ?? 't1',
      status: 'working',
      createdAt: '2026-01-01T00:00:00Z',
      lastUpdatedAt: '2026-01-01T00:00:00Z',
    }
    const result = isModern ? { resultType: 'task', ...task, ttlMs: 1 } : { task: { ...task, ttl: 1 } }
    server.say({ id: server.take().message['id'], result })
    await this.#stage.until(() => client.hasMore)
    const created = client.take()['result'] as { taskId?: string; task?: { taskId: string } }
    const shown = String(created.taskId ?? created.task?.taskId)
    const isChanged = vector.note?.includes('one character changed')
    labels.bind(label, isChanged ? shown.slice(0, -1) + (shown.endsWith('A') ? 'B' : 'A') : shown)
  }

  /** A call whose server asks, and whose client never comes back. */
  async #expirePark(step: Step, index: number): Promise<void> {
    const { client, clock } = this.#stage
    const received = await this.#send('tools/call', { id: 'first' })
    this.#bindCancelled(received, index)
    const asked = this.#later(index, ({ message }) => message['m'] !== undefined)?.message
    const method = String(asked?.['m'])
    this.#stage.server(step.alias).say({ id: asked?.['id'], method, params: QUESTIONS[method] })
    await this.#stage.until(() => client.hasMore)
    client.take()
    clock.advance(PARK_TTL_MS)
    await this.#stage.quiet()
  }

  async loseClient(): Promise<void> {
    const message = this.#stage.client.take()
    if (message['method'] !== 'elicitation/create') throw new Mismatch('the client was not asked')
    this.#stage.client.hangUp()
    await this.#stage.quiet()
  }

  #later(index: number, is: (step: Step) => boolean): Step | undefined {
    return this.#stage.vector.steps.slice(index + 1).find(is)
  }
}

const QUESTIONS: Readonly<Record<string, Json>> = {
  'sampling/createMessage': { messages: [], maxTokens: 1 },
  'elicitation/create': {
    mode: 'form',
    message: '?',
    requestedSchema: { type: 'object', properties: { a: { type: 'string' } } },
  },
}

/** What a server answers a request with whose retry has these parameters. */
const roundOf = (received: Received | undefined, retry: Json | undefined, method: string): Json => {
  const keys = Object.keys((retry?.['inputResponses'] as Json | undefined) ?? {})
  const state = retry?.['requestState']
  return {
    id: received?.message['id'],
    result: {
      resultType: 'input_required',
      inputRequests: Object.fromEntries(keys.map(key => [key, { method, params: QUESTIONS[method] }])),
      ...(typeof state === 'string' && !isLabel('requestState', state) && { requestState: state }),
    },
  }
}
