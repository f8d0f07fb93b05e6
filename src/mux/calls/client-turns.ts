import type { Connection } from '../../peers/connection.js'
import type { InFlightCall } from './in-flight-call.js'

interface Waiting {
  readonly inFlight: InFlightCall
  readonly admit: () => void
}

interface Line {
  /** The party whose turn it is. */
  holder: number | undefined
  readonly running: Set<InFlightCall>
  readonly waiting: Waiting[]
}

/**
 * Serializes calls over a shared connection, one party at a time, so that a server request can only be for the party whose turn it
 * is. A session may have several calls in flight, but none that came after a waiting call of another party.
 */
export class ClientTurns {
  readonly #lines = new Map<Connection, Line>()

  /** Resolves when a call may be sent; undefined if it may be sent now. The call holds its party's turn until it leaves. */
  turn(inFlight: InFlightCall): Promise<void> | undefined {
    const line = this.#lines.get(inFlight.connection) ?? {
      holder: undefined,
      running: new Set(),
      waiting: [],
    }
    this.#lines.set(inFlight.connection, line)
    // A call that is sent again already has its turn.
    if (line.running.has(inFlight)) return undefined
    if (line.waiting.length === 0 && (line.holder === undefined || line.holder === inFlight.party)) {
      line.holder = inFlight.party
      line.running.add(inFlight)
      return undefined
    }
    return new Promise(resolve => line.waiting.push({ inFlight, admit: resolve }))
  }

  /** Removes a call that is over or was cancelled. */
  leave(inFlight: InFlightCall): void {
    const line = this.#lines.get(inFlight.connection)
    if (line === undefined) return
    const place = line.waiting.findIndex(waiting => waiting.inFlight === inFlight)
    if (place >= 0) line.waiting.splice(place, 1)
    line.running.delete(inFlight)
    const [first] = line.waiting
    const isFree = line.running.size === 0
    if (first !== undefined && (isFree || first.inFlight.party === line.holder))
      this.#admit(line, first.inFlight.party)
    else if (isFree) this.#lines.delete(inFlight.connection)
  }

  /** Admits the first waiting calls, as long as they have the same party. */
  #admit(line: Line, party: number): void {
    line.holder = party
    for (let next = line.waiting[0]; next?.inFlight.party === party; next = line.waiting[0]) {
      line.waiting.shift()
      line.running.add(next.inFlight)
      next.admit()
    }
  }
}
