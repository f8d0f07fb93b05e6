/** Numbers are encoded as integers. */
export type Attributes = Readonly<Record<string, string | number | boolean>>

/** OTLP `SpanKind`. */
export const KIND = { internal: 1, server: 2, client: 3 } as const

/** OTLP `StatusCode`. */
export const STATUS = { unset: 0, error: 2 } as const

export interface SpanLink {
  readonly traceId: string
  readonly spanId: string
  readonly flags: number
  readonly isRemote: boolean
}

/** A finished span. Ids are hexadecimal; times are milliseconds since 1970. */
export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  /** True if another program created the parent. */
  readonly isParentRemote: boolean
  readonly traceState: string | undefined
  /** W3C trace flags. */
  readonly flags: number
  readonly name: string
  readonly kind: (typeof KIND)[keyof typeof KIND]
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Attributes
  readonly status: { readonly code: (typeof STATUS)[keyof typeof STATUS]; readonly message?: string }
  readonly links: readonly SpanLink[]
}

/** The program that sends spans. */
export interface Resource {
  readonly attributes: Attributes
  readonly scope: { readonly name: string; readonly version: string }
}

/** A record of a log. The id of a span is hexadecimal; times are milliseconds since 1970. */
export interface LogRecord {
  readonly timeMs: number
  readonly observedMs: number
  /** OTLP `SeverityNumber`. */
  readonly severity: number
  readonly eventName: string
  readonly body: string
  readonly attributes: Attributes
  readonly traceId: string | undefined
  readonly spanId: string | undefined
}
