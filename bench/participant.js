// One target in one workload: its process, which may be that of earlier workloads, its sessions, and what was
// measured.
import { FAULTS } from './load/session.js'
import { isPeer, TARGETS } from './targets.js'

const OPEN_LIMIT_MS = 30_000
const DRAIN_MS = 20_000
/** What a peer may take for one workload, besides its start; whatever it has not answered by then is lost. */
const PEER_LIMIT_MS = 12_000
/** Before its first measured slice each process answers the same calls: one at a time, then many at once. */
export const WARM_UP = { alone: 3000, together: 9000, inFlight: 64, limitMs: 4000 }

const SMALL_CALL = { tool: 'make', size: 20, argument: 32, notices: 0 }

/** Workloads of one kind share a process of each target. */
export const kindOf = ({ front, servers, tools, server, client, apart }) =>
  [front, servers, tools, server, front === 'across eras' && client, apart].join(' ')

/** The processes of the kind of workload that is being measured, by target and kind. */
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

  /** Ends those for which `isOver(target)` holds. */
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
  /** Why it is not measured further, if so. */
  trouble

  constructor(name, workload, { load, processes }) {
    this.name = name
    this.#workload = workload
    this.#load = load
    this.#processes = processes
    this.#leftMs = isPeer(name) ? PEER_LIMIT_MS : Number.POSITIVE_INFINITY
    // A proxy on stdio is its session: it stays for all workloads of its kind, as it does with users.
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

  /** Opens its sessions, and resolves with the pages of tools that the first one saw. */
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

  /** The warm-up of the process, once, and then a little of the workload itself. */
  async warmUp(forMs) {
    if (!this.#target.isWarm) {
      this.#target.isWarm = true
      const { alone, together, inFlight, limitMs } = WARM_UP
      const work = { ...SMALL_CALL, tool: this.#workload.warmUpTool ?? SMALL_CALL.tool }
      // The time for it is not that of the workload.
      const leftMs = this.#leftMs
      await this.#run({ work, inFlight: 1, forMs: limitMs, maxCalls: alone })
      if (this.isMeasurable) await this.#run({ work, inFlight, forMs: limitMs, maxCalls: together })
      this.#leftMs = leftMs
    }
    if (!this.isMeasurable) return
    const slice = await this.#run({ forMs })
    if (slice.calls === 0) this.trouble ??= `cannot do this: ${this.example}`
  }

  /** Measures for so long; `maxCalls` may end it earlier. */
  async measure(forMs, maxCalls) {
    if (this.#leftMs <= 0) this.trouble ??= 'too slow for more slices'
    if (!this.isMeasurable) return
    const slice = await this.#run({ forMs, maxCalls })
    if (slice.calls > 0) this.slices.push(slice)
  }

  /** Takes over what another of the same name measured. */
  add(other) {
    this.slices.push(...other.slices)
    for (const kind of FAULTS) this.faults[kind] += other.faults[kind]
    this.example ??= other.example
    this.trouble ??= other.trouble
  }

  /** Closes its sessions, and ends its process if that has not kept up. */
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
