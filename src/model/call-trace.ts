import {
  type JsonText,
  kindOf,
  memberOf,
  rawText,
  textOf,
  withMember,
  withoutMember,
} from '../kernel/json/text.js'
import { type Failure, failureOf, isFine } from './failure.js'
import type { Outcome, Settle } from './outcome.js'
import type { Progress } from './progress.js'
import { withParams } from './with-params.js'

/** Where a span is: ids in hex, as W3C Trace Context writes them. */
export interface SpanContext {
  readonly traceId: string
  readonly spanId: string
  /** `trace-flags`. */
  readonly flags: number
}

/** A request that was made for a call, a question that was put to its client, or a wait inside the proxy. */
export interface Part {
  readonly is: 'request' | 'question' | 'wait'
  readonly spanId: string
  /** The method, or why it waited. */
  readonly what: string
  readonly beganMs: number
  /** Undefined while it is under way. */
  endedMs: number | undefined
  /** Undefined if it did not fail. */
  failure: Failure | undefined
  /** Of a wait for a server: the trace of its start. */
  readonly link?: SpanContext | undefined
  /** Of a request: which one it is, from 1. */
  readonly attempt?: number | undefined
  /** The same: where it went. */
  readonly to?: Destination | undefined
  /** The same: its id on the wire. */
  id?: number | string | undefined
}

export interface Destination {
  readonly server: string
  readonly revision: string
  readonly protocol: 'http' | 'websocket' | undefined
  readonly isProcess: boolean
  /** The host that it is reached at, or the path of its socket; undefined for a program. */
  readonly address: string | undefined
  readonly port: number | undefined
  /** Whether its requests say which trace they belong to. */
  readonly isTold: boolean
}

/** The members of a request that tracing reads or changes. */
interface Sendable {
  readonly method: string
  readonly params: JsonText | undefined
  readonly isBare?: boolean | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

interface Sink {
  readonly owner?: object | undefined
  progress(progress: Progress): void
  ended: Settle
}

/** What takes requests, such as a link to a server. */
interface Sends<R, D extends { readonly id?: Part['id'] }> {
  call(request: R, sink: Sink): D
}

export interface TraceOrigin {
  readonly context: SpanContext
  /** Undefined for the first span of a trace. */
  readonly parentId: string | undefined
  /** As it came with the parent. */
  readonly state: string | undefined
  /** Headers for servers over HTTP beside those of the trace itself. */
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly nowMs: () => number
  readonly newSpanId: () => string
}

/** A server may ask, and a call be tried, any number of times: what comes above it is not kept. */
const PARTS_MAX = 64
const LINKS_MAX = 8
const SAMPLED = 1
const WAIT_LEAST_MS = 1
const EMPTY = rawText('{}')

/**
 * What is kept of a call that is traced: a few times, from which spans are made once it is over. What is
 * still under way then, because the client is to make its request again, is told to `onLate` as it ends.
 */
export class CallTrace {
  readonly origin: TraceOrigin
  readonly beganMs: number
  readonly links: SpanContext[] = []
  readonly parts: Part[] = []
  onLate: ((part: Part) => void) | undefined
  /** Whether what a server said was mended for the client. */
  isRepaired = false
  #requests = 0

  constructor(origin: TraceOrigin) {
    this.origin = origin
    this.beganMs = origin.nowMs()
  }

  /** Whether others record it too; if not, it is kept in case it ends in a way that is to be recorded. */
  get isSampled(): boolean {
    return (this.origin.context.flags & SAMPLED) === SAMPLED
  }

  linkTo(context: SpanContext): void {
    if (this.links.length < LINKS_MAX) this.links.push(context)
  }

  /** A link over which each request says whose child it is (W3C Trace Context), and is noted. */
  over<R extends Sendable, D extends { readonly id?: Part['id'] }>(
    link: Sends<R, D>,
    to: Destination,
  ): Sends<R, D> {
    return {
      call: (request, sink) => {
        this.#requests += 1
        const part = this.#begin({ is: 'request', what: request.method, to, attempt: this.#requests })
        const traced: Sink = {
          owner: sink.owner,
          progress: progress => sink.progress(progress),
          ended: outcome => {
            this.#end(part, outcome)
            sink.ended(outcome)
          },
        }
        const down = link.call(this.isSampled && to.isTold ? this.#telling(request, part) : request, traced)
        part.id = down.id
        return down
      },
    }
  }

  /** Notes how the last request ended, as far as that is known only now; without an outcome: called off. */
  answered(outcome: Outcome | undefined): void {
    const last = this.parts.findLast(({ is }) => is === 'request')
    if (last !== undefined) this.#end(last, outcome)
  }

  /** Notes a question to the client; the function that it returns hears the answer. */
  asked(method: string): (outcome: Outcome | undefined) => void {
    const part = this.#begin({ is: 'question', what: method })
    return outcome => this.#end(part, outcome)
  }

  waited(reason: string, sinceMs: number, link?: SpanContext): void {
    const nowMs = this.origin.nowMs()
    if (nowMs - sinceMs <= WAIT_LEAST_MS) return
    const part = this.#begin({ is: 'wait', what: reason, link }, sinceMs)
    part.endedMs = nowMs
    this.onLate?.(part)
  }

  #begin(about: Pick<Part, 'is' | 'what' | 'link' | 'attempt' | 'to'>, beganMs = this.origin.nowMs()): Part {
    const spanId = this.origin.newSpanId()
    const { is, what, link, attempt, to } = about
    // Member by member: copying objects of several shapes is slow.
    const part: Part = {
      is,
      spanId,
      what,
      beganMs,
      endedMs: undefined,
      failure: undefined,
      link,
      attempt,
      to,
      id: undefined,
    }
    if (this.parts.length < PARTS_MAX) this.parts.push(part)
    return part
  }

  #end(part: Part, outcome: Outcome | undefined): void {
    const isFirst = part.endedMs === undefined
    part.endedMs ??= this.origin.nowMs()
    part.failure = outcome !== undefined && isFine(outcome) ? undefined : failureOf(outcome, 'client')
    if (isFirst) this.onLate?.(part)
  }

  #telling<R extends Sendable>(request: R, { spanId }: Part): R {
    const { context, state, headers } = this.origin
    const { traceId, flags } = context
    return telling(request, { context: { traceId, spanId, flags }, state, headers })
  }
}

/** A request that says which span it belongs to, in its params and, over HTTP, in headers as well. */
export const telling = <R extends Sendable>(
  request: R,
  { context, state, headers }: Pick<TraceOrigin, 'context'> & Partial<TraceOrigin>,
): R => {
  const traceparent = traceParent(context)
  return {
    ...withParams(request, withContext(request.params, traceparent, state)),
    headers: { ...headers, traceparent, ...(state !== undefined && { tracestate: state }) },
  }
}

/** The id under which others see the trace of a call, if it is sampled. */
export const traceIdOf = ({ trace }: { readonly trace?: CallTrace | undefined }): string | undefined =>
  trace?.isSampled === true ? trace.origin.context.traceId : undefined

/** W3C Trace Context, "traceparent Header Field Values". */
const traceParent = ({ traceId, spanId, flags }: SpanContext): string =>
  `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`

/** Params whose `_meta` says this and nothing else of a trace (2026-07-28, basic, "_meta"). */
const withContext = (
  params: JsonText | undefined,
  traceparent: string,
  state: string | undefined,
): JsonText => {
  const holder = params ?? EMPTY
  const meta = memberOf(holder, '_meta')
  const known = meta !== undefined && kindOf(meta) === 'object' ? meta : EMPTY
  const stated =
    state === undefined ? withoutMember(known, 'tracestate') : withMember(known, 'tracestate', textOf(state))
  return withMember(holder, '_meta', withMember(stated, 'traceparent', textOf(traceparent)))
}
