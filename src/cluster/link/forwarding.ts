import type { Fault } from '../../kernel/faults.js'
import type { JsonText } from '../../kernel/json/text.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import { OVER, replicaLost } from '../../rpc/directory.js'
import { refuse } from '../../rpc/http/errors.js'
import { classifyWithin } from '../../wire/classify.js'
import { ByteRope } from '../../wire/framing/byte-rope.js'
import { messageEvent } from '../../wire/framing/sse-write.js'
import type { HttpHeaders, HttpStream, OutboundExchange, ReplyListener } from '../../wire/http.js'
import type { HeldExchange } from './held-exchange.js'

/** The answer of a replica that has no such session. */
export const MISDIRECTED = 421
/** The answer of a replica that has taken the place of the one that was meant. */
export const REPLACED = 410
/** The answer to what is not signed as it has to be. */
export const UNSIGNED = 401
/** The answer of a replica that is not there yet. */
export const STARTING = 425

/** The answer of a replica that cannot tell whose a session is, to one that speaks `LINK` 2. */
export const UNSURE = 409

/** Whoever answers so has looked at nothing, and is not the one that was meant. */
const NOBODY_THERE: ReadonlySet<number> = new Set([REPLACED, UNSIGNED, STARTING])

/** Headers that are between the two replicas alone. */
const OF_THE_HOP: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'transfer-encoding',
])

const LF = 0x0a
/** How an event begins after which the stream can be taken up. */
const RESUMABLE = Buffer.from('id: ')
/** How long a client waits before it takes up a stream elsewhere, as where its session moves. */
const RETRY_LEAST_MS = 500
const RETRY_MORE_MS = 2500

/** Below this many bytes a client that was behind gets more. */
const LOW_BYTES = 64 * 1024

export interface ForwardingEvents {
  /** It did not begin: there is no such session where it went. */
  unknown(): void
  /** It did not begin: nobody is there. */
  refused(): void
  /** It did not begin: whose the session is has to be found out elsewhere. */
  unsure(): void
  /** Nobody knows how it ended. */
  lost(): void
  /** It is over, in one way or another. */
  over(): void
}

/** One exchange on its way to the replica that has its session, and what comes back. */
export class Forwarding implements ReplyListener {
  readonly #held: HeldExchange
  readonly #on: ForwardingEvents
  readonly #bounds: LimitCounters
  #link: OutboundExchange | undefined
  #status = 0
  #headers: Readonly<Record<string, string>> = {}
  #out: HttpStream | undefined
  #body: ByteRope | undefined
  /** The last two bytes that came, as an event ends with two line ends. */
  #tail = [LF, LF]
  #isPaused = false
  /** Whether the client could take up its stream at another replica. */
  #isResumable: boolean | undefined
  #isOver = false

  constructor(held: HeldExchange, bounds: LimitCounters, on: ForwardingEvents) {
    this.#held = held
    this.#bounds = bounds
    this.#on = on
  }

  /** Call at once with what carries it. */
  sentBy(link: OutboundExchange): void {
    this.#link = link
    this.#held.responder.onGone(() => this.#end(() => link.abort()))
  }

  /** Ends it because its replica gives no sign of life any more. */
  lost(): void {
    this.#end(() => {
      this.#link?.abort()
      this.#broken()
    })
  }

  /** This replica ends: who can take up a stream elsewhere is sent there; the others are told in time. */
  left(): void {
    const out = this.#out
    if (out === undefined || this.#isResumable !== true || this.#isInEvent) return
    this.#end(() => {
      this.#link?.abort()
      out.write(`retry: ${Math.round(RETRY_LEAST_MS + Math.random() * RETRY_MORE_MS)}\n\n`)
      out.end()
    })
  }

  head(status: number, headers: HttpHeaders): void {
    if (this.#isOver) return
    if (status === MISDIRECTED || status === UNSURE || NOBODY_THERE.has(status)) {
      this.#end(() => {
        this.#link?.discard()
        if (status === MISDIRECTED) this.#on.unknown()
        else if (status === UNSURE) this.#on.unsure()
        else this.#on.refused()
      })
      return
    }
    this.#status = status
    const passed = Object.entries(headers).filter(
      (each): each is [string, string] => each[1] !== undefined && !OF_THE_HOP.has(each[0]),
    )
    this.#headers = Object.fromEntries(passed)
    if (headers['content-type']?.startsWith('text/event-stream') === true) {
      this.#out = this.#held.responder.stream(status, this.#headers, () => this.#onTaken())
      if (this.#held.request.method === 'GET') this.#isResumable = true
    } else {
      this.#body = new ByteRope(this.#bounds.inbound.open(() => this.lost()))
    }
  }

  data(chunk: Buffer): void {
    if (this.#isOver) return
    if (this.#out === undefined) {
      this.#body?.add(chunk)
      return
    }
    this.#isResumable ??= chunk.subarray(0, RESUMABLE.length).equals(RESUMABLE)
    this.#tail = [chunk.at(-2) ?? this.#tail[1] ?? 0, chunk.at(-1) ?? 0]
    if (this.#out.write(chunk)) return
    this.#isPaused = true
    this.#link?.pause()
    // What comes among other answers cannot be held back.
    if (this.#bounds.isOver('streamQueue', this.#out.queuedBytes)) this.#out.destroy()
  }

  ended(fault: Fault | undefined): void {
    if (fault?.code === 'unavailable') this.#end(() => this.#on.refused())
    else if (fault !== undefined) this.#end(() => this.#broken())
    else
      this.#end(() => {
        if (this.#out !== undefined) this.#out.end()
        else this.#held.responder.send(this.#status, this.#headers, this.#body?.take())
      })
  }

  #onTaken(): void {
    if (!this.#isPaused || (this.#out?.queuedBytes ?? 0) > LOW_BYTES) return
    this.#isPaused = false
    this.#link?.resume()
  }

  #end(how: () => void): void {
    if (this.#isOver) return
    this.#isOver = true
    how()
    this.#body?.clear()
    this.#on.over()
  }

  /** It may have begun. What changes nothing if it is done twice can go elsewhere. */
  #broken(): void {
    const ids = this.#requestIds()
    if (this.#status === 0 && ids.length === 0) this.#on.refused()
    else this.#answerLost(ids)
  }

  /** Tells the client that nobody knows how its requests ended. */
  #answerLost(ids: readonly JsonText[]): void {
    this.#on.lost()
    const { request, responder } = this.#held
    const out = this.#out
    // Half an event would be joined with what follows.
    if (out !== undefined && this.#isInEvent) {
      out.destroy()
      return
    }
    const answers = ids.map(replicaLost)
    if (out !== undefined) {
      for (const answer of answers) out.write(messageEvent(answer, OVER))
      out.end()
    } else if (answers.length > 0) {
      const [first] = answers
      const body = answers.length === 1 ? first : `[${answers.join(',')}]`
      responder.send(200, { 'content-type': 'application/json' }, body)
    } else if (request.method === 'POST') responder.send(202, {})
    else
      refuse(responder, 503, 'The replica that has the session is gone', { headers: { 'retry-after': '1' } })
  }

  get #isInEvent(): boolean {
    return this.#tail.some(byte => byte !== LF)
  }

  #requestIds(): readonly JsonText[] {
    const { method, body } = this.#held.request
    if (method !== 'POST') return []
    const classified = classifyWithin(body, this.#bounds)
    const all = classified.is === 'batch' ? classified.items : [classified]
    return all.flatMap(each =>
      each.is === 'message' && each.message.kind === 'request' ? [each.message.id] : [],
    )
  }
}
