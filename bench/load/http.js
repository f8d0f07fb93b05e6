// A Streamable HTTP client: its connections and its session transport.
import { Wire } from './raw-http.js'

export const lengthOf = pieces => pieces.reduce((sum, piece) => sum + piece.length, 0)
export const nothing = () => undefined

/** Connections to one server, each with one exchange at a time. */
export class Wires {
  #idle = []
  #all = new Set()
  #place

  constructor(url) {
    this.#place = { host: url.hostname, port: Number(url.port) }
  }

  take() {
    for (;;) {
      const wire = this.#idle.pop()
      if (wire === undefined) {
        const made = new Wire(this.#place)
        this.#all.add(made)
        return made
      }
      if (wire.isOpen) return wire
      this.#all.delete(wire)
    }
  }

  give(wire) {
    if (wire.isOpen) this.#idle.push(wire)
    else this.#all.delete(wire)
  }

  close() {
    for (const wire of this.#all) wire.close()
  }
}

/** Maximum time for a server to end a session. */
const FAREWELL_MS = 1000

/** Streamable HTTP in the revisions with sessions. */
export class HttpCarrier {
  #url
  #next
  #wires
  #head
  #sessionId
  #received = nothing
  #ended = nothing
  #credential

  /** Its session begins at `first`, if given: another address of the same proxy. */
  constructor(url, token, first = url) {
    this.#url = new URL(first)
    this.#next = new URL(url)
    this.#credential = token === undefined ? '' : `authorization: Bearer ${token}\r\n`
    this.#wires = new Wires(this.#url)
    this.#makeHead()
  }

  /** Calls `ended` when a request can receive no more messages. */
  start(received, ended) {
    this.#received = received
    this.#ended = ended
  }

  send(id, pieces) {
    this.exchange(id, pieces, this.#head, head => this.#sessionId === undefined && this.#session(head))
  }

  exchange(id, pieces, start, onHead = nothing) {
    const wires = this.#wires
    const wire = wires.take()
    let code
    wire.exchange(`${start}${lengthOf(pieces)}\r\n\r\n`, pieces, {
      head: (status, head) => {
        code = status
        onHead(head)
      },
      message: bytes => this.#received(bytes, id),
      end: () => {
        wires.give(wire)
        if (id !== undefined) this.#ended(id, code === undefined ? 'no connection' : `HTTP ${code}`)
      },
    })
  }

  closeWires() {
    this.#wires.close()
  }

  headOf(more) {
    return `POST ${this.#url.pathname} HTTP/1.1\r\nhost: ${this.#url.host}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n${this.#credential}${more}content-length: `
  }

  async close() {
    if (this.#sessionId !== undefined) await this.#endSession()
    this.closeWires()
  }

  /** Some proxies keep a process per session until the session ends. */
  #endSession() {
    return new Promise(resolve => {
      const limit = setTimeout(resolve, FAREWELL_MS)
      const end = () => {
        clearTimeout(limit)
        resolve()
      }
      const head = `DELETE ${this.#url.pathname} HTTP/1.1\r\nhost: ${this.#url.host}\r\nmcp-session-id: ${this.#sessionId}\r\n${this.#credential}mcp-protocol-version: 2025-11-25\r\n\r\n`
      this.#wires.take().exchange(head, [], { head: nothing, message: nothing, end })
    })
  }

  #session(head) {
    this.#sessionId = /\r\nmcp-session-id: *(\S+)/i.exec(head)?.[1]
    this.#url = this.#next
    this.#wires = new Wires(this.#url)
    this.#makeHead()
  }

  #makeHead() {
    this.#head = this.headOf(
      this.#sessionId === undefined
        ? ''
        : `mcp-session-id: ${this.#sessionId}\r\nmcp-protocol-version: 2025-11-25\r\n`,
    )
  }
}

/** Streamable HTTP in revision 2026-07-28: no session, and headers that mirror the body. */
export class StatelessCarrier extends HttpCarrier {
  #heads = new Map()

  send(id, pieces, { method, name }) {
    this.exchange(id, pieces, this.#headFor(method, name))
  }

  #headFor(method, name = '') {
    const key = `${method} ${name}`
    let head = this.#heads.get(key)
    if (head === undefined) {
      const about = name === '' ? '' : `mcp-name: ${name}\r\n`
      head = this.headOf(`mcp-protocol-version: 2026-07-28\r\nmcp-method: ${method}\r\n${about}`)
      this.#heads.set(key, head)
    }
    return head
  }

  close() {
    this.closeWires()
  }
}
