import { textMember } from '../../../kernel/json/text.js'
import type { Call, Client } from '../../../model/links.js'
import type { Outcome } from '../../../model/outcome.js'
import { shortName } from '../../../secrets/mask.js'
import { Durations, Slots } from './durations.js'

/** How many calls are remembered once they are over. */
const RECENT = 512
/** After so many calls they are added up, if nobody has asked before. */
const BATCH = 256
/** Of how many tools it is remembered how long their calls took. */
const TOOLS = 512
/** Of how many clients that have left the names are kept. */
const LEFT = 512
/** How much is kept of a name that a client writes. */
const NAME = 256

/** A call that is over, by what the proxy knows of it; nothing of its contents. */
export interface PastCall {
  /** Counts calls that are over, from 1. */
  readonly n: number
  readonly client: number
  readonly method: string
  /** The server that it was for, and the server's own name of what it named. */
  readonly server: string | undefined
  readonly name: string | undefined
  readonly errorId: string | undefined
  /** When it was over, on the clock of the proxy, and how long it took. */
  readonly endedMs: number
  readonly ms: number
  /** `ok`, `tool_error`, `input_required`, `cancelled`, the code of an error, or the word of a fault. */
  readonly outcome: string
}

/** What is kept of a call beside its number and times. */
type Row = { -readonly [K in Exclude<keyof PastCall, 'n' | 'endedMs' | 'ms'>]: PastCall[K] }

interface ServerHistory {
  readonly slots: Slots
  readonly durations: Durations
  /** By the server's own names of its tools. */
  readonly tools: Map<string, Durations>
}

/**
 * The calls that are under way and the last ones that are over, and how long those of each tool took. A call
 * that is over leaves one record; many of them are added up at once, at the latest when somebody asks.
 */
export class CallHistory {
  /** Each in a slot of its own, which the next call takes over: nothing is made or looked up for a call. */
  readonly #underWay: (Call | undefined)[] = []
  readonly #free: number[] = []
  /** Written over and over: what is made for each call, and kept, costs more than all that is counted. */
  readonly #recent: Row[] = []
  /** When each of them was over, and how long it took: in one place, as numbers in objects have their own. */
  readonly #times = new Float64Array(2 * RECENT)
  readonly #servers = new Map<string, ServerHistory>()
  readonly #refused = new Slots()
  /** Names of clients that have left, by their ids. */
  readonly #left = new Map<number, string>()
  #tools = 0
  #n = 0
  /** How many of those are added up. */
  #added = 0
  #begun = 0

  began(call: Call): void {
    this.#begun += 1
    call.number = this.#begun
    call.slot = this.#free.pop() ?? this.#underWay.length
    this.#underWay[call.slot] = call
  }

  /** Keeps the name of a client, which its calls outlive here. */
  clientLeft({ id, info }: Client): void {
    const name = shortName(textMember(info, 'name') ?? '', NAME)
    if (name === '') return
    this.#left.set(id, name)
    const [oldest] = this.#left.keys()
    if (this.#left.size > LEFT && oldest !== undefined) this.#left.delete(oldest)
  }

  /** The name of a client that has left, if it is kept. */
  nameOfLeft(id: number): string | undefined {
    return this.#left.get(id)
  }

  over(call: Call, outcome: Outcome | undefined, ms: number, nowMs: number): void {
    this.#leave(call)
    const { client, servedBy, ownName, method } = call
    const at = this.#n % RECENT
    const past = this.#recent[at] ?? blank()
    this.#recent[at] = past
    this.#times[2 * at] = nowMs
    this.#times[2 * at + 1] = ms
    past.client = client.id
    // The call itself would keep what it was called with.
    past.method = shortName(method, NAME)
    past.server = servedBy
    past.name = ownName && shortName(ownName, NAME)
    past.errorId = outcome?.kind === 'fault' ? outcome.errorId : undefined
    past.outcome = wordOf(outcome)
    this.#n += 1
    if (this.#n - this.#added >= BATCH) this.#addUp()
  }

  /** In the order in which they came. */
  get underWay(): readonly Call[] {
    const calls = this.#underWay.filter(call => call !== undefined)
    return calls.sort((a, b) => (a.number ?? 0) - (b.number ?? 0))
  }

  /** The number of the last call that is over. */
  get last(): number {
    return this.#n
  }

  /** Those that are over and kept, after the one with this number; oldest first. */
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

  /** Requests that failed before a server was found for them. */
  get refused(): Slots {
    this.#addUp()
    return this.#refused
  }

  /** How long the last calls took that a server was asked. */
  servedBy(server: string): Durations | undefined {
    return this.#upToNow(server)?.durations
  }

  /** Forgets servers that are not configured any more. */
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

  #leave(call: Call): void {
    const { slot } = call
    if (slot === undefined) return
    call.slot = undefined
    this.#underWay[slot] = undefined
    this.#free.push(slot)
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

const isFailure = (outcome: string): boolean => outcome !== 'ok' && outcome !== 'input_required'

const blank = (): Row => ({
  client: 0,
  method: '',
  server: undefined,
  name: undefined,
  errorId: undefined,
  outcome: '',
})

/** How a call ended, in a word. */
export const wordOf = (outcome: Outcome | undefined): string => {
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
