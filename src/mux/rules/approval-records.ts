import { randomBytes } from 'node:crypto'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import { Deferred } from '../../kernel/async/deferred.js'
import type { Principal } from '../../kernel/caller.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { LimitName } from '../../kernel/limits.js'
import type { Meter } from '../../kernel/meter.js'
import type { AskRule, Rule } from '../../kernel/rule.js'

/** The call that an approval is for; every value is compared before the approval is used. */
export interface ApprovalSubject {
  readonly principal: Principal
  readonly server: string
  readonly method: string
  /** The server's own name of the item. */
  readonly name: string
  /** Of the request: its name and arguments. */
  readonly digest: string
  /** The digest of the item's definition; undefined if it has none or none is known. */
  readonly definition: string | undefined
  readonly rule: Rule & { readonly ask: AskRule }
  readonly ruleDigest: string
}

export type ApprovalState = 'waiting' | 'granted' | 'declined' | 'expired' | 'withdrawn' | 'used'

/** How a person decided; `session`: by an earlier answer for the rest of the session. */
type ApprovalWay = 'form' | 'page' | 'cli' | 'session'

interface Decider {
  readonly by: Principal
  readonly via: ApprovalWay
}

/** The later states of each state. */
const LATER: Readonly<Record<ApprovalState, readonly ApprovalState[]>> = {
  waiting: ['granted', 'declined', 'expired', 'withdrawn'],
  granted: ['used', 'expired', 'withdrawn'],
  declined: [],
  expired: [],
  withdrawn: [],
  used: [],
}

/** One question to a person about one call, and the answer. Kept until it expires. */
export class Approval {
  /** Hexadecimal, because a command line takes it, and must not begin with a dash. */
  readonly id = randomBytes(16).toString('hex')
  readonly subject: ApprovalSubject
  /** The canonical arguments, for the person; empty once it is decided. */
  text: string
  /** The names of the members of its item that differ from the lock file. */
  readonly changed: readonly string[]
  readonly askedMs: number
  /** On the clock of the proxy, and on the wall clock in milliseconds since 1970. */
  readonly endsMs: number
  readonly endsAtMs: number
  state: ApprovalState = 'waiting'
  decider: Decider | undefined
  decidedMs: number | undefined
  /** The call that waits for the decision, or that was let through by it. */
  holder: { readonly isOver: boolean } | undefined
  /** True if its client returns with a sealed state; no other call may take it over. */
  isSealed = false
  /** How the client was asked last. */
  asks: 'form' | 'url' | 'hold' | 'refusal' = 'refusal'
  /** True once a call was refused because the person declined. */
  isReported = false
  /** What the next retry of the approved call at its server carries; it works once. */
  nonce: string | undefined
  timer: Timer | undefined
  readonly #settled = new Deferred<void>()

  constructor(
    subject: ApprovalSubject,
    { text, changed }: { readonly text: string; readonly changed: readonly string[] },
    nowMs: number,
  ) {
    const { timeoutMs } = subject.rule.ask
    this.subject = subject
    this.text = text
    this.changed = changed
    this.askedMs = nowMs
    this.endsMs = nowMs + timeoutMs
    this.endsAtMs = Date.now() + timeoutMs
  }

  /** Resolves when the approval no longer waits. */
  get settled(): Promise<void> {
    return this.#settled.promise
  }

  get isHeld(): boolean {
    return this.holder?.isOver === false
  }

  /** Changes the state, if that is possible. */
  move(state: ApprovalState): boolean {
    if (!LATER[this.state].includes(state)) return false
    this.state = state
    this.#settled.resolve()
    return true
  }
}

/** The content of an audit line about an approval. */
export interface ApprovalEvent {
  readonly event: 'asked' | Exclude<ApprovalState, 'waiting'>
  readonly approval: Approval
  readonly decider: Decider | undefined
}

export interface ApprovalRecordsOptions {
  readonly clock: Clock
  readonly bounds: LimitCounters
  readonly meter?: Meter | undefined
  readonly onEvent?: ((event: ApprovalEvent) => void) | undefined
}

/** The arguments of all approvals together take at most this part of `limits.unread`. */
const UNREAD_PART = 1 / 2

/** Returns whether an approval still counts against its principal's share. */
const isOpen = ({ state }: Approval): boolean => state === 'waiting' || state === 'granted'

/** Returns whether the next equal call can take an approval over; a declined one refuses once. */
const isLeft = (approval: Approval): boolean =>
  isOpen(approval) || (approval.state === 'declined' && !approval.isReported)

/** Returns whether two approvals are about the same request of one principal. */
export const isSameCall = (one: ApprovalSubject, other: ApprovalSubject): boolean =>
  one.digest === other.digest &&
  one.principal === other.principal &&
  one.server === other.server &&
  one.method === other.method &&
  one.name === other.name

/** The approvals of this process; they are never stored anywhere else. */
export class ApprovalRecords {
  readonly #options: ApprovalRecordsOptions
  readonly #all = new Map<string, Approval>()
  #bytes = 0

  constructor(options: ApprovalRecordsOptions) {
    this.#options = options
  }

  /** Adds a new approval, whose question is asked now; returns the limit that is reached instead. */
  add(approval: Approval): LimitName | undefined {
    const { clock, bounds } = this.#options
    const { approvals, approvalsPerPrincipal, unread } = bounds.max
    const { principal } = approval.subject
    const own = [...this.#all.values()].filter(each => isOpen(each) && each.subject.principal === principal)
    if (own.length >= approvalsPerPrincipal) return 'approvalsPerPrincipal'
    const hasRoom = (): boolean =>
      this.#all.size < approvals && this.#bytes + approval.text.length <= unread * UNREAD_PART
    for (const each of this.#all.values()) {
      if (hasRoom()) break
      if (!isOpen(each)) this.#drop(each)
    }
    if (!hasRoom()) return this.#all.size < approvals ? 'unread' : 'approvals'
    this.#all.set(approval.id, approval)
    this.#bytes += approval.text.length
    approval.timer = clock.after(approval.endsMs - clock.nowMs(), () => this.#expire(approval))
    this.#tell('asked', approval)
    return undefined
  }

  /** Returns undefined for an unknown approval, or one that is over and forgotten. */
  find(id: string): Approval | undefined {
    return this.#all.get(id)
  }

  /** Returns the approval that an earlier equal call has left, if no other call has it. */
  leftFor(wanted: ApprovalSubject): Approval | undefined {
    return [...this.#all.values()].find(
      each =>
        isSameCall(each.subject, wanted) &&
        each.subject.ruleDigest === wanted.ruleDigest &&
        isLeft(each) &&
        !each.isHeld &&
        !each.isSealed,
    )
  }

  /** True if no approval waits. */
  get isIdle(): boolean {
    return this.waiting.length === 0
  }

  get waiting(): readonly Approval[] {
    return [...this.#all.values()].filter(({ state }) => state === 'waiting')
  }

  /** Records the decision of a person; returns whether it was the first one, and in time. */
  decide(approval: Approval, isAllowed: boolean, decider: Decider): boolean {
    const { clock } = this.#options
    if (approval.state !== 'waiting') return false
    if (clock.nowMs() >= approval.endsMs) {
      this.#expire(approval)
      return false
    }
    approval.decider = decider
    approval.decidedMs = clock.nowMs()
    return this.#move(approval, isAllowed ? 'granted' : 'declined')
  }

  /** Uses a granted approval, once. */
  use(approval: Approval): boolean {
    const { clock } = this.#options
    if (approval.state === 'granted' && clock.nowMs() >= approval.endsMs) this.#expire(approval)
    return this.#move(approval, 'used')
  }

  withdraw(approval: Approval): void {
    if (this.#move(approval, 'withdrawn')) this.#drop(approval)
  }

  /** Reports a call that an answer for the session lets through. */
  usedAgain(approval: Approval): void {
    const { decider } = approval
    this.#options.onEvent?.({ event: 'used', approval, decider: decider && { ...decider, via: 'session' } })
  }

  #expire(approval: Approval): void {
    this.#move(approval, 'expired')
    this.#drop(approval)
  }

  #drop(approval: Approval): void {
    approval.timer?.cancel()
    this.#all.delete(approval.id)
  }

  #move(approval: Approval, state: Exclude<ApprovalState, 'waiting'>): boolean {
    if (!approval.move(state)) return false
    this.#bytes -= approval.text.length
    approval.text = ''
    this.#tell(state, approval)
    if (state !== 'used') this.#options.meter?.counter('mcp_proxy_approvals', state).add()
    return true
  }

  #tell(event: ApprovalEvent['event'], approval: Approval): void {
    this.#options.onEvent?.({ event, approval, decider: approval.decider })
  }
}
