// One target in one workload: its process (possibly shared with earlier workloads), its sessions and its
// results.
import { FAULTS } from './load/session.js'
import { isPeer, TARGETS } from './targets.js'

const OPEN_LIMIT_MS = 30_000
const DRAIN_MS = 20_000
/** Time limit of a peer per workload, without its start; answers after it are lost. */
const PEER_LIMIT_MS = 12_000
/** Warm-up calls of each process before its first measured slice: sequential, then concurrent. */
export const WARM_UP = { alone: 3000, together: 9000, inFlight: 64, limitMs: 4000 }

const SMALL_CALL = { tool: 'make', size: 20, argument: 32, notices: 0 }

/** Returns the kind of a workload; workloads of one kind share a process per target. */
export const kindOf = ({ front, servers, tools, server, client, apart }) =>
  [front, servers, tools, server, front === 'across eras' && client, apart].join(' ')

/** Processes for the current kind of workload, by target and kind. */
export class Processes {
  #started = new Map()

  async of(name, workload, pages) {
    const kind = kindOf(workload)
    const key = `${name} ${kind}`
    const known = this.#started.get(key)
    if (known !== undefined && known.ending() === undefined) return known
    const make = TARGETS[name][workload.front]
    const target = { ...(await make({ ...workload, pages })), kind, isWarm: false, isOpen: false }
    this.#started.set(key, target)
    return target
  }

  /** Ends the processes whose target matches `isOver(target)`. */
  async end(isOver = () => true) {
    const over = [...this.#started].filter(([, target]) => isOver(target))
    for (const [key] of over) this.#started.delete(key)
    await Promise.all(over.map(([, target]) => target.end()))
  }
}

export class Participant {
  #load
  #processes
  #workload
  #target
  #group
  #leftMs
  slices = []
  faults = Object.fromEntries(FAULTS.map(kind => [kind, 0]))
  example
  /** Reason to stop measuring it. */
  trouble

  constructor(name, workload, { load, processes }) {
    this.name = name
    this.#workload = workload
    this.#load = load
    this.#processes = processes
    this.#leftMs = isPeer(name) ? PEER_LIMIT_MS : Number.POSITIVE_INFINITY
    // A proxy on stdio is its own session: it stays for all workloads of its kind, as with users.
    this.#group = this.#isSession ? `${name} stdio` : `${name} ${workload.front} ${workload.name}`
  }

  get #isSession() {
    return this.#workload.front === 'stdio' && !this.#workload.isCold
  }

  get isMeasurable() {
    return this.trouble === undefined
  }

  get faultCount() {
    return FAULTS.reduce((sum, kind) => sum + this.faults[kind], 0)
  }

  /** Opens its sessions and resolves with the tool pages of the first one. */
  async open({ pages, sessions = this.#workload.sessions } = {}) {
    this.#target = await this.#processes.of(this.name, this.#workload, pages)
    if (this.#isSession && this.#target.isOpen) return undefined
    this.#target.isOpen = true
    return await this.#within(limitMs =>
      this.#load.tell('open', {
        name: this.#group,
        target: this.#target,
        sessions,
        isStateless: this.#workload.client === '2026-07-28',
        limitMs: Math.min(limitMs, OPEN_LIMIT_MS),
      }),
    )
  }

  /** Warms up the process once, then runs a little of the workload itself. */
  async warmUp(forMs) {
    if (!this.#target.isWarm) {
      this.#target.isWarm = true
      const { alone, together, inFlight, limitMs } = WARM_UP
      const work = { ...SMALL_CALL, tool: this.#workload.warmUpTool ?? SMALL_CALL.tool }
      // Warm-up time does not count towards the workload.
      const leftMs = this.#leftMs
      await this.#run({ work, inFlight: 1, forMs: limitMs, maxCalls: alone })
      if (this.isMeasurable) await this.#run({ work, inFlight, forMs: limitMs, maxCalls: together })
      this.#leftMs = leftMs
    }
    if (!this.isMeasurable) return
    const slice = await this.#run({ forMs })
    if (slice.calls === 0) this.trouble ??= `cannot do this: ${this.example}`
  }

  /** Measures for this time, or up to `maxCalls`. */
  async measure(forMs, maxCalls) {
    if (this.#leftMs <= 0) this.trouble ??= 'too slow for more slices'
    if (!this.isMeasurable) return
    const slice = await this.#run({ forMs, maxCalls })
    if (slice.calls > 0) this.slices.push(slice)
  }

  /** Adds the results of another participant with the same name. */
  add(other) {
    this.slices.push(...other.slices)
    for (const kind of FAULTS) this.faults[kind] += other.faults[kind]
    this.example ??= other.example
    this.trouble ??= other.trouble
  }

  /** Closes its sessions, and ends its process if it was too slow. */
  async close() {
    const isBroken = this.trouble !== undefined || this.faults.lost > 0
    if (!this.#isSession || isBroken) await this.#load.tell('close', { name: this.#group })
    if (isBroken) await this.#processes.end(target => target === this.#target)
  }

  async #run({ work = this.#workload.work, inFlight = this.#workload.inFlight, forMs, maxCalls }) {
    const slice = await this.#within(limitMs =>
      this.#load.tell('run', {
        name: this.#group,
        inFlight,
        work,
        forMs: Math.min(forMs, limitMs),
        maxCalls: maxCalls ?? Number.MAX_SAFE_INTEGER,
        drainMs: Math.min(DRAIN_MS, Math.max(limitMs - forMs, 1000)),
      }),
    )
    for (const kind of FAULTS) this.faults[kind] += slice[kind]
    this.example ??= slice.example
    const ending = this.#target.ending()
    if (ending !== undefined) this.trouble ??= ending
    else if (slice.isHung) this.trouble ??= 'stopped answering'
    return slice
  }

  async #within(act) {
    const from = performance.now()
    try {
      return await act(Math.max(1, Math.round(Math.min(this.#leftMs, 600_000))))
    } finally {
      this.#leftMs -= performance.now() - from
    }
  }
}
