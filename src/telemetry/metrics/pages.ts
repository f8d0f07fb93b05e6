import { setImmediate as turn } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { FAMILY_NAMES, type FamilyName } from './families.js'
import { type GaugeContext, noiseOf, readGauges } from './gauges.js'
import type { Metrics, Sample } from './registry.js'
import { CONTENT_TYPES, encodeMetrics, type Format, formatFor } from './text.js'

/** The answer to a scrape. */
export interface MetricsPage {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** Writes the metrics. Concurrent scrapes share one text. */
export interface MetricsPages {
  /** Returns the page for these request headers. */
  page(accept: string | undefined, acceptEncoding?: string): Promise<MetricsPage>
}

/** Lifetime of a text. */
const KEPT_MS = 1000
/** Maximum time before other work can run. */
const SLICE_MS = 2

const compress = promisify(gzip)

interface Kept {
  readonly atMs: number
  readonly plain: Promise<Buffer>
  zipped: Promise<Buffer> | undefined
}

export const createMetricsPages = (metrics: Metrics, context: GaugeContext): MetricsPages => {
  const { clock } = context
  const kept = new Map<Format, Kept>()
  const current = (format: Format): Kept => {
    const nowMs = clock.nowMs()
    const known = kept.get(format)
    if (known !== undefined && nowMs - known.atMs < KEPT_MS) return known
    const made: Kept = { atMs: nowMs, plain: write(metrics, context, format), zipped: undefined }
    kept.set(format, made)
    return made
  }
  return {
    async page(accept, acceptEncoding = '') {
      const format = formatFor(accept)
      const made = current(format)
      const isZipped = /(?:^|,)\s*gzip\s*(?:,|;\s*q=(?!0(?:\.0*)?\s*(?:,|$))|$)/i.test(acceptEncoding)
      if (isZipped) made.zipped ??= made.plain.then(text => compress(text))
      const body = await ((isZipped ? made.zipped : undefined) ?? made.plain)
      const headers = {
        'content-type': CONTENT_TYPES[format],
        vary: 'accept, accept-encoding',
        ...(isZipped && { 'content-encoding': 'gzip' }),
      }
      return { headers, body }
    },
  }
}

const write = async (metrics: Metrics, context: GaugeContext, format: Format): Promise<Buffer> => {
  const makeWay = turns()
  const gauges: Partial<Record<FamilyName, readonly Sample[]>> = {}
  for (const piece of readGauges(context)) {
    Object.assign(gauges, piece)
    await makeWay()
  }
  const samplesOf = (name: FamilyName): readonly Sample[] => {
    if (name === 'mcp_proxy_series_overflow') return metrics.overflows
    if (name === 'mcp_proxy_repairs') return [...metrics.samples(name), ...noiseOf(context)]
    return gauges[name] ?? metrics.samples(name)
  }
  const pieces: string[] = []
  for (const piece of encodeMetrics(FAMILY_NAMES, samplesOf, format)) {
    pieces.push(piece)
    await makeWay()
  }
  return Buffer.from(pieces.join(''))
}

/** Returns a function that yields to other work if the last time is long enough ago. */
const turns = (): (() => Promise<void> | undefined) => {
  let sinceMs = performance.now()
  return () => {
    if (performance.now() - sinceMs < SLICE_MS) return undefined
    return turn().then(() => {
      sinceMs = performance.now()
    })
  }
}
