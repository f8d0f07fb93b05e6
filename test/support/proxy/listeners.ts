import { createHttpListener } from '../../../src/eras/listen/http-listener.js'
import { servePipe } from '../../../src/eras/listen/pipe-listener.js'
import { createSseListener } from '../../../src/eras/listen/sse-listener.js'
import type { Deferred } from '../../../src/kernel/async/deferred.js'
import { LOCAL } from '../../../src/kernel/caller.js'
import { type JsonText, objectText, textMember } from '../../../src/kernel/json/text.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import type { Call, Client, ClientHandler, Viewer, Welcome } from '../../../src/model/links.js'
import type { Channel } from '../../../src/wire/channel.js'
import type { FakeClock } from '../fake-clock.js'
import { IDENTITY } from '../values.js'

const listenerContext = (handler: ClientHandler, clock: FakeClock) => ({
  handler,
  clock,
  identity: IDENTITY,
  log: silentLogger,
})

/** Serves a client on a channel. */
export const servePipeClient = (handler: ClientHandler, clock: FakeClock, channel: Channel): void => {
  servePipe(channel, LOCAL, listenerContext(handler, clock))
}

/** Returns the endpoint of Streamable HTTP. */
export const serveHttpClients = (handler: ClientHandler, clock: FakeClock) =>
  createHttpListener(listenerContext(handler, clock))

/** Returns the endpoints of HTTP+SSE. */
export const serveSseClients = (handler: ClientHandler, clock: FakeClock) =>
  createSseListener(listenerContext(handler, clock))

const WELCOME: Welcome = {
  capabilities: {
    tools: true,
    prompts: false,
    resources: { subscribe: true },
    completions: true,
    logging: true,
  },
  instructions: 'be nice',
  isComplete: true,
}

/** A handler that records its input and answers on request. */
export class FakeHandler implements ClientHandler {
  readonly clients: Client[] = []
  readonly calls: Call[] = []
  readonly notices: string[] = []
  readonly rested: Client[] = []
  readonly gone: Client[] = []
  /** Cancellation reasons of calls, in order. */
  readonly cancels: string[] = []
  /** Identity of a server that is served unchanged. */
  identity: JsonText | undefined
  readonly schemas = new Map<string, JsonText>()
  /** Scopes that tools need and no caller has. */
  readonly needed = new Map<string, readonly string[]>()
  /** Clients whose credential changed. */
  readonly changed: Client[] = []
  /** Makes new clients wait, if set. */
  gate: Deferred<void> | undefined
  /** Answers each call at once, if set. */
  onCall: ((call: Call) => void) | undefined

  async welcome(client: Client): Promise<Welcome> {
    this.clients.push(client)
    await this.gate?.promise
    return WELCOME
  }

  call(call: Call): void {
    this.calls.push(call)
    call.onCancelled(reason => this.cancels.push(`${call.method} ${reason}`))
    this.onCall?.(call)
  }

  lackingScopes(_viewer: Viewer, calls: readonly JsonText[]): Promise<readonly string[]> {
    return Promise.resolve(calls.flatMap(params => this.needed.get(textMember(params, 'name') ?? '') ?? []))
  }

  callerChanged(client: Client): void {
    this.changed.push(client)
  }

  ownIdentity(): JsonText | undefined {
    return this.identity
  }

  tool(_client: Client, exposed: string): JsonText | undefined {
    const schema = this.schemas.get(exposed)
    return schema && objectText([['inputSchema', schema]])
  }

  notified(_client: Client, method: string, _params: JsonText | undefined): void {
    this.notices.push(method)
  }

  idle(client: Client): void {
    this.rested.push(client)
  }

  left(client: Client): void {
    this.gone.push(client)
  }

  get client(): Client {
    const client = this.clients.at(-1)
    if (client === undefined) throw new Error('no client was welcomed')
    return client
  }

  /** Returns the newest call. */
  get last(): Call {
    const call = this.calls.at(-1)
    if (call === undefined) throw new Error('no call came')
    return call
  }
}
