import type { Attributes, LogRecord, Resource, Span, SpanLink } from './span.js'

// Encodes `ExportTraceServiceRequest` and `ExportLogsServiceRequest` (opentelemetry-proto 1.x) as JSON and
// protobuf, as Node's official exporter does. That includes the counts of dropped data, which are always 0.

/** Flag bits of spans and links above the W3C bits. */
const HAS_IS_REMOTE = 0x100
const IS_REMOTE = 0x200

const SAMPLED = 1

const flagsOf = (flags: number, isRemote: boolean): number =>
  flags | HAS_IS_REMOTE | (isRemote ? IS_REMOTE : 0)

/** Returns a time in nanoseconds, which exceeds the precision of a number. */
const nanos = (ms: number): string => {
  const whole = Math.floor(ms)
  return `${whole}${String(1e6 + Math.floor((ms - whole) * 1e6)).slice(1)}`
}

export const encodeJson = (spans: readonly Span[], resource: Resource): Buffer =>
  jsonRequest(['resourceSpans', 'scopeSpans', 'spans'], spans.map(jsonSpan), resource)

export const encodeLogsJson = (records: readonly LogRecord[], resource: Resource): Buffer =>
  jsonRequest(['resourceLogs', 'scopeLogs', 'logRecords'], records.map(jsonRecord), resource)

const jsonRequest = (
  [outer, inner, list]: readonly [string, string, string],
  items: readonly object[],
  { attributes, scope }: Resource,
): Buffer => {
  const resource = { attributes: jsonAttributes(attributes), droppedAttributesCount: 0 }
  return Buffer.from(JSON.stringify({ [outer]: [{ resource, [inner]: [{ scope, [list]: items }] }] }))
}

const jsonRecord = (record: LogRecord): object => ({
  timeUnixNano: nanos(record.timeMs),
  observedTimeUnixNano: nanos(record.observedMs),
  severityNumber: record.severity,
  eventName: record.eventName,
  body: { stringValue: record.body },
  attributes: jsonAttributes(record.attributes),
  droppedAttributesCount: 0,
  flags: record.traceId === undefined ? 0 : SAMPLED,
  traceId: record.traceId,
  spanId: record.spanId,
})

const jsonSpan = (span: Span): object => ({
  traceId: span.traceId,
  spanId: span.spanId,
  parentSpanId: span.parentSpanId,
  traceState: span.traceState,
  name: span.name,
  kind: span.kind,
  startTimeUnixNano: nanos(span.startMs),
  endTimeUnixNano: nanos(span.endMs),
  attributes: jsonAttributes(span.attributes),
  droppedAttributesCount: 0,
  events: [],
  droppedEventsCount: 0,
  status: span.status,
  links: span.links.map(({ traceId, spanId, flags, isRemote }) => ({
    attributes: [],
    spanId,
    traceId,
    droppedAttributesCount: 0,
    flags: flagsOf(flags, isRemote),
  })),
  droppedLinksCount: 0,
  flags: flagsOf(span.flags, span.isParentRemote),
})

const jsonAttributes = (attributes: Attributes): object[] =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: jsonValue(value) }))

const jsonValue = (value: string | number | boolean): object => {
  if (typeof value === 'string') return { stringValue: value }
  return typeof value === 'number' ? { intValue: value } : { boolValue: value }
}

// ── protobuf: field numbers of trace.proto, common.proto and resource.proto ──

const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5

export const encodeProtobuf = (spans: readonly Span[], resource: Resource): Buffer =>
  protobufRequest(spans, resource, writeSpan)

export const encodeLogsProtobuf = (records: readonly LogRecord[], resource: Resource): Buffer =>
  protobufRequest(records, resource, writeRecord)

/** Writes the messages around the items, whose fields have the same numbers for every signal. */
const protobufRequest = <T>(
  items: readonly T[],
  { attributes, scope }: Resource,
  write: (out: BackwardWriter, item: T) => void,
): Buffer => {
  const out = new BackwardWriter()
  out.message(1, () => {
    out.message(2, () => {
      for (let at = items.length - 1; at >= 0; at--) write(out, items[at] as T)
      out.message(1, () => {
        out.text(2, scope.version)
        out.text(1, scope.name)
      })
    })
    out.message(1, () => {
      out.varint(2, 0)
      writeAttributes(out, 1, attributes)
    })
  })
  return out.written
}

/** Writes a `LogRecord` of logs.proto, its fields in reverse order. */
const writeRecord = (out: BackwardWriter, record: LogRecord): void =>
  out.message(2, () => {
    out.text(12, record.eventName)
    out.fixed64(11, nanos(record.observedMs))
    if (record.spanId !== undefined) out.hex(10, record.spanId)
    if (record.traceId !== undefined) out.hex(9, record.traceId)
    if (record.traceId !== undefined) out.fixed32(8, SAMPLED)
    out.varint(7, 0)
    writeAttributes(out, 6, record.attributes)
    out.message(5, () => out.text(1, record.body))
    out.varint(2, record.severity)
    out.fixed64(1, nanos(record.timeMs))
  })

/** Writes the fields in reverse order. */
const writeSpan = (out: BackwardWriter, span: Span): void =>
  out.message(2, () => {
    out.fixed32(16, flagsOf(span.flags, span.isParentRemote))
    out.message(15, () => {
      out.varint(3, span.status.code)
      if (span.status.message !== undefined) out.text(2, span.status.message)
    })
    out.varint(14, 0)
    for (const link of span.links.toReversed()) writeLink(out, link)
    out.varint(12, 0)
    out.varint(10, 0)
    writeAttributes(out, 9, span.attributes)
    out.fixed64(8, nanos(span.endMs))
    out.fixed64(7, nanos(span.startMs))
    out.varint(6, span.kind)
    out.text(5, span.name)
    if (span.parentSpanId !== undefined) out.hex(4, span.parentSpanId)
    if (span.traceState !== undefined) out.text(3, span.traceState)
    out.hex(2, span.spanId)
    out.hex(1, span.traceId)
  })

const writeLink = (out: BackwardWriter, { traceId, spanId, flags, isRemote }: SpanLink): void =>
  out.message(13, () => {
    out.fixed32(6, flagsOf(flags, isRemote))
    out.varint(5, 0)
    out.hex(2, spanId)
    out.hex(1, traceId)
  })

const writeAttributes = (out: BackwardWriter, field: number, attributes: Attributes): void => {
  for (const [key, value] of Object.entries(attributes).reverse())
    out.message(field, () => {
      out.message(2, () => {
        if (typeof value === 'string') out.text(1, value)
        else if (typeof value === 'boolean') out.varint(2, Number(value))
        else out.varint(3, value)
      })
      out.text(1, key)
    })
}

const FIRST_BYTES = 64 * 1024
const SHORT_CHARS = 48

/** Writes backwards, so that the length before a message is known when it is written. */
class BackwardWriter {
  #buffer = Buffer.allocUnsafe(FIRST_BYTES)
  #at = FIRST_BYTES

  get written(): Buffer {
    return this.#buffer.subarray(this.#at)
  }

  message(field: number, write: () => void): void {
    const before = this.#buffer.length - this.#at
    write()
    this.#digits(this.#buffer.length - this.#at - before)
    this.#tag(field, BYTES)
  }

  text(field: number, value: string): void {
    let { length } = value
    if (length > SHORT_CHARS || !this.#ascii(value)) {
      length = Buffer.byteLength(value)
      const at = this.#take(length)
      this.#buffer.write(value, at, 'utf8')
    }
    this.#digits(length)
    this.#tag(field, BYTES)
  }

  /** Most texts are short ASCII, for which a native call takes longer. */
  #ascii(value: string): boolean {
    const from = this.#take(value.length)
    for (let at = 0; at < value.length; at++) {
      const unit = value.charCodeAt(at)
      if (unit >= 0x80) {
        this.#at += value.length
        return false
      }
      this.#buffer[from + at] = unit
    }
    return true
  }

  hex(field: number, value: string): void {
    const length = value.length / 2
    const at = this.#take(length)
    this.#buffer.write(value, at, 'hex')
    this.#digits(length)
    this.#tag(field, BYTES)
  }

  varint(field: number, value: number): void {
    this.#digits(value)
    this.#tag(field, VARINT)
  }

  fixed64(field: number, value: string): void {
    const at = this.#take(8)
    this.#buffer.writeBigUInt64LE(BigInt(value), at)
    this.#tag(field, FIXED64)
  }

  fixed32(field: number, value: number): void {
    const at = this.#take(4)
    this.#buffer.writeUInt32LE(value, at)
    this.#tag(field, FIXED32)
  }

  #tag(field: number, type: number): void {
    this.#digits((field << 3) | type)
  }

  /** Writes a varint of a non-negative number. */
  #digits(value: number): void {
    let length = 1
    for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length += 1
    let at = this.#take(length)
    let rest = value
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.#buffer[at++] = (rest % 0x80) | 0x80
    this.#buffer[at] = rest
  }

  /** Reserves bytes and returns their offset. */
  #take(bytes: number): number {
    if (bytes > this.#at) {
      const { written } = this
      const larger = Buffer.allocUnsafe(2 * (this.#buffer.length + bytes))
      this.#at = larger.length - written.length
      larger.set(written, this.#at)
      this.#buffer = larger
    }
    this.#at -= bytes
    return this.#at
  }
}
