import type { Deferred } from '../../src/kernel/async/deferred.js'
import { type JsonText, textOf } from '../../src/kernel/json/text.js'
import type {
  Call,
  CancelReason,
  Client,
  ClientHandler,
  DownstreamCall,
  ServerRequest,
  Welcome,
} from '../../src/model/links.js'
import type { Outcome } from '../../src/model/outcome.js'

export const WELCOME: Welcome = {
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

/** A mux that remembers what it was told and answers when a test says so. */
export class FakeHandler implements ClientHandler {
  readonly clients: Client[] = []
  readonly calls: Call[] = []
  readonly notices: string[] = []
  readonly rested: Client[] = []
  readonly gone: Client[] = []
  /** What calls were told when they were called off, in order. */
  readonly cancels: string[] = []
  /** Who the server is that is served as it is. */
  identity: JsonText | undefined
  readonly schemas = new Map<string, JsonText>()
  /** Set to make newcomers wait. */
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
    call.onCancel = reason => this.cancels.push(`${call.method} ${reason}`)
    this.onCall?.(call)
  }

  ownIdentity(): JsonText | undefined {
    return this.identity
  }

  toolSchema(_client: Client, exposed: string): JsonText | undefined {
    return this.schemas.get(exposed)
  }

  notified(_client: Client, method: string, _params: JsonText | undefined): void {
    this.notices.push(method)
  }

  rests(client: Client): void {
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

  /** The newest call. */
  get last(): Call {
    const call = this.calls.at(-1)
    if (call === undefined) throw new Error('no call came')
    return call
  }
}

/** A question of a server that remembers its answers. */
export class FakeServerRequest implements ServerRequest {
  readonly method: string
  readonly params: JsonText | undefined
  readonly wantsProgress: boolean
  readonly about: DownstreamCall | undefined = undefined
  onWithdrawn: ((reason: CancelReason) => void) | undefined
  readonly outcomes: Outcome[] = []
  readonly progresses: string[] = []

  constructor(method = 'roots/list', params?: object, wantsProgress = false) {
    this.method = method
    this.params = params === undefined ? undefined : textOf(params)
    this.wantsProgress = wantsProgress
  }

  answer(outcome: Outcome): void {
    this.outcomes.push(outcome)
  }

  progress(params: JsonText): void {
    this.progresses.push(params.toString())
  }
}

/** An outcome in a form to compare: the text, or the code of the fault. */
export const shown = (outcome: Outcome | undefined): string => {
  if (outcome === undefined) return 'none'
  if (outcome.kind === 'fault') return `${outcome.fault.code}: ${outcome.fault.message}`
  return `${outcome.kind} ${(outcome.kind === 'error' ? outcome.error : outcome.result).toString()}`
}

export const IDENTITY = { name: 'proxy', version: '1', title: 'The proxy' }
