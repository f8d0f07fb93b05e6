import type { Connection } from '../../peers/connection.js'
import type { DepartedCall } from './departed-calls.js'
import type { RoutedCall } from './in-flight-call.js'

interface Waiting {
  readonly routed: RoutedCall
  readonly admit: () => void
}

interface Line {
  holder: number | undefined
  /** Cancelled calls included, as long as the server may be working on them. */
  readonly running: Set<RoutedCall | DepartedCall>
  readonly waiting: Waiting[]
}

/**
 * Serializes calls over a shared connection, one party at a time, so that a server request can only be for
 * the party whose turn it is. No call of that party overtakes a waiting call of another.
 */
export class ClientTurns {
  readonly #lines = new Map<Connection, Line>()

  /** Resolves when a call may be sent; undefined: now. It keeps its party's turn until it leaves. */
  turn(routed: RoutedCall): Promise<void> | undefined {
    const line = this.#lines.get(routed.connection) ?? {
      holder: undefined,
      running: new Set(),
      waiting: [],
    }
    this.#lines.set(routed.connection, line)
    // A call that is sent again already has its turn.
    if (line.running.has(routed)) return undefined
    if (line.waiting.length === 0 && (line.holder === undefined || line.holder === routed.party)) {
      line.holder = routed.party
      line.running.add(routed)
      return undefined
    }
    return new Promise(resolve => line.waiting.push({ routed, admit: resolve }))
  }

  leave(connection: Connection, call: RoutedCall | DepartedCall): void {
    const line = this.#lines.get(connection)
    if (line === undefined) return
    const place = line.waiting.findIndex(waiting => waiting.routed === call)
    if (place >= 0) line.waiting.splice(place, 1)
    line.running.delete(call)
    const [first] = line.waiting
    const isFree = line.running.size === 0
    if (first !== undefined && (isFree || first.routed.party === line.holder))
      this.#admit(line, first.routed.party)
    else if (isFree) this.#lines.delete(connection)
  }

  /** Keeps the turn of a cancelled call until its server is done with it. */
  depart(routed: RoutedCall, departed: DepartedCall): void {
    const { connection } = routed
    const line = this.#lines.get(connection)
    if (line?.running.has(routed) !== true) return
    line.running.add(departed)
    departed.onOver = () => this.leave(connection, departed)
  }

  #admit(line: Line, party: number): void {
    line.holder = party
    for (let next = line.waiting[0]; next?.routed.party === party; next = line.waiting[0]) {
      line.waiting.shift()
      line.running.add(next.routed)
      next.admit()
    }
  }
}
