import { type Caller, LOCAL, type Principal } from '../kernel/caller.js'
import { newErrorId } from '../kernel/error-ids.js'
import { Fault } from '../kernel/faults.js'
import { elementsOf, type JsonText, memberOf, objectText, stringOf, textOf } from '../kernel/json/text.js'
import { IDENTITY } from '../kernel/machine/identity.js'
import {
  type Call,
  Cancellable,
  type Client,
  type ClientHandler,
  type ProjectedRequest,
  type ServerRequest,
  type Welcome,
} from '../model/links.js'
import { LISTS, type ListName } from '../model/listing.js'
import { type Answer, answerOf, failed, type Outcome, type Reply } from '../model/outcome.js'
import { NO_CAPABILITIES, newClientId } from '../model/peer.js'
import type { Progress } from '../model/progress.js'
import { NEWEST_LEGACY } from '../model/revision.js'
import { RPC_CODES, refusedResult } from '../model/rpc-error.js'

export interface LocalClientOptions {
  /** The caller of the requests. Absent for a local program of the same user. */
  readonly caller?: Caller | undefined
  /** Receives the params of each progress notification. Without it, no progress is requested. */
  readonly onProgress?: ((params: JsonText) => void) | undefined
  readonly onNotification?: ((method: string, params: JsonText | undefined) => void) | undefined
}

/** A client in this process that sends requests and answers none. */
export class LocalClient implements Client {
  readonly id = newClientId()
  readonly caller: Caller
  readonly principal: Principal
  readonly revision = NEWEST_LEGACY
  readonly serverRequests = 'pushed'
  readonly capabilities = NO_CAPABILITIES
  readonly info: JsonText = textOf(IDENTITY)
  /** Resolves when the servers are ready or the wait for them has ended. */
  readonly welcome: Promise<Welcome>
  readonly options: LocalClientOptions
  readonly #handler: ClientHandler
  readonly #calls = new Set<LocalCall>()
  #isClosed = false

  constructor(handler: ClientHandler, options: LocalClientOptions = {}) {
    this.options = options
    this.caller = options.caller ?? LOCAL
    this.principal = this.caller.principal
    this.#handler = handler
    this.welcome = handler.welcome(this)
  }

  notify(method: string, params: JsonText | undefined): void {
    this.options.onNotification?.(method, params)
  }

  project(): ProjectedRequest {
    return { is: 'impossible', what: 'any request' }
  }

  ask(ask: ServerRequest): void {
    ask.answer(failed(new Fault('unknown-method', 'This client answers no requests')))
  }

  /** Sends a request once the proxy is ready. Never rejects. */
  async request(method: string, params?: JsonText): Promise<Answer> {
    await this.welcome
    if (this.#isClosed) return failed(new Fault('disconnected', 'The client has disconnected'))
    return new Promise(resolve => {
      const call = new LocalCall(this, method, params, outcome => {
        this.#calls.delete(call)
        resolve(outcome)
      })
      this.#calls.add(call)
      this.#handler.call(call)
    })
  }

  /** Reads all pages of a list. Empty if no server has such a list. Rejects with a Fault. */
  async list(list: ListName): Promise<JsonText[]> {
    const { capabilities } = await this.welcome
    return await readWholeList(list, capabilities, (method, params) => this.request(method, params))
  }

  /** Cancels all requests and disconnects. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const call of [...this.#calls]) call.cancel('the client disconnects')
    this.#handler.left(this)
  }
}

/** Reads all pages of a list. Empty if `capabilities` lack it. Rejects with a Fault. */
export const readWholeList = async (
  list: ListName,
  capabilities: Readonly<Partial<Record<string, unknown>>>,
  request: (method: string, params: JsonText | undefined) => Promise<Answer>,
): Promise<JsonText[]> => {
  const { method, member, capability } = LISTS[list]
  if (capabilities[capability] === false || capabilities[capability] === undefined) return []
  const items: JsonText[] = []
  let cursor: string | undefined
  do {
    const params = cursor === undefined ? undefined : objectText([['cursor', textOf(cursor)]])
    const page = resultOf(await request(method, params))
    const found = memberOf(page, member)
    if (found !== undefined) items.push(...elementsOf(found))
    cursor = stringOf(memberOf(page, 'nextCursor'))
  } while (cursor !== undefined)
  return items
}

/** Returns the result of an answer. Throws a Fault for an error, with the server's message. */
export const resultOf = (outcome: Answer): JsonText => {
  switch (outcome.kind) {
    case 'result':
      return outcome.result
    case 'fault':
      throw outcome.fault
    case 'error': {
      const message = stringOf(memberOf(outcome.error, 'message')) ?? outcome.error.toString('utf8')
      throw new Fault('unavailable', `The server answered with an error: ${message}`)
    }
  }
}

class LocalCall extends Cancellable implements Call {
  readonly client: LocalClient
  readonly caller: Caller
  readonly method: string
  readonly params: JsonText | undefined
  readonly wantsProgress: boolean
  readonly logLevel = undefined
  #settle: Reply | undefined

  constructor(client: LocalClient, method: string, params: JsonText | undefined, settle: Reply) {
    super()
    this.client = client
    this.caller = client.caller
    this.method = method
    this.params = params
    this.wantsProgress = client.options.onProgress !== undefined
    this.#settle = settle
  }

  progress({ params }: Progress): void {
    if (this.#settle !== undefined) this.client.options.onProgress?.(params)
  }

  notify(method: string, params: JsonText | undefined): void {
    if (this.#settle !== undefined) this.client.notify(method, params)
  }

  end(outcome: Outcome): void {
    const settle = this.#settle
    if (settle === undefined) return
    this.#settle = undefined
    const refused = outcome.kind === 'fault' ? refusedResult(outcome, this.method) : undefined
    if (refused !== undefined) {
      settle({ kind: 'result', result: refused, isError: true })
      return
    }
    if (outcome.kind === 'fault') {
      const { code, message } = outcome.fault
      outcome.errorId ??= newErrorId(RPC_CODES[code], message, code)
    }
    settle(answerOf(outcome))
  }

  cancel(reason: string): void {
    if (this.#settle === undefined) return
    this.cancelled(reason)
    this.end(failed(new Fault('cancelled', 'The client has disconnected')))
  }
}
