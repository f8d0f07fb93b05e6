import type { Clock, Timer } from '../../kernel/async/clock.js'
import type { Connection } from '../../peers/connection.js'
import { ParkedCall } from '../input-required/parked/parked-call.js'
import type { RoutedRecord } from './call-record.js'
import type { DepartedCall } from './departed-calls.js'

/** Time for which a parked call keeps its turn while others wait. */
const PARKED_MS = 20_000
const CHECK_MS = 5000

interface Waiting {
  readonly record: RoutedRecord
  readonly admit: () => void
}

interface Line {
  holder: number | undefined
  /** Includes cancelled calls while the server may be working on them. */
  readonly running: Set<RoutedRecord | DepartedCall>
  readonly waiting: Waiting[]
  /** Runs while there are both parked and waiting calls. */
  check: Timer | undefined
}

/**
 * Serializes calls over a shared connection, one party at a time, so that each server request belongs to the
 * party whose turn it is. No call of that party overtakes a waiting call of another. A parked call gives up
 * its turn after a while if others wait, since its client may never return; ambiguous questions are rejected
 * anyway.
 */
export class ClientTurns {
  readonly #clock: Clock
  readonly #lines = new Map<Connection, Line>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Resolves when a call may be sent; undefined: now. The call keeps its party's turn until it leaves. */
  turn(record: RoutedRecord): Promise<void> | undefined {
    const { connection } = record
    const line = this.#lines.get(connection) ?? newLine()
    this.#lines.set(connection, line)
    // A call that is sent again already has its turn.
    if (line.running.has(record)) return undefined
    record.turn = {
      leave: () => this.leave(connection, record),
      depart: departed => this.#depart(record, departed),
    }
    if (line.waiting.length === 0 && (line.holder === undefined || line.holder === record.party)) {
      line.holder = record.party
      line.running.add(record)
      return undefined
    }
    line.check ??= this.#clock.every(CHECK_MS, () => this.#endParkedTurns(connection, line))
    return new Promise(resolve => line.waiting.push({ record, admit: resolve }))
  }

  leave(connection: Connection, call: RoutedRecord | DepartedCall): void {
    const line = this.#lines.get(connection)
    if (line === undefined) return
    const place = line.waiting.findIndex(waiting => waiting.record === call)
    if (place >= 0) line.waiting.splice(place, 1)
    line.running.delete(call)
    const [first] = line.waiting
    const isFree = line.running.size === 0
    if (first !== undefined && (isFree || first.record.party === line.holder))
      this.#admit(line, first.record.party)
    else if (isFree) this.#lines.delete(connection)
    if (line.waiting.length > 0) return
    line.check?.cancel()
    line.check = undefined
  }

  #endParkedTurns(connection: Connection, line: Line): void {
    const sinceMs = this.#clock.nowMs() - PARKED_MS
    for (const call of [...line.running]) if (isParked(call, sinceMs)) this.leave(connection, call)
  }

  #depart(record: RoutedRecord, departed: DepartedCall): void {
    const { connection } = record
    const line = this.#lines.get(connection)
    if (line?.running.has(record) !== true) return
    line.running.add(departed)
    departed.onOver = () => this.leave(connection, departed)
  }

  #admit(line: Line, party: number): void {
    line.holder = party
    for (let next = line.waiting[0]; next?.record.party === party; next = line.waiting[0]) {
      line.waiting.shift()
      line.running.add(next.record)
      next.admit()
    }
  }
}

const newLine = (): Line => ({ holder: undefined, running: new Set(), waiting: [], check: undefined })

const isParked = (call: RoutedRecord | DepartedCall, sinceMs: number): boolean =>
  'front' in call && call.front instanceof ParkedCall && call.front.isParkedSince(sinceMs)
