import type { Caller } from '../../../src/kernel/caller.js'
import type { Fault } from '../../../src/kernel/faults.js'
import { textOf, valueOf } from '../../../src/kernel/json/text.js'
import { LimitCounters } from '../../../src/kernel/limit-counters.js'
import {
  type Call,
  Cancellable,
  type CancelReason,
  type Client,
  type ServerRequest,
} from '../../../src/model/links.js'
import { type Outcome, succeeded } from '../../../src/model/outcome.js'
import type { ClientCapabilities } from '../../../src/model/peer.js'
import type { Progress } from '../../../src/model/progress.js'
import type { ParkedCall } from '../../../src/mux/input-required/parked/parked-call.js'
import type { ParkLimits } from '../../../src/mux/input-required/parked/parked-call-context.js'
import { PARK_LIMITS, ParkedCalls } from '../../../src/mux/input-required/parked/parked-calls.js'
import type { Connection } from '../../../src/peers/connection.js'
import { callerWith } from '../client/fake-client.js'
import { FakeClock } from '../fake-clock.js'
import { recordOf } from './records.js'

const ALL: ClientCapabilities = {
  roots: { listChanged: false },
  sampling: { tools: true, context: true },
  elicitation: { form: true, url: true },
}

/** Returns an outcome as plain values. */
export const valueOfOutcome = (outcome: Outcome): unknown => {
  switch (outcome.kind) {
    case 'result':
    case 'input':
      return valueOf(outcome.result)
    case 'error':
      return { error: valueOf(outcome.error) }
    case 'fault':
      return { fault: outcome.fault.code, message: outcome.fault.message }
  }
}

/** A request of a modern client. */
export class ModernCall extends Cancellable implements Call {
  readonly client: Client
  readonly caller: Caller
  readonly method: string
  readonly params
  readonly wantsProgress: boolean
  readonly logLevel = undefined
  readonly ends: unknown[] = []
  readonly progresses: unknown[] = []
  readonly told: unknown[] = []
  isCancelled = false
  /** Number of reports after the end. */
  late = 0

  constructor(
    options: { principal?: string; method?: string; wantsProgress?: boolean; can?: ClientCapabilities } = {},
  ) {
    super()
    this.caller = callerWith(options.principal ?? 'local')
    this.client = {
      principal: this.caller.principal,
      capabilities: options.can ?? ALL,
      revision: '2026-07-28',
      serverRequests: 'returned',
    } as Client
    this.method = options.method ?? 'tools/call'
    this.params = textOf({ name: 'x' })
    this.wantsProgress = options.wantsProgress ?? false
  }

  get isOpen(): boolean {
    return this.ends.length === 0
  }

  get ended(): unknown {
    return this.ends[0]
  }

  /** Returns the methods of the questions in its result, by key. */
  get asked(): Record<string, string> {
    const { inputRequests = {} } = (this.ended ?? {}) as {
      inputRequests?: Record<string, { method: string }>
    }
    return Object.fromEntries(Object.entries(inputRequests).map(([key, { method }]) => [key, method]))
  }

  get state(): { parkId: string; round: number } {
    const { requestState } = this.ended as { requestState: string }
    return JSON.parse(requestState) as { parkId: string; round: number }
  }

  end(outcome: Outcome): void {
    if (this.ends.length > 0) this.late += 1
    this.ends.push(valueOfOutcome(outcome))
  }

  progress({ params }: Progress): void {
    if (!this.isOpen) this.late += 1
    this.progresses.push(JSON.parse(params.toString()))
  }

  notify(method: string, params: Buffer | undefined): void {
    if (!this.isOpen) this.late += 1
    this.told.push([method, params && JSON.parse(params.toString())])
  }

  cancel(reason: string): void {
    this.isCancelled = true
    this.cancelled(reason)
  }
}

/** A question of a legacy server. */
export class LegacyAsk implements ServerRequest {
  readonly method: string
  readonly params
  readonly about = undefined
  readonly wantsProgress: boolean
  onWithdrawn: ((reason: CancelReason) => void) | undefined
  readonly answers: unknown[] = []
  readonly progresses: unknown[] = []
  isWithdrawn = false
  readonly #deeds: string[]

  constructor(
    deeds: string[],
    method = 'elicitation/create',
    params: unknown = { message: 'm' },
    wantsProgress = false,
  ) {
    this.#deeds = deeds
    this.method = method
    this.params = params === undefined ? undefined : textOf(params)
    this.wantsProgress = wantsProgress
  }

  answer(outcome: Outcome): void {
    this.#deeds.push(`answer ${this.method}`)
    this.answers.push(valueOfOutcome(outcome))
  }

  progress(params: Buffer): void {
    this.progresses.push(JSON.parse(params.toString()))
  }

  withdraw(): void {
    this.isWithdrawn = true
    this.onWithdrawn?.('enough')
  }
}

/** A modern client's call at a legacy server: the park, and the live call's side of it. */
export class Parked {
  readonly park: ParkedCall
  readonly call: ModernCall
  readonly deeds: string[] = []
  readonly held = new Set<ServerRequest>()
  isCancelled = false
  isEnded = false

  constructor(park: ParkedCall, call: ModernCall) {
    this.park = park
    this.call = call
    park.onCancelled(reason => {
      this.isCancelled = true
      this.deeds.push(`cancel ${reason}`)
    })
  }

  ask(method?: string, params?: unknown, wantsProgress?: boolean): LegacyAsk {
    const ask = new LegacyAsk(this.deeds, method, params, wantsProgress)
    this.put(ask)
    return ask
  }

  put(ask: LegacyAsk): boolean {
    return this.park.ask(ask, {
      serverRequested: standIn => this.held.add(standIn),
      answered: standIn => this.held.delete(standIn),
    })
  }

  result(result: unknown = { content: [] }): void {
    this.isEnded = true
    this.park.end(succeeded(textOf(result)))
  }
}

/** Returns a connection to a server whose tools must not be called again. */
export const parkingConnection = (): Connection =>
  ({ server: { name: 'a', alias: 'a', replay: false } }) as unknown as Connection

/** A table of parks with a fake clock. */
export class Parking {
  readonly clock = new FakeClock()
  readonly connection = parkingConnection()
  readonly calls: ParkedCalls

  constructor(limits: Partial<ParkLimits> = {}, bounds = new LimitCounters()) {
    this.calls = new ParkedCalls({
      catalog: {
        find: () => undefined,
        ofApps: () => [],
        sees: () => true,
        viewFor: () => undefined,
        lackingScopes: () => [],
      },
      clock: this.clock,
      limits: { ...PARK_LIMITS, ...limits },
      bounds,
      states: {
        replica: 'r',
        seal: (_call, _server, facts) =>
          'round' in facts ? JSON.stringify({ parkId: facts.parkId, round: facts.round }) : '',
      },
      logLevels: { isWanted: call => call.wantsProgress },
    })
  }

  begin(call = new ModernCall(), connection = this.connection): Parked {
    return new Parked(this.calls.adopt(recordOf(call), connection), call)
  }

  retry(
    state: { parkId: string; round: number },
    responses?: unknown,
    call = new ModernCall(),
  ): { call: ModernCall; was: 'taken' | 'gone' | Fault } {
    const was = this.calls.retry(
      recordOf(call),
      state,
      responses === undefined ? undefined : textOf(responses),
    )
    return { call, was }
  }

  /** Advances past the window in which questions are collected. */
  collect(): void {
    this.clock.advance(10)
  }
}
