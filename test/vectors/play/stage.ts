import type { Router } from '../../../src/mux/router.js'
import type { RuleGate } from '../../../src/mux/rules/gate.js'
import {
  type ScriptedClient,
  ScriptedHttpClient,
  ScriptedPipeClient,
  ScriptedSseClient,
  withoutVersion,
} from '../../support/client/scripted-client.js'
import { FakeClock, settled } from '../../support/fake-clock.js'
import { isLabel, type Json, Labels, Mismatch } from '../../support/match.js'
import { createMux } from '../../support/proxy/router.js'
import { gateOf } from '../../support/rules.js'
import { ScriptedServer } from '../../support/server/scripted-server.js'
import { aliasesOf, hasTasks, isHttp, methodOf, planOf, rpcOf } from './plan.js'
import { Provider } from './provide.js'
import type { Step, Vector } from './vector.js'

/** Questions that a server asks in the course of a call. */
const DURING_CALLS = new Set(['sampling/createMessage', 'elicitation/create'])
/** What is waited for: longer than the proxy ever lets anything rest that somebody waits for. */
const PATIENCE_MS = [5, 10, 100, 300, 5000, 15_000]

/** What the proxy gathers in one message it has by then. */
const REST_MS = 200

/**
 * Plays one vector against the real proxy. Rejects with a Mismatch that says which step went otherwise, and
 * how.
 */
export const play = async (vector: Vector, wording: Readonly<Record<string, string>>): Promise<void> => {
  const stage = new Stage(vector, wording)
  try {
    await stage.provider.prepare()
    for (const [index, step] of vector.steps.entries()) {
      try {
        await stage.step(step, index)
      } catch (thrown) {
        if (!(thrown instanceof Mismatch)) throw thrown
        throw new Mismatch(`step ${index + 1} ${step.way} ${JSON.stringify(step.message)}\n${thrown.message}`)
      }
    }
    if (!vector.isOpen) await stage.rest()
    stage.expectSense()
  } finally {
    await stage.close()
  }
}

/** The proxy between the peers of one vector. */
export class Stage {
  readonly vector: Vector
  readonly clock = new FakeClock()
  readonly labels: Labels
  readonly servers: readonly ScriptedServer[]
  readonly router: Router
  readonly client: ScriptedClient
  readonly provider: Provider
  /** Undefined without rules. */
  readonly gate: RuleGate | undefined
  /** Requests at servers that the vector knows of and that have no answer. */
  open = 0

  constructor(vector: Vector, wording: Readonly<Record<string, string>>) {
    const { clock } = this
    this.vector = vector
    this.labels = new Labels(wording)
    this.servers = aliasesOf(vector).map(alias => new ScriptedServer(planOf(vector, alias), clock))
    this.gate = this.#gateOf(vector.rules)
    this.router = createMux(
      this.servers.map(({ plan }) => plan.alias),
      {
        clock,
        rules: this.gate && (() => this.gate),
        isIsolated: vector.note?.startsWith('isolated') === true,
        isAlone: vector.note?.startsWith('bridge') === true,
        uris: /^skills|exposed URIs/.test(vector.note ?? '') ? 'prefix' : 'preserve',
        dial: ({ name }, greeting, listener, signal) => this.server(name).dial(greeting, listener, signal),
      },
    )
    this.client = this.newClient()
    this.provider = new Provider(this)
  }

  #gateOf(rules: unknown): RuleGate | undefined {
    if (rules === undefined) return undefined
    const pageUrl = (id: string): string => `https://p.test/approvals/${id}`
    const approvals = { router: () => this.router, pageUrl, hasCommands: () => true }
    return gateOf(rules, { clock: this.clock, approvals })
  }

  newClient(): ScriptedClient {
    if (isHttp(this.vector, 'c')) return new ScriptedHttpClient(this.router, this.clock)
    if (this.vector.note?.includes('HTTP+SSE face')) return new ScriptedSseClient(this.router, this.clock)
    return new ScriptedPipeClient(this.router, this.clock)
  }

  async close(): Promise<void> {
    this.client.close()
    await this.router.close()
  }

  server(alias = this.servers[0]?.plan.alias): ScriptedServer {
    const server = this.servers.find(({ plan }) => plan.alias === alias)
    if (server === undefined) throw new Error(`no server ${alias}`)
    return server
  }

  /** Whatever was sent was a step. */
  expectSilence(): void {
    for (const { plan, waiting } of this.servers) {
      const [first] = waiting
      if (first !== undefined) throw new Mismatch(`server ${plan.alias} got ${JSON.stringify(first.message)}`)
    }
    const { leftOver } = this.client
    if (leftOver !== undefined) throw new Mismatch(`the client got ${leftOver}`)
  }

  /** Nothing more comes. */
  async rest(): Promise<void> {
    this.expectSilence()
    this.clock.advance(REST_MS)
    await settled()
    this.expectSilence()
  }

  /** Whatever was sent was a message of the revision that is spoken there. */
  expectSense(): void {
    // A single server and its client may use any word, and tasks are in no schema of 2026-07-28.
    if (this.vector.note?.startsWith('bridge') === true || hasTasks(this.vector)) return
    const watches = [this.client.watch, ...this.servers.map(({ watch }) => watch)]
    const [problem] = watches.flatMap(({ problems }) => problems)
    if (problem !== undefined) throw new Mismatch(problem)
  }

  /** Lets everything happen that needs no more than a moment. */
  async quiet(): Promise<void> {
    await settled()
    this.clock.advance(5)
    await settled()
  }

  /** Lets time pass until something is there, or nothing can be expected any more. */
  async until(isThere: () => boolean): Promise<void> {
    for (const ms of PATIENCE_MS) {
      if (isThere()) return
      this.clock.advance(ms)
      await settled()
    }
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
      case 'page':
        return await this.#pageDecides(step)
    }
  }

  async #pageDecides({ message }: Step): Promise<void> {
    const records = this.gate?.approvals?.records
    const [approval] = records?.waiting ?? []
    if (approval === undefined) throw new Mismatch('no call waits')
    records?.decide(approval, message['isAllowed'] === true, { by: 'local', via: 'page' })
    await this.quiet()
  }

  async #clientSays(step: Step, index: number): Promise<void> {
    const { id, method, params } = rpcOf(step) as { id?: unknown; method?: string; params?: Json }
    if (index === 0 && method === undefined && isLabel('id', id))
      await this.provider.question(step, id, index)
    const state = params?.['requestState']
    if (isLabel('requestState', state) && !this.labels.has(state))
      await this.provider.round(step, state, index)
    const task = params?.['taskId'] ?? (params?.['notifications'] as Json | undefined)?.['taskIds']
    const taskId: unknown = Array.isArray(task) ? task[0] : task
    if (isLabel('taskId', taskId) && !this.labels.has(taskId)) await this.provider.task(taskId)
    if (method === 'notifications/cancelled') await this.provider.cancelled(params?.['requestId'], index)
    this.expectSilence()
    this.client.say(this.labels.fill(this.provider.inSession(step.message)) as Json)
    await this.quiet()
  }

  async #serverSays(step: Step, index: number): Promise<void> {
    const server = this.server(step.alias)
    const { id, method, params } = rpcOf(step) as { id?: unknown; method?: string; params?: Json }
    if (method === undefined && isLabel('id', id)) {
      if (!this.labels.has(id)) await this.provider.request(step, id, index)
      this.open -= 1
    }
    const token = params?.['progressToken']
    if (isLabel('progressToken', token) && !this.labels.has(token)) await this.provider.token(token, index)
    const listen = (params?.['_meta'] as Json | undefined)?.['io.modelcontextprotocol/subscriptionId']
    if (isLabel('id', listen) && !this.labels.has(listen)) this.labels.bind(listen, server.ownListen)
    if (index === 0 && hasTasks(this.vector)) await this.provider.task('~t')
    else if (DURING_CALLS.has(method as string) && this.open === 0) await this.provider.call(step, index)
    this.expectSilence()
    const { m: _method, ...said } = this.labels.fill(step.message) as Json
    server.say(said)
    await this.quiet()
    if (this.vector.note === 'client connection lost while asked') await this.provider.loseClient()
  }

  async #clientHears(step: Step, index: number): Promise<void> {
    if (index === 0) await this.provider.reasonForClient(step)
    await this.until(() => this.client.hasMore)
    this.client.match(step.message, this.labels)
  }

  async #serverHears(step: Step, index: number): Promise<void> {
    const server = this.server(step.alias)
    const method = methodOf(step)
    if (index === 0 && method !== undefined) await this.provider.reasonForServer(step, index)
    await this.until(() => server.waiting.length > 0)
    if (server.waiting.length === 0 && method?.endsWith('/list')) await this.provider.list(method)
    const { message, exchange } = server.take()
    // The proxy may read a list again; whoever asked for it is not told.
    const isLast = !this.vector.steps
      .slice(index + 1)
      .some(one => one.way === 'p>s' && methodOf(one) === method)
    if (isLast && method?.endsWith('/list'))
      server.scripted = new Set([...server.scripted].filter(one => one !== method))
    if (message['id'] !== undefined && message['method'] !== undefined) this.open += 1
    const { http, h, body } = step.message
    if (http === undefined) {
      this.labels.match(step.message, withoutVersion(message))
      return
    }
    const { method: verb, url, headers = {} } = exchange?.request ?? {}
    this.labels.match(
      http,
      `${verb} ${new URL(url ?? 'http://s').pathname}${new URL(url ?? 'http://s').search}`,
      ['http'],
    )
    if (body !== undefined) this.labels.match(body, withoutVersion(message))
    if (h === undefined) return
    const expected = Object.fromEntries(Object.entries(h as Json).map(([k, v]) => [k.toLowerCase(), v]))
    const sent = Object.entries(headers)
      .map(([name, value]) => [name.toLowerCase(), value] as const)
      .filter(([name]) => name.startsWith('mcp-') || name in expected)
    this.labels.match(expected, Object.fromEntries(sent), ['h'])
  }
}
