import { textMember } from '../../../kernel/json/text.js'
import { shortName } from '../../../kernel/secrets/mask.js'
import type { Client } from '../../../model/links.js'
import type { Outcome } from '../../../model/outcome.js'
import { type CallRecord, type CallVerdict, NEXT } from '../call-record.js'
import { Durations, Slots } from './durations.js'

/** Number of finished calls that are kept. */
const RECENT = 512
/** Number of calls that are aggregated at once. */
const BATCH = 256
/** Maximum number of tools with kept call durations. */
const TOOLS = 512
/** Maximum number of kept names of disconnected clients. */
const LEFT = 512
/** Maximum kept length of a name from a client. */
const NAME = 256

/** A finished call, without its contents. */
export interface PastCall {
  /** Number of the finished call, from 1. */
  readonly n: number
  readonly client: number
  readonly method: string
  /** The server, and its own name of the requested item. */
  readonly server: string | undefined
  readonly name: string | undefined
  readonly errorId: string | undefined
  /** End of the call on the proxy's clock, and its duration. */
  readonly endedMs: number
  readonly ms: number
  /** `ok`, `tool_error`, `input_required`, `cancelled`, an error code, or a fault code. */
  readonly outcome: string
}

/** The kept data of a call except its number and times. */
type Row = { -readonly [K in Exclude<keyof PastCall, 'n' | 'endedMs' | 'ms'>]: PastCall[K] }

interface ServerHistory {
  readonly slots: Slots
  readonly durations: Durations
  /** By the server's own names of its tools. */
  readonly tools: Map<string, Durations>
}

/**
 * Keeps the calls in flight, the last finished ones, and the durations of each tool. A finished call leaves
 * one record; records are aggregated in batches, at the latest on a read.
 */
export class CallHistory {
  /** Each call in a slot, which a later call reuses: no allocation or lookup per call. */
  readonly #inFlight: (CallRecord | undefined)[] = []
  readonly #free: number[] = []
  /** Reused rows: allocating and keeping one per call would cost more than all counting. */
  readonly #recent: Row[] = []
  /** End and duration of each row, in one array, because numbers in objects are boxed. */
  readonly #times = new Float64Array(2 * RECENT)
  readonly #servers = new Map<string, ServerHistory>()
  readonly #refused = new Slots()
  /** Names of disconnected clients, by id. */
  readonly #left = new Map<number, string>()
  #tools = 0
  #n = 0
  /** Number of aggregated calls. */
  #added = 0
  #begun = 0

  readonly began = (call: CallRecord): CallVerdict => {
    this.#begun += 1
    call.number = this.#begun
    call.slot = this.#free.pop() ?? this.#inFlight.length
    this.#inFlight[call.slot] = call
    return NEXT
  }

  /** Keeps the name of a disconnected client for its past calls. */
  clientLeft({ id, info }: Client): void {
    const name = shortName(textMember(info, 'name') ?? '', NAME)
    if (name === '') return
    this.#left.set(id, name)
    const [oldest] = this.#left.keys()
    if (this.#left.size > LEFT && oldest !== undefined) this.#left.delete(oldest)
  }

  /** Returns the kept name of a disconnected client. */
  nameOfLeft(id: number): string | undefined {
    return this.#left.get(id)
  }

  over(call: CallRecord, outcome: Outcome | undefined, ms: number, nowMs: number): void {
    const { client, servedBy, ownName, method, slot } = call
    if (slot !== undefined) {
      call.slot = undefined
      this.#inFlight[slot] = undefined
      this.#free.push(slot)
    }
    const at = this.#n % RECENT
    const past = this.#recent[at] ?? blank()
    this.#recent[at] = past
    this.#times[2 * at] = nowMs
    this.#times[2 * at + 1] = ms
    past.client = client.id
    // A reference to the call would keep its params in memory.
    past.method = method.length > NAME ? shortName(method, NAME) : method
    past.server = servedBy
    past.name = ownName !== undefined && ownName.length > NAME ? shortName(ownName, NAME) : ownName
    past.errorId = outcome?.kind === 'fault' ? outcome.errorId : undefined
    past.outcome = outcomeName(outcome)
    this.#n += 1
    if (this.#n - this.#added >= BATCH) this.#addUp()
  }

  /** In order of arrival. */
  get inFlight(): readonly CallRecord[] {
    const calls = this.#inFlight.filter(call => call !== undefined)
    return calls.sort((a, b) => (a.number ?? 0) - (b.number ?? 0))
  }

  /** The number of the last finished call. */
  get last(): number {
    return this.#n
  }

  /** Returns the kept finished calls after number `after`, oldest first. */
  recent(after = 0): readonly PastCall[] {
    const from = Math.max(after, this.#n - RECENT)
    return Array.from({ length: Math.max(0, this.#n - from) }, (_, n) => {
      const at = (from + n) % RECENT
      return { n: from + n + 1, ...(this.#recent[at] as Row), ...this.#timesOf(at) }
    })
  }

  durationsOf(server: string, tool: string): Durations | undefined {
    return this.#upToNow(server)?.tools.get(tool)
  }

  slotsOf(server: string): Slots | undefined {
    return this.#upToNow(server)?.slots
  }

  /** Requests that failed before a server was found. */
  get refused(): Slots {
    this.#addUp()
    return this.#refused
  }

  /** Returns the durations of the last calls to a server. */
  servedBy(server: string): Durations | undefined {
    return this.#upToNow(server)?.durations
  }

  /** Forgets servers that are no longer configured. */
  retain(servers: ReadonlySet<string>): void {
    this.#addUp()
    for (const [name, { tools }] of this.#servers) {
      if (servers.has(name)) continue
      this.#tools -= tools.size
      this.#servers.delete(name)
    }
  }

  #upToNow(server: string): ServerHistory | undefined {
    this.#addUp()
    return this.#servers.get(server)
  }

  #addUp(): void {
    for (; this.#added < this.#n; this.#added += 1) {
      const at = this.#added % RECENT
      const past = this.#recent[at]
      if (past?.server !== undefined) this.#add(past, past.server, this.#timesOf(at))
      else if (past !== undefined && isFailure(past.outcome)) {
        const { endedMs, ms } = this.#timesOf(at)
        this.#refused.add(endedMs, ms, true)
      }
    }
  }

  #timesOf(at: number): Pick<PastCall, 'endedMs' | 'ms'> {
    return { endedMs: this.#times[2 * at] ?? 0, ms: this.#times[2 * at + 1] ?? 0 }
  }

  #add(past: Row, servedBy: string, { endedMs, ms }: Pick<PastCall, 'endedMs' | 'ms'>): void {
    const { method, name, outcome } = past
    const server = this.#serverOf(servedBy)
    const isError = isFailure(outcome)
    server.slots.add(endedMs, ms, isError)
    server.durations.add(ms, endedMs, isError)
    if (method === 'tools/call' && name !== undefined) this.#toolOf(server, name).add(ms, endedMs, isError)
  }

  #serverOf(name: string): ServerHistory {
    let known = this.#servers.get(name)
    if (known === undefined) {
      known = { slots: new Slots(), durations: new Durations(), tools: new Map() }
      this.#servers.set(name, known)
    }
    return known
  }

  #toolOf({ tools }: ServerHistory, tool: string): Durations {
    const known = tools.get(tool)
    if (known !== undefined) return known
    if (this.#tools >= TOOLS) this.#forgetOldest()
    const made = new Durations()
    tools.set(tool, made)
    this.#tools += 1
    return made
  }

  #forgetOldest(): void {
    let sinceMs = Number.POSITIVE_INFINITY
    let [from, oldest] = [new Map<string, Durations>(), '']
    for (const { tools } of this.#servers.values()) {
      for (const [tool, { lastMs }] of tools) {
        if (lastMs >= sinceMs) continue
        sinceMs = lastMs
        from = tools
        oldest = tool
      }
    }
    from.delete(oldest)
    this.#tools -= 1
  }
}

/** The words of outcomes that are no failures. */
const FINE: ReadonlySet<string> = new Set(['ok', 'input_required', 'task'])

const isFailure = (outcome: string): boolean => !FINE.has(outcome)

const blank = (): Row => ({
  client: 0,
  method: '',
  server: undefined,
  name: undefined,
  errorId: undefined,
  outcome: '',
})

/** Returns the outcome of a call as one word. */
export const outcomeName = (outcome: Outcome | undefined): string => {
  switch (outcome?.kind) {
    case undefined:
      return 'cancelled'
    case 'result':
      return outcome.isError === true ? 'tool_error' : 'ok'
    case 'input':
      return 'input_required'
    case 'task':
      return 'task'
    case 'error':
      return 'error'
    case 'fault':
      return outcome.fault.code
  }
}
