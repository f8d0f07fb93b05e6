import type { Clock } from '../../../kernel/async/clock.js'
import type { ByteAccount } from '../../../kernel/byte-account.js'
import type { Fault } from '../../../kernel/faults.js'
import type { JsonText } from '../../../kernel/json/text.js'
import type { Call, Client, ServerRequest } from '../../../model/links.js'
import type { Answer } from '../../../model/outcome.js'
import type { Connection } from '../../../peers/connection.js'
import type { AskedQuestion, History } from '../retry/sealed-state.js'

/** An earlier run of a call that was lost while parked. */
export interface EarlierRun {
  /** Its last round: keys of questions are never used again. */
  readonly round: number
  readonly answers: History
}

/** How much is parked, how long and how often. */
export interface ParkLimits {
  /** How long questions are collected before the client is told of them. */
  readonly windowMs: number
  /** How long the client may take for one round. */
  readonly roundMs: number
  /** How long one call may be parked in all, from its first round on. */
  readonly totalMs: number
  readonly rounds: number
  /** How often a server that wants progress on its question gets some. */
  readonly beatMs: number
  /** A larger result that comes while nobody waits for it is not kept. */
  readonly resultBytes: number
}

/** A round of questions, for the state that goes with them. */
export interface ParkRound {
  readonly round: number
  readonly asked: readonly AskedQuestion[]
  readonly history: History
}

/** A call as the table of parks sees it. */
export interface Parkable {
  readonly connection: Connection
  readonly client: Client
  readonly method: string
  readonly params: JsonText | undefined
  retry(call: Call, round: number, responses: JsonText | undefined): Fault | undefined
  expire(): void
}

/** What a park needs of the table that it stands in. */
export interface ParkedCallContext {
  readonly clock: Clock
  readonly limits: ParkLimits
  /** Where is counted what is kept for clients that do not come for it. */
  readonly account: ByteAccount
  /** The `requestState` by which the client finds the park again. */
  mintState(parked: Parkable, round: ParkRound): string
  /** What a server hears whose question this client cannot be asked; undefined if it can. */
  errorFor(client: Client, request: Pick<ServerRequest, 'method' | 'params'>): Answer | undefined
  /** Whether this request of the client wants such a log line. */
  wantsNotification(call: Call, method: string, params: JsonText | undefined): boolean
  /** Whether the call may be run again if it is lost while parked: then its state tells what was asked and answered. */
  mayReplay(parked: Parkable): boolean
  /** Takes a place for a call that is about to be parked, where a retry finds it; false if there is none. */
  admit(parked: Parkable): boolean
  /** The call runs again, or is over: gives its place back. */
  release(parked: Parkable): void
  /** The call is over. */
  forget(parked: Parkable): void
}
