import type { Clock } from '../../../kernel/async/clock.js'
import type { ByteAccount } from '../../../kernel/byte-account.js'
import type { Fault } from '../../../kernel/faults.js'
import type { JsonText } from '../../../kernel/json/text.js'
import type { Call, Viewer } from '../../../model/links.js'
import type { Connection } from '../../../peers/connection.js'
import type { AskedQuestion, History } from '../retry/sealed-state.js'

/** A run of a call that was lost while parked. */
export interface EarlierRun {
  /** Its last round: keys of questions are never used again. */
  readonly round: number
  readonly answers: History
}

export interface ParkLimits {
  /** How long questions are collected before the client gets them. */
  readonly windowMs: number
  readonly roundMs: number
  /** How long one call may be parked in all, from its first round on. */
  readonly totalMs: number
  readonly rounds: number
  /** How often a server that wants progress on its question gets some. */
  readonly beatMs: number
  /** A larger result that comes while nobody waits for it is not kept. */
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
  /** Whose it is, as of a `RoutedCall`. */
  readonly party: number | undefined
  retry(call: Call, round: number, responses: JsonText | undefined): Fault | undefined
  isParkedSince(ms: number): boolean
  expire(): void
}

/** A call whose client was asked so long ago makes room for another one at a limit. */
export const ABANDONED_MS = 30_000

/** What a parked call needs of the table that it stands in. */
export interface ParkedCallContext {
  readonly clock: Clock
  readonly limits: ParkLimits
  readonly account: ByteAccount
  /** Hears how long a call was parked before its client came back. */
  readonly onParked: ((ms: number) => void) | undefined
  /** Makes the `requestState` by which the client finds the call again. */
  mintState(parked: Parkable, round: ParkRound): string
  wantsNotification(call: Call, method: string, params: JsonText | undefined): boolean
  /** Whether the call may be run again if it is lost while parked; then its state holds the answers. */
  mayReplay(parked: Parkable): boolean
  /** Takes a place for a call that is about to be parked; false if there is none. */
  admit(parked: Parkable): boolean
  /** Gives the place back: the call runs again, or is over. */
  release(parked: Parkable): void
  forget(parked: Parkable): void
}
