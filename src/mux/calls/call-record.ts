import type { Owned } from '../../catalog/owners.js'
import type { Holding } from '../../kernel/byte-account.js'
import type { Caller } from '../../kernel/caller.js'
import { Fault } from '../../kernel/faults.js'
import type { JsonText } from '../../kernel/json/text.js'
import type { CallTrace } from '../../model/call-trace.js'
import type { Arrival, Call, Client, OnCancelled, Release, ServerRequestMode } from '../../model/links.js'
import type { McpLogLevel } from '../../model/log-level.js'
import { failed, type Outcome } from '../../model/outcome.js'
import type { Progress } from '../../model/progress.js'
import type { Connection } from '../../peers/connection.js'
import type { Retry } from '../input-required/retry/sealed-state.js'
import type { DepartedCall } from './departed-calls.js'
import type { EarlierTry } from './earlier-try.js'

const NONE: readonly string[] = []

/** The interceptor has nothing more to do with the call: it continues. */
export const NEXT = 'next'
/** Another part of the proxy ends the call: for example the parked call that a retry belongs to. */
export const TAKEN = 'taken'

export type CallVerdict = typeof NEXT | typeof TAKEN | Outcome

/**
 * The stages of a call.
 *
 * - `request`: its client is known, nothing was looked up.
 * - `routed`: its server and the server's own name of the item are known.
 * - `sending`: the connection is open.
 * - `settled`: its outcome is known, or undefined because the client has cancelled the call.
 */
export type CallStage = 'request' | 'routed' | 'sending' | 'settled'

/** A feature on the path of calls. */
export interface Interceptor {
  readonly name: string
  readonly stage: CallStage
  /** The methods of its calls; undefined: all. */
  readonly methods?: readonly string[] | undefined
  /** The mode of its clients; undefined: all clients. */
  readonly clients?: ServerRequestMode | undefined
  /** True if it also sees requests that the uplink answers itself, such as `ping`. */
  readonly seesAnswered?: boolean
  /** In the stage `settled`: true if it sees only calls that end with a fault of the proxy. */
  readonly onlyFaults?: boolean
  /**
   * Lets the call continue, or ends it with an outcome; in stage `settled`, the outcome replaces the previous
   * one. May throw a Fault, which is an outcome too.
   */
  run(record: CallRecord, outcome: Outcome | undefined): CallVerdict | Promise<CallVerdict>
}

/**
 * PORT. Decides about a call whose server and item are known, before anything is sent. Never throws or
 * rejects.
 */
export interface CallGate {
  decide(record: RoutedRecord): CallVerdict | Promise<CallVerdict>
}

/** PORT. The approval of a call by a person. */
export interface CallApproval {
  /**
   * Uses the approval, just before the request is handed to its connection. Returns `NEXT` once; anything
   * else, perhaps a new question, replaces the request.
   */
  use(): CallVerdict | Promise<CallVerdict>
  /** Returns what a state of the server's own questions carries: its retry needs no other approval. */
  next(): ApprovedState | undefined
}

/** The part of a sealed state that proves an approval, once. */
interface ApprovedState {
  readonly id: string
  readonly nonce?: string | undefined
}

/** A question to a person about a call, for the audit log. */
export interface AskedApproval {
  readonly id: string
  readonly state: string
  readonly askedMs: number
  readonly decidedMs: number | undefined
  readonly decider: { readonly by: string; readonly via: string } | undefined
  readonly subject: { readonly digest: string }
}

/** The decision of the rules about a call. */
export interface CallDecision {
  readonly decision: 'allow' | 'deny' | 'ask' | 'limited'
  /** The id of the rule; `default` if none matches. */
  readonly rule: string
  /** The tests that matched, such as `/amount is above 500`; never a value. Only for refused calls. */
  readonly tests: readonly string[]
}

/** A feature that follows the clients. */
export interface ClientObserver {
  /** Called before a client is welcomed, perhaps again. */
  met(client: Client): void
  left(client: Client): void
}

export type Chain = readonly Interceptor[]
export type Chains = Readonly<Record<CallStage, Chain>>

/** The place of a call at a server that serves one party at a time. */
export interface Turn {
  /** Gives up the place. */
  leave(): void
  /** Keeps the place of a cancelled call until its server is done with it. */
  depart(departed: DepartedCall): void
}

/** The client side of a call at a server: its record, or a parked call that outlives the client's request. */
export interface ClientSide extends Call {
  readonly trace: CallTrace | undefined
}

/** A call from the stage `routed` on; `connection` is set by the interceptor of that name. */
export interface RoutedRecord extends CallRecord {
  owner: Owned
  readonly servedBy: string
  readonly ownName: string
  connection: Connection
}

/** The proxy's data about one call: created when it arrives, and completed on its way. */
export class CallRecord implements ClientSide {
  readonly call: Call
  readonly chains: Chains
  readonly client: Client
  readonly caller: Caller
  readonly method: string
  readonly wantsProgress: boolean
  readonly logLevel: McpLogLevel | undefined
  /** The time of its arrival, from which all its durations are measured. */
  readonly beganMs: number
  /** The client's params; for a call through a search tool, those of the tool that it calls. */
  params: JsonText | undefined
  /** The `name` in `params`, if they are known to hold only `name` and `arguments`. */
  named: string | undefined

  // ── set by interceptors ──

  /** The number of the call, from 1, for logs; and its index among those in flight. */
  number: number | undefined
  slot: number | undefined
  isAdmitted = false
  /** The reserved bytes of large params. */
  holding: Holding | undefined
  /** Undefined if the call is not traced. */
  trace: CallTrace | undefined
  /** The answers that the client repeats its request with. */
  retry: Retry | undefined
  /** Resolves when the user has visited the page that the retry depends on. */
  visit: Promise<void> | undefined
  /** The turn of the call at a server that serves one client at a time. */
  turn: Turn | undefined

  /** True if its method passes to the only server, because the proxy does not know it. */
  isPassed = false
  /** True if it was called through a search tool, whose client never gets a task. */
  isSearched = false
  /** True if it is a request about a task of its client. */
  isAboutTask = false
  /** True if its client follows the task that the server may create, instead of the proxy. */
  followsTask = false
  /** The task that its client requests, as it wrote it (2025-11-25, basic/utilities/tasks). */
  task: JsonText | undefined

  // ── from the stage `routed` on ──

  owner: Owned | undefined
  /** The name of its server; also set if the server lists no such item. */
  servedBy: string | undefined
  /** The server's own name of the requested item. */
  ownName: string | undefined
  /** The name as the client wrote it, and its path in the params. */
  exposed = ''
  path = NONE
  connection: Connection | undefined
  /** Undefined without rules. */
  decision: CallDecision | undefined
  /** Undefined unless a person approved the call. */
  approval: CallApproval | undefined
  /** Undefined unless a person was asked about the call. */
  asked: AskedApproval | undefined
  /**
   * The owner of the call: equal for all calls of a session. Clients without sessions may be several users
   * each.
   */
  party = 0
  /** The params for the server, still under the client's name. */
  sentParams: JsonText | undefined
  front: ClientSide = this
  totalAtMs = Number.POSITIVE_INFINITY
  /** The last progress value: values must increase. */
  progressed = Number.NEGATIVE_INFINITY
  earlier: EarlierTry | undefined

  // ── once sent ──

  sentMs: number | undefined
  /** The time spent at servers or waiting; set where calls are counted. */
  awayMs: number | undefined
  /** True if the call has an outcome, or its client no longer waits for one. */
  isOver = false

  constructor(call: Call, chains: Chains, beganMs: number) {
    this.call = call
    this.chains = chains
    this.client = call.client
    this.caller = call.caller
    this.method = call.method
    this.wantsProgress = call.wantsProgress
    this.logLevel = call.logLevel
    this.beganMs = beganMs
    this.params = call.params
    this.named = call.named
    // The first listener is called last: after the request was cancelled at its server.
    call.onCancelled(() => this.end(undefined))
  }

  get id(): JsonText | undefined {
    return this.call.id
  }

  get arrival(): Arrival | undefined {
    return this.call.arrival
  }

  /** True if the client no longer waits for the call, and no parked call waits instead. */
  get isGone(): boolean {
    return this.isOver && this.front === this
  }

  /** Records the owner of the requested item. */
  routedTo(owner: Owned): void {
    this.owner = owner
    this.servedBy = owner.server.name
    this.ownName = owner.own
    this.call.routed?.()
  }

  progress(progress: Progress): void {
    this.call.progress(progress)
  }

  notify(method: string, params: JsonText | undefined): void {
    this.call.notify(method, params)
  }

  onCancelled(listener: OnCancelled): Release {
    return this.call.onCancelled(listener)
  }

  /** Ends the call once; without an outcome, because its client no longer waits. */
  end(outcome: Outcome | undefined): void {
    if (this.isOver) return
    this.isOver = true
    settleFrom(this, this.chains.settled, outcome)
  }
}

/**
 * Passes the outcome of a call through interceptors. A failed interceptor replaces it. Synchronous unless an
 * interceptor returns a promise.
 */
const settleFrom = (record: CallRecord, chain: Chain, outcome: Outcome | undefined): void => {
  let last = outcome
  for (const [at, interceptor] of chain.entries()) {
    if (interceptor.onlyFaults === true && last?.kind !== 'fault') continue
    let verdict: CallVerdict | Promise<CallVerdict>
    try {
      verdict = interceptor.run(record, last)
    } catch (thrown) {
      verdict = failedWith(thrown)
    }
    if (verdict instanceof Promise) {
      const before = last
      const rest = chain.slice(at + 1)
      void verdict
        .catch(failedWith)
        .then(known => settleFrom(record, rest, isOutcome(known) ? known : before))
      return
    }
    if (verdict !== NEXT && verdict !== TAKEN) last = verdict
  }
}

const failedWith = (thrown: unknown): CallVerdict => failed(Fault.from(thrown))

const isOutcome = (verdict: CallVerdict): verdict is Outcome => verdict !== NEXT && verdict !== TAKEN
