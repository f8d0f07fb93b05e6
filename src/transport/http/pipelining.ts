import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Maximum concurrent requests of one connection. */
const MOST_IN_FLIGHT = 64

/**
 * Limits the unanswered requests of one connection. Node stops reading only when written responses queue up,
 * so pipelined requests with slow handlers would be unbounded. Further requests wait here while reading is
 * paused: at most the content of one socket read.
 */
class Pipeline {
  /** The number of unanswered requests. */
  inFlight = 0
  readonly #socket: Socket
  readonly #waiting: (() => void)[] = []

  constructor(socket: Socket) {
    this.#socket = socket
    // Node resumes a connection when a handler reads a body or queued responses are written.
    socket.on('resume', () => {
      if (this.#waiting.length > 0) socket.pause()
    })
  }

  wait(start: () => void): void {
    this.#waiting.push(start)
    this.#socket.pause()
  }

  readonly ended = (): void => {
    this.inFlight -= 1
    if (this.#socket.destroyed) this.#waiting.length = 0
    const next = this.#waiting.shift()
    if (next === undefined) return
    next()
    if (this.#waiting.length === 0) this.#socket.resume()
  }
}

const pipelines = new WeakMap<Socket, Pipeline>()

/** Wraps a request listener: each request is handled once its connection has fewer than 64 in flight. */
export const inTurn = <Q extends IncomingMessage, R extends ServerResponse>(
  handle: (request: Q, response: R) => void,
) => {
  const listener = (request: Q, response: R): void => {
    const { socket } = request
    let pipeline = pipelines.get(socket)
    if (pipeline === undefined) {
      pipeline = new Pipeline(socket)
      pipelines.set(socket, pipeline)
    }
    if (pipeline.inFlight >= MOST_IN_FLIGHT) {
      pipeline.wait(() => listener(request, response))
      return
    }
    pipeline.inFlight += 1
    response.on('close', pipeline.ended)
    handle(request, response)
  }
  return listener
}
