import { randomFillSync } from 'node:crypto'
import type { Clock } from '../../kernel/async/clock.js'
import { mayContain } from '../../kernel/json/edit.js'
import { type JsonText, memberOf, stringOf, textMember } from '../../kernel/json/text.js'
import type { Logger } from '../../kernel/logger.js'
import { IDENTITY } from '../../kernel/machine/identity.js'
import type { Meter } from '../../kernel/meter.js'
import { addSecrets } from '../../kernel/secrets/mask.js'
import { CallTrace, type SpanContext, type TracePart } from '../../model/call-trace.js'
import type { Arrival, Call } from '../../model/links.js'
import { isFine, type Outcome } from '../../model/outcome.js'
import type { OwnRequest, TracedCall, Tracer } from '../../model/tracer.js'
import { readBaggage, readParent, readTraceState } from './context.js'
import { Exporter } from './exporter.js'
import type { TracingSettings } from './settings.js'
import { ownSpan, partSpan, serverSpan } from './spans.js'

export { resolveTracing } from './settings.js'

export interface TracerOptions {
  readonly settings: TracingSettings
  readonly clock: Clock
  readonly log: Logger
  readonly meter: Meter | undefined
}

/** A tracer that exports its spans. */
export interface SendingTracer extends Tracer {
  /** Never rejects. */
  close(): Promise<void>
}

/** Throws a Fault `invalid-params`. */
export const createTracer = (options: TracerOptions): SendingTracer => new OtlpTracer(options)

const SAMPLED = 1
const SECOND_MS = 1000
interface Parent extends SpanContext {
  readonly state: string | undefined
}

const NO_LINKS: readonly SpanContext[] = []
/** Tolerated drift between the wall clock and the monotonic clock. */
const DRIFT_MS = 50

/** Samples calls (W3C Trace Context, parent-based) and creates spans of finished calls. */
class OtlpTracer implements SendingTracer {
  readonly #settings: TracingSettings
  readonly #clock: Clock
  readonly #exporter: Exporter
  readonly #ids = new RandomIds()
  readonly #forgetSecrets: () => void
  readonly #keepsSome: boolean
  /** Start times of the last traces, as many as allowed in a second. The oldest is at `#at`. */
  readonly #lastMs: number[] = []
  #at = 0
  #offsetMs = Number.NEGATIVE_INFINITY

  constructor({ settings, clock, log, meter }: TracerOptions) {
    this.#settings = settings
    this.#clock = clock
    this.#keepsSome = settings.keepsErrors || settings.keepsSlowMs !== Number.POSITIVE_INFINITY
    this.#exporter = new Exporter({
      ...{ settings, clock, log },
      resource: { attributes: settings.resource, scope: { name: IDENTITY.name, version: IDENTITY.version } },
      count: (result, spans) => meter?.counter('mcp_proxy_spans', result).add(spans),
    })
    this.#forgetSecrets = addSecrets(Object.values(settings.headers))
  }

  decide(call: Call): CallTrace | undefined {
    const said = this.#settings.propagates ? saidBy(call) : NOTHING
    const parent = this.#parentIn(said, call)
    const isSampled = this.#isWanted(parent) && this.#hasRoom()
    if (!isSampled && !this.#keepsSome) return undefined
    const trace = this.#traceOf(call, parent && { ...parent, state: stateIn(said) }, isSampled)
    for (const other of otherThan(parent, said)) trace.linkTo(other)
    return trace
  }

  #parentIn({ inMeta, inHeader }: Said, call: Call): SpanContext | undefined {
    const parent = inMeta ?? inHeader
    return parent !== undefined && this.#isTrusted(call) ? parent : undefined
  }

  over(trace: CallTrace, call: TracedCall, outcome: Outcome | undefined): void {
    if (!trace.isSampled && !this.#isKept(trace, outcome)) return
    const at = { offsetMs: this.#offset(), nowMs: this.#clock.nowMs() }
    const { hasContent } = this.#settings
    this.#exporter.add(serverSpan(trace, call, outcome, { ...at, hasContent }))
    for (const part of trace.parts)
      if (part.endedMs !== undefined || outcome === undefined) this.#add(trace, call, part)
    // After a server's request, the call continues and ends during a later request of its client.
    trace.onLate = part => this.#add(trace, call, part)
  }

  root(): SpanContext | undefined {
    if (!this.#isWanted(undefined) || !this.#hasRoom()) return undefined
    return { traceId: this.#ids.traceId(), spanId: this.#ids.spanId(), flags: SAMPLED }
  }

  ended(root: SpanContext, request: OwnRequest): void {
    this.#exporter.add(ownSpan(root, request, { offsetMs: this.#offset(), nowMs: this.#clock.nowMs() }))
  }

  async close(): Promise<void> {
    await this.#exporter.close()
    this.#forgetSecrets()
  }

  #add(trace: CallTrace, call: TracedCall, part: TracePart): void {
    this.#exporter.add(partSpan(trace, call, part, { offsetMs: this.#offset(), nowMs: this.#clock.nowMs() }))
  }

  #traceOf(call: Call, parent: Parent | undefined, isSampled: boolean): CallTrace {
    const { traceId = this.#ids.traceId(), flags = 0 } = parent ?? {}
    return new CallTrace({
      context: {
        ...{ traceId, spanId: this.#ids.spanId() },
        flags: (flags & ~SAMPLED) | (isSampled ? SAMPLED : 0),
      },
      parentId: parent?.spanId,
      state: parent?.state,
      headers: this.#baggageOf(call),
      nowMs: this.#nowMs,
      newSpanId: this.#newSpanId,
    })
  }

  readonly #nowMs = (): number => this.#clock.nowMs()
  readonly #newSpanId = (): string => this.#ids.spanId()

  /** Anonymous callers must not choose our trace ids or force the recording of their requests. */
  #isTrusted({ client: { via }, caller: { principal, scopes } }: Call): boolean {
    const { trustParents } = this.#settings
    if (trustParents !== undefined) return trustParents
    const isHere = via === undefined || via === 'stdio' || via === 'socket' || principal === 'local'
    return isHere || scopes !== undefined
  }

  #isWanted(parent: SpanContext | undefined): boolean {
    const { isParentBased, ratio } = this.#settings
    if (parent !== undefined && isParentBased) return (parent.flags & SAMPLED) === SAMPLED
    if (ratio === 0 || ratio === 1) return ratio === 1
    return parent === undefined ? this.#ids.isWithin(ratio) : shareOf(parent.traceId) < ratio
  }

  /** Limits the traces in any window of one second. */
  #hasRoom(): boolean {
    const nowMs = this.#clock.nowMs()
    const firstMs = this.#lastMs[this.#at]
    if (firstMs !== undefined && nowMs - firstMs < SECOND_MS) return false
    this.#lastMs[this.#at] = nowMs
    this.#at = (this.#at + 1) % this.#settings.perSecond
    return true
  }

  #isKept({ beganMs }: CallTrace, outcome: Outcome | undefined): boolean {
    const { keepsErrors, keepsSlowMs } = this.#settings
    const isError = outcome !== undefined && !isFine(outcome)
    const isKept = (keepsErrors && isError) || this.#clock.nowMs() - beganMs > keepsSlowMs
    return isKept && this.#hasRoom()
  }

  #baggageOf({ arrival }: Call): Readonly<Record<string, string>> | undefined {
    const baggage = readBaggage(arrival?.headers?.['baggage'], this.#settings.baggage)
    return baggage === undefined ? undefined : { baggage }
  }

  /**
   * Returns the wall-clock time of the clock's 0. Constant within a call; follows changes of the wall clock.
   */
  #offset(): number {
    const offsetMs = Date.now() - this.#clock.nowMs()
    if (Math.abs(offsetMs - this.#offsetMs) > DRIFT_MS) this.#offsetMs = offsetMs
    return this.#offsetMs
  }
}

/** Up to this size, parsing is as fast as searching. */
const SHORT_BYTES = 512

/**
 * Returns the object that may hold the trace keys, which have no prefix (2026-07-28, basic, "_meta";
 * SEP-414).
 */
const metaOf = ({ params, named }: Call): JsonText | undefined => {
  if (named !== undefined || params === undefined) return undefined
  return params.length <= SHORT_BYTES || mayContain(params, 'traceparent')
    ? memberOf(params, '_meta')
    : undefined
}

/** The places of a request that can hold a trace context. */
interface Said {
  readonly inMeta: SpanContext | undefined
  readonly inHeader: SpanContext | undefined
  readonly meta: JsonText | undefined
  readonly headers: Arrival['headers']
}

const NOTHING: Said = { inMeta: undefined, inHeader: undefined, meta: undefined, headers: undefined }

/** The usual length: 55 characters and two quotes, which leaves no room for an escape. */
const PLAIN_BYTES = 57

const parentText = (value: JsonText | undefined): string | undefined =>
  value?.length === PLAIN_BYTES ? value.toString('latin1', 1, PLAIN_BYTES - 1) : stringOf(value)

const saidBy = (call: Call): Said => {
  const meta = metaOf(call)
  const headers = call.arrival?.headers
  const inMeta = readParent(parentText(meta && memberOf(meta, 'traceparent')))
  const inHeader = readParent(headers?.['traceparent'])
  return inMeta === undefined && inHeader === undefined ? NOTHING : { inMeta, inHeader, meta, headers }
}

/** Returns the state next to the parent. Read only for sampled calls. */
const stateIn = ({ inMeta, meta, headers }: Said): string | undefined =>
  readTraceState(inMeta === undefined ? headers?.['tracestate'] : meta && textMember(meta, 'tracestate'))

/** Returns the received contexts except for the parent. */
const otherThan = (parent: SpanContext | undefined, { inMeta, inHeader }: Said): readonly SpanContext[] => {
  if (inMeta === undefined && inHeader === undefined) return NO_LINKS
  return [inMeta, inHeader].filter(
    (one): one is SpanContext =>
      one !== undefined && (one.traceId !== parent?.traceId || one.spanId !== parent.spanId),
  )
}

/** Maps a trace id to 0…1 by its last 52 bits, which W3C requires to be random. */
const shareOf = (traceId: string): number => Number.parseInt(traceId.slice(-13), 16) / 2 ** 52

const POOL_BYTES = 4096

/** Random ids from bytes generated in blocks. */
class RandomIds {
  readonly #pool = Buffer.alloc(POOL_BYTES)
  #at = POOL_BYTES

  traceId(): string {
    return this.#hex(16)
  }

  spanId(): string {
    return this.#hex(8)
  }

  /** Returns true with this probability. */
  isWithin(ratio: number): boolean {
    const at = this.#take(4)
    return this.#pool.readUInt32LE(at) / 2 ** 32 < ratio
  }

  #hex(bytes: number): string {
    const at = this.#take(bytes)
    const id = this.#pool.toString('hex', at, at + bytes)
    return /^0+$/.test(id) ? this.#hex(bytes) : id
  }

  #take(bytes: number): number {
    if (this.#at + bytes > POOL_BYTES) {
      randomFillSync(this.#pool)
      this.#at = 0
    }
    this.#at += bytes
    return this.#at - bytes
  }
}
