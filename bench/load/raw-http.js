// HTTP/1.1 over a bare socket: in the load generator, node:http would cost more than the measured proxies.
import { connect } from 'node:net'

const EMPTY = Buffer.alloc(0)

/** Parses an event stream; calls `onData` with the data of each event. */
class Events {
  #held = []
  #data = []
  #event = 'message'
  #onEvent

  constructor(onEvent) {
    this.#onEvent = onEvent
  }

  push(bytes) {
    let from = 0
    for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, from)) {
      const piece = bytes.subarray(from, at)
      const line = this.#held.length === 0 ? piece : Buffer.concat([...this.#held, piece])
      if (this.#held.length > 0) this.#held = []
      from = at + 1
      this.#line(line.length > 0 && line[line.length - 1] === 13 ? line.subarray(0, -1) : line)
    }
    if (from < bytes.length) this.#held.push(bytes.subarray(from))
  }

  #line(line) {
    if (line.length === 0) {
      const data = this.#data
      if (data.length > 0) this.#onEvent(data.length === 1 ? data[0] : Buffer.concat(data), this.#event)
      this.#data = []
      this.#event = 'message'
    } else if (line.toString('latin1', 0, 5) === 'data:') {
      const data = line.subarray(line[5] === 32 ? 6 : 5)
      if (data.length > 0) this.#data.push(data)
    } else if (line.toString('latin1', 0, 6) === 'event:') {
      this.#event = line.latin1Slice(6).trim()
    }
  }
}

/** One connection with one exchange at a time. */
export class Wire {
  #socket
  #on
  #rest = EMPTY
  #at = 'head'
  #left = 0
  #events
  #pieces = []
  isBusy = false

  constructor({ host, port }) {
    this.#socket = connect(port, host)
    this.#socket.setNoDelay(true)
    this.#socket.on('data', chunk => this.#data(chunk))
    this.#socket.on('error', () => undefined)
    this.#socket.on('close', () => this.#gone())
  }

  get isOpen() {
    return !this.#socket.destroyed && this.#socket.writable
  }

  /** Calls `on.head(status, head)`, `on.message(bytes, event)`, then `on.end()`. */
  exchange(head, pieces, on) {
    this.isBusy = true
    this.#on = on
    if (pieces.length <= 1) {
      this.#socket.write(head + (pieces[0] ?? ''), 'latin1')
      return
    }
    this.#socket.cork()
    this.#socket.write(head, 'latin1')
    for (const piece of pieces) this.#socket.write(piece, 'latin1')
    this.#socket.uncork()
  }

  close() {
    this.#socket.destroy()
  }

  #gone() {
    if (!this.isBusy) return
    this.isBusy = false
    if (this.#at === 'close') this.#whole()
    this.#on.end()
  }

  #data(chunk) {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    this.#rest = EMPTY
    while (bytes.length > 0) {
      const used = this.#step(bytes)
      if (used === 0) {
        this.#rest = bytes
        return
      }
      bytes = bytes.subarray(used)
    }
  }

  /** Consumes bytes and returns their number; 0 if more bytes are needed. */
  #step(bytes) {
    switch (this.#at) {
      case 'head': {
        const end = bytes.indexOf('\r\n\r\n')
        if (end === -1) return 0
        this.#head(bytes.latin1Slice(0, end + 2))
        return end + 4
      }
      case 'size': {
        const end = bytes.indexOf('\r\n')
        if (end === -1) return 0
        this.#left = Number.parseInt(bytes.latin1Slice(0, end), 16)
        this.#at = this.#left === 0 ? 'trailer' : 'chunk'
        return end + 2
      }
      case 'trailer':
        if (bytes.length < 2) return 0
        this.#end()
        return 2
      case 'after chunk':
        if (bytes.length < 2) return 0
        this.#at = 'size'
        return 2
      case 'chunk': {
        const used = Math.min(bytes.length, this.#left)
        this.#body(bytes.subarray(0, used))
        this.#left -= used
        if (this.#left === 0) this.#at = 'after chunk'
        return used
      }
      case 'close':
        this.#body(bytes)
        return bytes.length
      default: {
        const used = Math.min(bytes.length, this.#left)
        this.#body(bytes.subarray(0, used))
        this.#left -= used
        if (this.#left === 0) this.#end()
        return used
      }
    }
  }

  #head(head) {
    const status = Number(head.slice(9, 12))
    const lower = head.toLowerCase()
    this.#events = lower.includes('content-type: text/event-stream')
      ? new Events((data, event) => this.#on.message(data, event))
      : undefined
    this.#on.head(status, head)
    const length = lower.indexOf('\r\ncontent-length:')
    if (lower.includes('\r\ntransfer-encoding: chunked')) {
      this.#at = 'size'
    } else if (length !== -1) {
      this.#left = Number.parseInt(lower.slice(length + 17), 10)
      this.#at = 'body'
      if (this.#left === 0) this.#end()
    } else if (status === 202 || status === 204) {
      this.#end()
    } else {
      this.#at = 'close'
    }
  }

  #body(bytes) {
    if (this.#events !== undefined) this.#events.push(bytes)
    else this.#pieces.push(bytes)
  }

  #whole() {
    const pieces = this.#pieces
    this.#pieces = []
    if (pieces.length > 0) this.#on.message(pieces.length === 1 ? pieces[0] : Buffer.concat(pieces))
  }

  #end() {
    this.#at = 'head'
    this.isBusy = false
    this.#whole()
    this.#on.end()
  }
}
