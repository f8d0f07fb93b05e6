import {
  EMPTY,
  type JsonText,
  kindOf,
  memberOf,
  textOf,
  withMember,
  withoutMember,
} from '../kernel/json/text.js'
import { type Failure, failureOf } from './failure.js'
import { isFine, type Outcome, type Settle } from './outcome.js'
import type { Progress } from './progress.js'
import { withParams } from './with-params.js'

/** The identity of a span: ids in hex, as in W3C Trace Context. */
export interface SpanContext {
  readonly traceId: string
  readonly spanId: string
  /** `trace-flags`. */
  readonly flags: number
}

/** A request made for a call, a question to its client, or a wait inside the proxy. */
export interface TracePart {
  readonly is: 'request' | 'question' | 'wait'
  readonly spanId: string
  /** The method, or the reason for the wait. */
  readonly what: string
  readonly beganMs: number
  /** Undefined while in progress. */
  endedMs: number | undefined
  /** Undefined if it succeeded. */
  failure: Failure | undefined
  /** For a wait for a server: the trace of its start. */
  readonly link?: SpanContext | undefined
  /** For a request: its attempt, from 1. */
  readonly attempt?: number | undefined
  /** For a request: its destination. */
  readonly to?: Destination | undefined
  /** For a request: its id on the wire. */
  id?: number | string | undefined
}

export interface Destination {
  readonly server: string
  readonly revision: string
  readonly protocol: 'http' | 'websocket' | undefined
  readonly isProcess: boolean
  /** The host, or the path of the socket; undefined for a program. */
  readonly address: string | undefined
  readonly port: number | undefined
  /** True if requests to it carry the trace context. */
  readonly propagatesTrace: boolean
}

/** The members of a request that tracing reads or changes. */
interface Sendable {
  readonly method: string
  readonly params: JsonText | undefined
  readonly isBare?: boolean | undefined
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined
}

interface Sink {
  readonly owner?: object | undefined
  progress(progress: Progress): void
  ended: Settle
}

/** A destination for requests, such as a link to a server. */
interface Sends<R, D extends { readonly id?: TracePart['id'] }> {
  call(request: R, sink: Sink): D
}

export interface TraceOrigin {
  readonly context: SpanContext
  /** Undefined for the first span of a trace. */
  readonly parentId: string | undefined
  /** The incoming `tracestate`. */
  readonly state: string | undefined
  /** Additional headers for servers over HTTP. */
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly nowMs: () => number
  readonly newSpanId: () => string
}

/** Servers may ask, and calls may be retried, any number of times; further parts are not recorded. */
const PARTS_MAX = 64
const LINKS_MAX = 8
const SAMPLED = 1
const WAIT_LEAST_MS = 1

/**
 * The timings of a traced call, from which spans are made at its end. Parts still in progress then, because
 * the client has to repeat its request, are passed to `onLate` as they end.
 */
export class CallTrace {
  readonly origin: TraceOrigin
  readonly beganMs: number
  readonly links: SpanContext[] = []
  readonly parts: TracePart[] = []
  onLate: ((part: TracePart) => void) | undefined
  /** True if a server's result was repaired for the client. */
  isRepaired = false
  #requests = 0

  constructor(origin: TraceOrigin) {
    this.origin = origin
    this.beganMs = origin.nowMs()
  }

  /** True if the trace is sampled upstream; otherwise it is kept in case its outcome must be recorded. */
  get isSampled(): boolean {
    return (this.origin.context.flags & SAMPLED) === SAMPLED
  }

  /** The trace id as other systems see it, if it is sampled. */
  get sampledId(): string | undefined {
    return this.isSampled ? this.origin.context.traceId : undefined
  }

  linkTo(context: SpanContext): void {
    if (this.links.length < LINKS_MAX) this.links.push(context)
  }

  /** Wraps a link so that each request carries its span as parent (W3C Trace Context) and is recorded. */
  over<R extends Sendable, D extends { readonly id?: TracePart['id'] }>(
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
        const down = link.call(
          this.isSampled && to.propagatesTrace ? this.#withTrace(request, part) : request,
          traced,
        )
        part.id = down.id
        return down
      },
    }
  }

  /** Records the end of the last request, where it is known only now; undefined: cancelled. */
  answered(outcome: Outcome | undefined): void {
    const last = this.parts.findLast(({ is }) => is === 'request')
    if (last !== undefined) this.#end(last, outcome)
  }

  /** Records a question to the client; call the returned function with the answer. */
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

  #begin(
    about: Pick<TracePart, 'is' | 'what' | 'link' | 'attempt' | 'to'>,
    beganMs = this.origin.nowMs(),
  ): TracePart {
    const spanId = this.origin.newSpanId()
    const { is, what, link, attempt, to } = about
    // Member by member, because spreading objects of several shapes is slow.
    const part: TracePart = {
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

  #end(part: TracePart, outcome: Outcome | undefined): void {
    const isFirst = part.endedMs === undefined
    part.endedMs ??= this.origin.nowMs()
    part.failure = outcome !== undefined && isFine(outcome) ? undefined : failureOf(outcome, 'client')
    if (isFirst) this.onLate?.(part)
  }

  #withTrace<R extends Sendable>(request: R, { spanId }: TracePart): R {
    const { context, state, headers } = this.origin
    const { traceId, flags } = context
    return withTraceContext(request, { context: { traceId, spanId, flags }, state, headers })
  }
}

/** Adds the trace context to a request: in its params and, over HTTP, in headers. */
export const withTraceContext = <R extends Sendable>(
  request: R,
  { context, state, headers }: Pick<TraceOrigin, 'context'> & Partial<TraceOrigin>,
): R => {
  const traceparent = traceParent(context)
  return {
    ...withParams(request, withContext(request.params, traceparent, state)),
    headers: {
      ...request.headers,
      ...headers,
      traceparent,
      ...(state !== undefined && { tracestate: state }),
    },
  }
}

/** Formats W3C Trace Context, "traceparent Header Field Values". */
const traceParent = ({ traceId, spanId, flags }: SpanContext): string =>
  `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`

/** Sets the trace members of `_meta`, replacing any others (2026-07-28, basic, "_meta"). */
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
