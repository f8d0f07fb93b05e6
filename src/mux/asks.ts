import { Fault } from '../kernel/faults.js'
import {
  elementsOf,
  type JsonText,
  kindOf,
  mapElements,
  memberOf,
  rawText,
  stringOf,
  withMember,
  withoutMember,
} from '../kernel/json-text.js'
import type { Logger } from '../kernel/logger.js'
import type { Ask, CancelReason, Client } from '../model/links.js'
import { type Answer, failed, resulted } from '../model/outcome.js'
import type { Connection } from '../peers/connection.js'
import type { CallTable } from './call-table.js'
import type { LiveCall } from './live-call.js'
import { type Ability, hasAbility, originOf } from './origin.js'

/** Questions of one server that may wait for answers at a time. */
const ASKS_MAX = 64
/** URL elicitations that may still be reported as complete. */
const ELICITATIONS_MAX = 1000
const CANCELLED = rawText('{"action":"cancel"}')

/**
 * What servers ask of people: sampling, elicitation, roots. Each question reaches the one client that it is for, or nobody;
 * a server whose question nobody may see gets an error at once.
 */
export class Asks {
  readonly #calls: CallTable
  readonly #log: Logger
  /** Whether servers stand side by side, so that `includeContext` would hand one server's context to another. */
  readonly #isShared: boolean
  readonly #open = new Map<Connection, number>()
  readonly #elicitations = new Map<string, Client>()

  constructor(calls: CallTable, around: { readonly log: Logger; readonly isShared: boolean }) {
    this.#calls = calls
    this.#log = around.log
    this.#isShared = around.isShared
  }

  /** How many questions wait for an answer. */
  get size(): number {
    return [...this.#open.values()].reduce((sum, count) => sum + count, 0)
  }

  asked(connection: Connection, ask: Ask): void {
    const count = this.#open.get(connection) ?? 0
    if (count >= ASKS_MAX) {
      ask.answer(failed(new Fault('overloaded', `More than ${ASKS_MAX} questions are unanswered`)))
      return
    }
    const ability = abilityFor(ask)
    if (!hasAbility(connection.share.capabilities, ability)) {
      ask.answer(failed(incapable(ask)))
      return
    }
    const origin = originOf(
      {
        about: this.#calls.about(connection, ask.about),
        running: [...this.#calls.on(connection)].filter(call => call.isRunning),
        onlyClient: connection.onlyClient,
      },
      ability,
    )
    switch (origin.is) {
      case 'call':
        this.#relay(connection, ask, origin.call.call.client, origin.call)
        return
      case 'client':
        this.#relay(connection, ask, origin.client, undefined)
        return
      case 'incapable':
        ask.answer(failed(incapable(ask)))
        return
      case 'ambiguous':
        this.#refuse(connection, ask, 'No single client request is associated with this request')
        return
      case 'none':
        this.#refuse(connection, ask, 'No client request is associated with this request')
    }
  }

  /** A client is shown a URL elicitation, by a question or by an error that names it. */
  remember(connection: Connection, client: Client, id: string): void {
    if (this.#elicitations.size >= ELICITATIONS_MAX) {
      const [oldest] = this.#elicitations.keys()
      if (oldest !== undefined) this.#elicitations.delete(oldest)
    }
    this.#elicitations.set(elicitationKey(connection, id), client)
  }

  /** A server says that a URL elicitation is complete: for the client that was shown it, and no other. */
  elicitationComplete(connection: Connection, params: JsonText | undefined): void {
    const id = params && stringOf(memberOf(params, 'elicitationId'))
    if (id === undefined) return
    const key = elicitationKey(connection, id)
    const client = this.#elicitations.get(key)
    this.#elicitations.delete(key)
    if (client !== undefined && client.revision === '2025-11-25')
      client.tell('notifications/elicitation/complete', params)
  }

  /** A client is gone: nothing of it is kept. */
  forget(client: Client): void {
    for (const [key, shown] of this.#elicitations) if (shown === client) this.#elicitations.delete(key)
  }

  #relay(connection: Connection, ask: Ask, client: Client, live: LiveCall | undefined): void {
    this.#open.set(connection, (this.#open.get(connection) ?? 0) + 1)
    const passed = new PassedAsk(ask, this.#paramsFor(ask), () => {
      this.#closeOne(connection)
      live?.answered(passed)
    })
    const id = ask.params && stringOf(memberOf(ask.params, 'elicitationId'))
    if (id !== undefined) this.remember(connection, client, id)
    live?.asking(passed)
    client.ask(passed, live?.call)
  }

  #refuse(connection: Connection, ask: Ask, words: string): void {
    this.#log.warn({ server: connection.server.name, method: ask.method }, `refused a question: ${words}`)
    ask.answer(failed(new Fault('invalid-params', words)))
  }

  #closeOne(connection: Connection): void {
    const count = (this.#open.get(connection) ?? 1) - 1
    if (count === 0) this.#open.delete(connection)
    else this.#open.set(connection, count)
  }

  /** A client sees one server, us: "this server's context" would be the context of all of them. */
  #paramsFor(ask: Ask): JsonText | undefined {
    const isSampling = ask.method === 'sampling/createMessage'
    if (!this.#isShared || !isSampling || ask.params === undefined) return ask.params
    const context = stringOf(memberOf(ask.params, 'includeContext'))
    return context === 'thisServer' || context === 'allServers'
      ? withoutMember(ask.params, 'includeContext')
      : ask.params
  }
}

/** A question on its way to a client: tells when it is over, and repairs what the client answers. */
class PassedAsk implements Ask {
  readonly method: string
  readonly params: JsonText | undefined
  readonly about = undefined
  readonly wantsProgress: boolean
  onWithdrawn: ((reason: CancelReason) => void) | undefined
  readonly #ask: Ask
  readonly #over: () => void
  #isOver = false

  constructor(ask: Ask, params: JsonText | undefined, over: () => void) {
    this.#ask = ask
    this.#over = over
    this.method = ask.method
    this.params = params
    this.wantsProgress = ask.wantsProgress
    ask.onWithdrawn = reason => {
      if (!this.#close()) return
      this.onWithdrawn?.(reason)
    }
  }

  answer(outcome: Answer): void {
    if (this.#close()) this.#ask.answer(answerFor(this.method, outcome))
  }

  progress(params: JsonText): void {
    if (!this.#isOver) this.#ask.progress(params)
  }

  #close(): boolean {
    if (this.#isOver) return false
    this.#isOver = true
    this.#over()
    return true
  }
}

/** What reaches the server: a person who cannot be asked any more has cancelled, and roots are files. */
const answerFor = (method: string, outcome: Answer): Answer => {
  if (outcome.kind === 'fault' && method === 'elicitation/create' && outcome.fault.code !== 'overloaded') {
    return resulted(CANCELLED)
  }
  if (outcome.kind === 'result' && method === 'roots/list') return resulted(fileRoots(outcome.result))
  return outcome
}

/** Roots are `file://` URIs (client/roots, "Data Types"); SDK servers refuse a whole answer for another one. */
const fileRoots = (result: JsonText): JsonText => {
  const roots = memberOf(result, 'roots')
  if (roots === undefined || kindOf(roots) !== 'array') return result
  const isFile = (root: JsonText): boolean => stringOf(memberOf(root, 'uri'))?.startsWith('file://') === true
  if (elementsOf(roots).every(isFile)) return result
  return withMember(
    result,
    'roots',
    mapElements(roots, root => (isFile(root) ? root : undefined)),
  )
}

const abilityFor = ({ method, params }: Ask): Ability => {
  if (method === 'roots/list') return 'roots'
  if (method === 'elicitation/create') {
    return params !== undefined && stringOf(memberOf(params, 'mode')) === 'url'
      ? 'elicitation.url'
      : 'elicitation.form'
  }
  const wantsTools =
    params !== undefined && ['tools', 'toolChoice'].some(key => memberOf(params, key) !== undefined)
  return wantsTools ? 'sampling.tools' : 'sampling'
}

/** A question that the client did not offer to answer (client/elicitation, "Error Handling"; client/roots likewise). */
const incapable = (ask: Ask): Fault => {
  switch (abilityFor(ask)) {
    case 'roots':
      return new Fault('unknown-method', 'Roots not supported')
    case 'sampling':
      return new Fault('unknown-method', 'Sampling not supported')
    case 'sampling.tools':
      return new Fault('invalid-params', 'Sampling with tools not supported')
    case 'elicitation.form':
      return new Fault('unknown-method', 'Elicitation not supported')
    case 'elicitation.url':
      return new Fault('invalid-params', 'Elicitation mode not supported: url')
  }
}

const elicitationKey = (connection: Connection, id: string): string =>
  `${connection.server.name}\0${connection.share.key}\0${id}`
