/** A number is written as a whole one: there are no others. */
export type Attributes = Readonly<Record<string, string | number | boolean>>

/** Of OTLP, `SpanKind`. */
export const KIND = { internal: 1, server: 2, client: 3 } as const

/** The same, `StatusCode`. */
export const STATUS = { unset: 0, error: 2 } as const

export interface SpanLink {
  readonly traceId: string
  readonly spanId: string
  readonly flags: number
  readonly isRemote: boolean
}

/** A span that is over; ids in hex, times in milliseconds since 1970. */
export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  /** Whether that parent is another program's. */
  readonly isParentRemote: boolean
  readonly traceState: string | undefined
  /** Of W3C. */
  readonly flags: number
  readonly name: string
  readonly kind: (typeof KIND)[keyof typeof KIND]
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Attributes
  readonly status: { readonly code: (typeof STATUS)[keyof typeof STATUS]; readonly message?: string }
  readonly links: readonly SpanLink[]
}

/** Who sends spans. */
export interface Resource {
  readonly attributes: Attributes
  readonly scope: { readonly name: string; readonly version: string }
}
