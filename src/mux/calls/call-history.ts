import { traceIdOf } from '../../model/call-trace.js'
import type { Call } from '../../model/links.js'
import type { Outcome } from '../../model/outcome.js'

/** How many calls are remembered once they are over. */
const RECENT = 512
/** How many durations of a tool are remembered, and of how many tools. */
const DURATIONS = 256
const TOOLS = 512
/** How much is kept of a name that a client writes. */
const NAME = 256
const SLOT_MS = 10_000
const SLOTS = 60

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** A call that is over, by what the proxy knows of it; nothing of its contents. */
export interface PastCall {
  /** Counts calls that are over, from 1. */
  readonly n: number
  /** Its number in logs. */
  readonly call: number | undefined
  readonly client: number
  readonly method: string
  /** The server that it was for, and the server's own name of what it named. */
  readonly server: string | undefined
  readonly name: string | undefined
  readonly errorId: string | undefined
  /** The id of its trace, if it was sampled. */
  readonly trace: string | undefined
  /** When it came, on the clock of the proxy. */
  readonly beganMs: number
  readonly ms: number
  /** `ok`, `tool_error`, `input_required`, `cancelled`, the code of an error, or the word of a fault. */
  readonly outcome: string
}

/** The last durations of one tool, or of one server. */
export class Durations {
  readonly #ms = new Float32Array(DURATIONS)
  #count = 0
  #errors = 0
  lastMs = 0

  get calls(): number {
    return this.#count
  }

  get errors(): number {
    return this.#errors
  }

  add(ms: number, nowMs: number, isError: boolean): void {
    this.#errors += isError ? 1 : 0
    this.#ms[this.#count % DURATIONS] = ms
    this.#count += 1
    this.lastMs = nowMs
  }

  /** Undefined before the first one. */
  quantile(share: number): number | undefined {
    const known = this.#ms.slice(0, Math.min(this.#count, DURATIONS)).sort()
    return known[Math.min(known.length - 1, Math.ceil(known.length * share) - 1)]
  }
}

/** One stretch of ten seconds at a server. */
export interface Slot {
  readonly calls: number
  readonly errors: number
  readonly sumMs: number
  readonly longestMs: number
}

/** What a server was asked in the last ten minutes. */
export class Slots {
  readonly #values = new Float64Array(SLOTS * 4)
  #newest = 0

  add(nowMs: number, ms: number, isError: boolean): void {
    const at = this.#move(nowMs)
    const values = this.#values
    values[at] = (values[at] ?? 0) + 1
    values[at + 1] = (values[at + 1] ?? 0) + (isError ? 1 : 0)
    values[at + 2] = (values[at + 2] ?? 0) + ms
    values[at + 3] = Math.max(values[at + 3] ?? 0, ms)
  }

  /** Oldest first; the last one is under way. */
  read(nowMs: number): readonly Slot[] {
    this.#move(nowMs)
    return Array.from({ length: SLOTS }, (_, n) => {
      const at = ((this.#newest + 1 + n) % SLOTS) * 4
      const [calls = 0, errors = 0, sumMs = 0, longestMs = 0] = this.#values.subarray(at, at + 4)
      return { calls, errors, sumMs, longestMs }
    })
  }

  /** Where the current slot begins; those that were skipped are emptied. */
  #move(nowMs: number): number {
    const slot = Math.floor(nowMs / SLOT_MS)
    const skipped = Math.min(SLOTS, slot - this.#newest)
    for (let n = 0; n < skipped; n++) {
      const at = ((slot - n) % SLOTS) * 4
      this.#values.fill(0, at, at + 4)
    }
    this.#newest = slot
    return (slot % SLOTS) * 4
  }
}

interface ServerHistory {
  readonly slots: Slots
  readonly durations: Durations
  /** By the server's own names of its tools. */
  readonly tools: Map<string, Durations>
}

/** The calls that are under way and the last ones that are over, and how long those of each tool took. */
export class CallHistory {
  /** Each in a slot of its own, which the next call takes over: nothing is made or looked up for a call. */
  readonly #underWay: (Call | undefined)[] = []
  readonly #free: number[] = []
  /** Written over and over: what is made for each call, and kept, costs more than all that is counted. */
  readonly #recent: Writable<PastCall>[] = []
  readonly #servers = new Map<string, ServerHistory>()
  #tools = 0
  #n = 0
  #begun = 0

  began(call: Call): void {
    this.#begun += 1
    call.number = this.#begun
    call.slot = this.#free.pop() ?? this.#underWay.length
    this.#underWay[call.slot] = call
  }

  over(call: Call, outcome: Outcome | undefined, ms: number, nowMs: number): void {
    this.#leave(call)
    const word = wordOf(outcome)
    const { client, servedBy, ownName, method } = call
    const past = this.#next()
    past.call = call.number
    past.client = client.id
    // The call itself would keep what it was called with.
    past.method = cut(method)
    past.server = servedBy
    past.name = ownName && cut(ownName)
    past.errorId = outcome?.kind === 'fault' ? outcome.errorId : undefined
    past.trace = traceIdOf(call)
    past.beganMs = nowMs - ms
    past.ms = ms
    past.outcome = word
    if (servedBy === undefined) return
    const server = this.#serverOf(servedBy)
    const isError = word !== 'ok' && word !== 'input_required'
    server.slots.add(nowMs, ms, isError)
    server.durations.add(ms, nowMs, isError)
    if (method === 'tools/call' && ownName !== undefined)
      this.#toolOf(server, cut(ownName)).add(ms, nowMs, isError)
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
    return Array.from({ length: Math.max(0, this.#n - from) }, (_, at) => ({
      ...(this.#recent[(from + at) % RECENT] as PastCall),
    }))
  }

  durationsOf(server: string, tool: string): Durations | undefined {
    return this.#servers.get(server)?.tools.get(tool)
  }

  slotsOf(server: string): Slots | undefined {
    return this.#servers.get(server)?.slots
  }

  /** How long the last calls took that a server was asked. */
  servedBy(server: string): Durations | undefined {
    return this.#servers.get(server)?.durations
  }

  /** Forgets servers that are not configured any more. */
  retain(servers: ReadonlySet<string>): void {
    for (const [name, { tools }] of this.#servers) {
      if (servers.has(name)) continue
      this.#tools -= tools.size
      this.#servers.delete(name)
    }
  }

  #leave(call: Call): void {
    const { slot } = call
    if (slot === undefined) return
    call.slot = undefined
    this.#underWay[slot] = undefined
    this.#free.push(slot)
  }

  #next(): Writable<PastCall> {
    const at = this.#n % RECENT
    const past = this.#recent[at] ?? blank()
    this.#recent[at] = past
    this.#n += 1
    past.n = this.#n
    return past
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

const blank = (): Writable<PastCall> => ({
  n: 0,
  call: undefined,
  client: 0,
  method: '',
  server: undefined,
  name: undefined,
  errorId: undefined,
  trace: undefined,
  beganMs: 0,
  ms: 0,
  outcome: '',
})

const cut = (text: string): string => (text.length > NAME ? text.slice(0, NAME) : text)

const wordOf = (outcome: Outcome | undefined): string => {
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
