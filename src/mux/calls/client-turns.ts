import type { Connection } from '../../peers/connection.js'
import type { InFlightCall } from './in-flight-call.js'

interface Waiting {
  readonly live: InFlightCall
  readonly admit: () => void
}

interface Line {
  /** Whose turn it is. */
  holder: number | undefined
  readonly running: Set<InFlightCall>
  readonly waiting: Waiting[]
}

/**
 * Calls over a shared connection, one party's at a time: whatever its server asks meanwhile can only be for the one whose turn it is.
 * A session may have several calls under way, but none that came after somebody else's who waits.
 */
export class ClientTurns {
  readonly #lines = new Map<Connection, Line>()

  /** Resolves when a call may be sent; undefined if that is now. It holds its party's turn until it leaves. */
  turn(live: InFlightCall): Promise<void> | undefined {
    const line = this.#lines.get(live.connection) ?? { holder: undefined, running: new Set(), waiting: [] }
    this.#lines.set(live.connection, line)
    // One that is sent again has its turn already.
    if (line.running.has(live)) return undefined
    if (line.waiting.length === 0 && (line.holder === undefined || line.holder === live.party)) {
      line.holder = live.party
      line.running.add(live)
      return undefined
    }
    return new Promise(resolve => line.waiting.push({ live, admit: resolve }))
  }

  /** A call is over, or is not wanted any more. */
  leave(live: InFlightCall): void {
    const line = this.#lines.get(live.connection)
    if (line === undefined) return
    const place = line.waiting.findIndex(waiting => waiting.live === live)
    if (place >= 0) line.waiting.splice(place, 1)
    line.running.delete(live)
    const [first] = line.waiting
    const isFree = line.running.size === 0
    if (first !== undefined && (isFree || first.live.party === line.holder))
      this.#admit(line, first.live.party)
    else if (isFree) this.#lines.delete(live.connection)
  }

  /** Lets those in who stand in front, as long as they are of one party. */
  #admit(line: Line, party: number): void {
    line.holder = party
    for (let next = line.waiting[0]; next?.live.party === party; next = line.waiting[0]) {
      line.waiting.shift()
      line.running.add(next.live)
      next.admit()
    }
  }
}
