// The common part of all floors: a child process whose answers are routed by ids that we splice into the
// bytes. It checks, limits and stores nothing: this is the minimum work of any proxy, and the base of all
// ratios.
import { spawn } from 'node:child_process'

const NEWLINE = Buffer.from('\n')
const ID = '"id":'
const TOKEN = '"progressToken":'

/** Returns the position of a key's number or string; undefined without the key. */
export const placeOf = (bytes, key) => {
  const at = bytes.indexOf(key)
  if (at === -1) return undefined
  const from = at + key.length
  let to = from
  while (bytes[to] !== 0x2c && bytes[to] !== 0x7d) to += 1
  return { from, to }
}

export const placeOfId = bytes => placeOf(bytes, ID)

/** Splits a stream into lines; joins a fragmented line only once. */
export const lines = onLine => {
  let rest = []
  return chunk => {
    let from = 0
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      const piece = chunk.subarray(from, at)
      const line = rest.length === 0 ? piece : Buffer.concat([...rest, piece])
      rest = []
      from = at + 1
      onLine(line)
    }
    if (from < chunk.length) rest.push(chunk.subarray(from))
  }
}

export class Pipe {
  #child
  #pending = new Map()
  #last = 0

  constructor(command) {
    this.#child = spawn(command[0], command.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#child.stdout.on(
      'data',
      lines(line => this.#answer(line)),
    )
  }

  /** Sends a request. `done` receives the answer in three pieces, the request's id in the middle. */
  request(body, place, done, onNotice) {
    this.#last += 1
    const own = String(this.#last)
    const token = onNotice === undefined ? undefined : placeOf(body, TOKEN)
    const pieces = []
    let from = 0
    // SDK clients write the id last.
    for (const one of token !== undefined && token.from < place.from ? [token, place] : [place, token]) {
      if (one === undefined) continue
      pieces.push(body.subarray(from, one.from), Buffer.from(own))
      from = one.to
    }
    pieces.push(body.subarray(from))
    this.#pending.set(own, {
      id: body.subarray(place.from, place.to),
      token: token && body.subarray(token.from, token.to),
      done,
      onNotice,
    })
    pieces.push(NEWLINE)
    this.#child.stdin.write(Buffer.concat(pieces))
  }

  notice(body) {
    this.#child.stdin.write(Buffer.concat([body, NEWLINE]))
  }

  #answer(line) {
    const place = placeOfId(line.length > 200 ? line.subarray(0, 200) : line)
    if (place === undefined) {
      this.#notice(line)
      return
    }
    const own = line.toString('latin1', place.from, place.to)
    const waiting = this.#pending.get(own)
    if (waiting === undefined) return
    this.#pending.delete(own)
    waiting.done(line.subarray(0, place.from), waiting.id, line.subarray(place.to))
  }

  #notice(line) {
    const place = placeOf(line, TOKEN)
    const waiting = place && this.#pending.get(line.toString('latin1', place.from, place.to))
    waiting?.onNotice?.(line.subarray(0, place.from), waiting.token, line.subarray(place.to))
  }
}
