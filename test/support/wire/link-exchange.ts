import { Fault } from '../../../src/kernel/faults.js'
import type { HttpResponder, HttpStream, OutboundExchange, ReplyListener } from '../../../src/wire/http.js'
import { type OutgoingMessage, whole } from '../../../src/wire/message-parts.js'

const bytesOf = (chunk: OutgoingMessage | string): Buffer =>
  Buffer.from(typeof chunk === 'string' ? chunk : whole(chunk))

/** One exchange between two replicas in a process, which delivers one's response to the other. */
export class LinkExchange implements OutboundExchange {
  readonly from: string
  readonly to: string
  /** Used by the answering replica. */
  readonly responder: HttpResponder
  isPaused = false
  readonly #listener: ReplyListener
  readonly #gone: (() => void)[] = []
  readonly #over: (() => void)[] = []
  #isOver = false

  constructor(from: string, to: string, listener: ReplyListener) {
    this.from = from
    this.to = to
    this.#listener = listener
    this.responder = {
      send: (status, headers, body = '') => {
        this.#tell(() => listener.head(status, headers))
        this.#tell(() => listener.data(bytesOf(body)))
        this.#end(() => listener.ended(undefined))
      },
      stream: (status, headers) => {
        this.#tell(() => listener.head(status, headers))
        return this.#stream()
      },
      onGone: then => this.#gone.push(then),
    }
  }

  whenOver(then: () => void): void {
    this.#over.push(then)
  }

  /** Simulates a lost or failed connection. */
  break(fault = new Fault('disconnected', 'the connection was lost')): void {
    this.#end(() => this.#listener.ended(fault))
  }

  pause(): void {
    this.isPaused = true
  }

  resume(): void {
    this.isPaused = false
  }

  discard(): void {
    this.abort()
  }

  abort(): void {
    this.#end(() => {
      for (const then of this.#gone) then()
    })
  }

  #stream(): HttpStream {
    const isPaused = (): boolean => this.isPaused
    return {
      get queuedBytes() {
        return isPaused() ? 1 : 0
      },
      write: chunk => {
        this.#tell(() => this.#listener.data(bytesOf(chunk)))
        return !this.isPaused
      },
      end: () => this.#end(() => this.#listener.ended(undefined)),
      destroy: () => this.break(),
    }
  }

  #tell(what: () => void): void {
    if (!this.#isOver) what()
  }

  #end(how: () => void): void {
    if (this.#isOver) return
    this.#isOver = true
    how()
    for (const then of this.#over) then()
  }
}
