// What carries the messages of a session: Streamable HTTP, HTTP+SSE, WebSocket, stdio.
import { spawn } from 'node:child_process'
import { WebSocket } from 'ws'
import { lines } from '../floor/pipe.js'
import { Wire } from './raw-http.js'

const lengthOf = pieces => pieces.reduce((sum, piece) => sum + piece.length, 0)
const nothing = () => undefined

class Wires {
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

export class HttpCarrier {
  #url
  #wires
  #head
  #sessionId
  #received = nothing

  constructor(url) {
    this.#url = new URL(url)
    this.#wires = new Wires(this.#url)
    this.#makeHead()
  }

  start(received) {
    this.#received = received
  }

  send(id, pieces) {
    const wire = this.#wires.take()
    wire.exchange(`${this.#head}${lengthOf(pieces)}\r\n\r\n`, pieces, {
      head: (_status, head) => this.#sessionId === undefined && this.#session(head),
      message: bytes => this.#received(bytes, id),
      end: () => this.#wires.give(wire),
    })
  }

  close() {
    this.#wires.close()
  }

  #session(head) {
    this.#sessionId = /\r\nmcp-session-id: *(\S+)/i.exec(head)?.[1]
    this.#makeHead()
  }

  #makeHead() {
    const session =
      this.#sessionId === undefined
        ? ''
        : `mcp-session-id: ${this.#sessionId}\r\nmcp-protocol-version: 2025-11-25\r\n`
    this.#head = `POST ${this.#url.pathname} HTTP/1.1\r\nhost: ${this.#url.host}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n${session}content-length: `
  }
}

export class SseCarrier {
  #url
  #wires
  #stream
  #head = ''

  constructor(url) {
    this.#url = new URL(url)
    this.#wires = new Wires(this.#url)
  }

  start(received) {
    return new Promise((resolve, reject) => {
      this.#stream = new Wire({ host: this.#url.hostname, port: Number(this.#url.port) })
      const head = `GET ${this.#url.pathname} HTTP/1.1\r\nhost: ${this.#url.host}\r\naccept: text/event-stream\r\n\r\n`
      this.#stream.exchange(head, [], {
        head: nothing,
        message: (data, event) => {
          if (event === 'endpoint') {
            this.#endpoint(data.toString())
            resolve()
          } else {
            received(data)
          }
        },
        end: () => reject(new Error('the stream ended')),
      })
    })
  }

  send(_id, pieces) {
    const wire = this.#wires.take()
    wire.exchange(`${this.#head}${lengthOf(pieces)}\r\n\r\n`, pieces, {
      head: nothing,
      message: nothing,
      end: () => this.#wires.give(wire),
    })
  }

  close() {
    this.#stream.close()
    this.#wires.close()
  }

  #endpoint(text) {
    const { pathname, search } = new URL(text, this.#url)
    this.#head = `POST ${pathname}${search} HTTP/1.1\r\nhost: ${this.#url.host}\r\ncontent-type: application/json\r\ncontent-length: `
  }
}

export class WsCarrier {
  #url
  #socket

  constructor(url) {
    this.#url = url
  }

  start(received) {
    return new Promise((resolve, reject) => {
      this.#socket = new WebSocket(this.#url, 'mcp', {
        perMessageDeflate: false,
        skipUTF8Validation: true,
        maxPayload: 0,
      })
      this.#socket.on('open', resolve)
      this.#socket.on('error', reject)
      this.#socket.on('message', received)
    })
  }

  send(_id, pieces) {
    const bytes = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces.map(piece => Buffer.from(piece)))
    this.#socket.send(bytes, { binary: false })
  }

  close() {
    this.#socket.terminate()
  }
}

/** Speaks to a program on its stdin and stdout; the program is the proxy. */
export class StdioCarrier {
  #child
  #isCorked = false

  constructor(command) {
    this.#child = spawn(command[0], command.slice(1), { stdio: ['pipe', 'pipe', 'ignore'] })
  }

  get pid() {
    return this.#child.pid
  }

  start(received) {
    this.#child.stdout.on('data', lines(received))
  }

  send(_id, pieces) {
    const { stdin } = this.#child
    if (!this.#isCorked) {
      this.#isCorked = true
      stdin.cork()
      process.nextTick(() => {
        this.#isCorked = false
        stdin.uncork()
      })
    }
    for (const piece of pieces) stdin.write(piece)
    stdin.write('\n')
  }

  close() {
    this.#child.kill()
  }
}
