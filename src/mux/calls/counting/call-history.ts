import type { Call } from '../../../model/links.js'
import { Durations, Slots } from './durations.js'
import { Notes } from './notes.js'
import { type CallEnd, known } from './tallies.js'

/** Of how many tools it is remembered how long their calls took. */
const TOOLS = 512

/** A call that is over, by what the proxy knows of it; nothing of its contents. */
export interface PastCall extends Pick<CallEnd, 'server' | 'method' | 'name' | 'errorId' | 'outcome'> {
  /** Counts calls that are over, from 1. */
  readonly n: number
  readonly client: number
  /** When it was over, on the clock of the proxy, and how long it took. */
  readonly endedMs: number
  readonly ms: number
}

/** Counts a call that is over; `awayMs` is not a number where it was with no server. */
export type CountCall = (end: CallEnd, ms: number, awayMs: number) => void

interface ServerHistory {
  readonly slots: Slots
  readonly durations: Durations
  /** By the server's own names of its tools. */
  readonly tools: Map<string, Durations>
}

const createServerHistory = (): ServerHistory => ({
  slots: new Slots(),
  durations: new Durations(),
  tools: new Map(),
})

/** The calls that are under way and the last ones that are over, and how long those of each tool took. */
export class CallHistory {
  /** Each in a slot of its own, which the next call takes over: nothing is made or looked up for a call. */
  readonly #underWay: (Call | undefined)[] = []
  readonly #free: number[] = []
  readonly #past: Notes<CallEnd>
  readonly #servers = new Map<string, ServerHistory>()
  #tools = 0
  #begun = 0

  constructor(count: CountCall) {
    this.#past = new Notes((end, at) => {
      const { numbers } = this.#past
      const ms = numbers[at] ?? 0
      count(end, ms, numbers[at + 2] ?? 0)
      this.#add(end, ms, numbers[at + 1] ?? 0)
    })
  }

  began(call: Call): void {
    this.#begun += 1
    call.number = this.#begun
    call.slot = this.#free.pop() ?? this.#underWay.length
    this.#underWay[call.slot] = call
  }

  over(call: Call, end: CallEnd, ms: number, nowMs: number): void {
    this.#leave(call)
    const at = this.#past.take(end)
    const { numbers } = this.#past
    numbers[at] = ms
    numbers[at + 1] = nowMs
    numbers[at + 2] = call.awayMs ?? Number.NaN
    numbers[at + 3] = call.client.id
  }

  /** Counts what is over. */
  count(): void {
    this.#past.count()
  }

  /** In the order in which they came. */
  get underWay(): readonly Call[] {
    const calls = this.#underWay.filter(call => call !== undefined)
    return calls.sort((a, b) => (a.number ?? 0) - (b.number ?? 0))
  }

  /** The number of the last call that is over. */
  get last(): number {
    return this.#past.taken
  }

  /** Those that are over and kept, after the one with this number; oldest first. */
  recent(after = 0): readonly PastCall[] {
    const calls: PastCall[] = []
    this.#past.read(after, ({ server, method, name, errorId, outcome }, at, n) => {
      const { numbers } = this.#past
      const [ms, endedMs, client] = [numbers[at] ?? 0, numbers[at + 1] ?? 0, numbers[at + 3] ?? 0]
      calls.push({ n, client, server, method, name, errorId, outcome, endedMs, ms })
    })
    return calls
  }

  durationsOf(server: string, tool: string): Durations | undefined {
    return this.#upToNow(server)?.tools.get(tool)
  }

  slotsOf(server: string): Slots | undefined {
    return this.#upToNow(server)?.slots
  }

  /** How long the last calls took that a server was asked. */
  servedBy(server: string): Durations | undefined {
    return this.#upToNow(server)?.durations
  }

  /** Forgets servers that are not configured any more. */
  retain(servers: ReadonlySet<string>): void {
    this.count()
    for (const [name, { tools }] of this.#servers) {
      if (servers.has(name)) continue
      this.#tools -= tools.size
      this.#servers.delete(name)
    }
  }

  #upToNow(server: string): ServerHistory | undefined {
    this.count()
    return this.#servers.get(server)
  }

  #add({ server: asked, method, name, outcome }: CallEnd, ms: number, endedMs: number): void {
    if (asked === undefined) return
    const server = known(this.#servers, asked, createServerHistory)
    const isError = outcome !== 'ok' && outcome !== 'input_required'
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
