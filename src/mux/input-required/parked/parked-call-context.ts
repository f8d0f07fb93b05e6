import type { Clock } from '../../../kernel/async/clock.js'
import type { ByteAccount } from '../../../kernel/byte-account.js'
import type { Fault } from '../../../kernel/faults.js'
import type { JsonText } from '../../../kernel/json/text.js'
import type { Call, Viewer } from '../../../model/links.js'
import type { Connection } from '../../../peers/connection.js'
import type { CallRecord } from '../../calls/call-record.js'
import type { AskedQuestion, History } from '../retry/sealed-state.js'

/** An earlier run of a call, lost while parked. */
export interface EarlierRun {
  /** Its last round, since keys of questions are never reused. */
  readonly round: number
  readonly answers: History
}

export interface ParkLimits {
  /** Time for which questions are collected before the client gets them. */
  readonly windowMs: number
  readonly roundMs: number
  /** Maximum time that one call may be parked in total, from its first round on. */
  readonly totalMs: number
  readonly rounds: number
  /** Interval of progress for servers that want it on their questions. */
  readonly beatMs: number
  /** Maximum size of a result that is kept for a retry. */
  readonly resultBytes: number
}

export interface ParkRound {
  readonly round: number
  readonly asked: readonly AskedQuestion[]
  readonly history: History
}

export interface Parkable extends Viewer {
  readonly connection: Connection
  readonly method: string
  readonly params: JsonText | undefined
  /** The party, as in `CallRecord`. */
  readonly party: number | undefined
  retry(record: CallRecord, round: number, responses: JsonText | undefined): Fault | undefined
  isParkedSince(ms: number): boolean
  expire(): void
}

/** A call whose client was asked this long ago makes room for another one at a limit. */
export const ABANDONED_MS = 30_000

/** The table of a parked call, as far as the call needs it. */
export interface ParkedCallContext {
  readonly clock: Clock
  readonly limits: ParkLimits
  readonly account: ByteAccount
  /** Called with the time that a call was parked until its client returned, in ms. */
  readonly onParked: ((ms: number) => void) | undefined
  /** Creates the `requestState` that leads the client's retry to the call. */
  mintState(parked: Parkable, round: ParkRound): string
  wantsNotification(call: Call, method: string, params: JsonText | undefined): boolean
  /** Returns whether the call may run again after a loss while parked; then its state holds the answers. */
  mayReplay(parked: Parkable): boolean
  /** Takes a place for a call that is about to be parked; false if there is none. */
  admit(parked: Parkable): boolean
  /** Releases the place of a call that runs again or is over. */
  release(parked: Parkable): void
  forget(parked: Parkable): void
}
