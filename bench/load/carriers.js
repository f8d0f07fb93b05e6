// Session transports other than Streamable HTTP: HTTP+SSE, WebSocket, stdio.
import { spawn } from 'node:child_process'
import { WebSocket } from 'ws'
import { lines } from '../floor/pipe.js'
import { lengthOf, nothing, Wires } from './http.js'
import { Wire } from './raw-http.js'

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
      this.#socket.on('message', message => received(message))
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

/** Talks to the proxy program on its stdin and stdout. */
export class StdioCarrier {
  #child
  #isCorked = false

  constructor({ command, env }) {
    const options = { stdio: ['pipe', 'pipe', 'ignore'], env: { ...process.env, ...env } }
    this.#child = spawn(command[0], command.slice(1), options)
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
