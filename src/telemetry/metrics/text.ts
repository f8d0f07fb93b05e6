import { Histogram } from '../../kernel/series.js'
import { FAMILIES, type FamilyName } from './families.js'
import type { Sample } from './registry.js'

/** Prometheus text 0.0.4, or OpenMetrics 1.0. */
export type Format = 'text' | 'openmetrics'

export const CONTENT_TYPES: Readonly<Record<Format, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

/** Returns the preferred format of an `Accept` header (RFC 9110 §12.5.1), or text. */
export const formatFor = (accept = ''): Format => {
  const ranges = accept.split(',').map(readRange)
  const best = (wanted: string, version: string): number =>
    Math.max(
      0,
      ...ranges.filter(one => one.type === wanted && (one.version ?? version) === version).map(({ q }) => q),
    )
  const openMetrics = best('application/openmetrics-text', '1.0.0')
  return openMetrics > 0 && openMetrics >= best('text/plain', '0.0.4') ? 'openmetrics' : 'text'
}

const readRange = (range: string) => {
  const [type = '', ...params] = range.split(';').map(part => part.trim().toLowerCase())
  const given = new Map(params.map(param => param.split('=', 2).map(unquoted) as [string, string]))
  const q = Number(given.get('q') ?? 1)
  return { type, version: given.get('version'), q: q >= 0 && q <= 1 ? q : 0 }
}

const unquoted = (part = ''): string => part.trim().replace(/^"(.*)"$/, '$1')

/**
 * Writes all families in pieces of a few lines, so that other work can run in between. `samplesOf` returns
 * the current samples of a family.
 */
export function* encodeMetrics(
  names: readonly FamilyName[],
  samplesOf: (name: FamilyName) => readonly Sample[],
  format: Format,
): Iterable<string> {
  for (const name of names) {
    const { kind, labels, bounds = [] } = FAMILIES[name]
    const written: Written = {
      name: name + (SUFFIXES[kind] ?? ''),
      labels: labels.map(label => `${label}="`),
      bounds: [...bounds.map(bound => boundText(bound, format)), '+Inf'],
      hasExemplars: format === 'openmetrics',
    }
    yield headOf(name, format)
    for (const sample of samplesOf(name)) yield encodeSample(written, sample)
  }
  if (format === 'openmetrics') yield '# EOF\n'
}

/** The shared text of a family's lines, cached because there may be thousands every few seconds. */
interface Written {
  readonly name: string
  /** Each line up to its value. */
  readonly labels: readonly string[]
  readonly bounds: readonly string[]
  readonly hasExemplars: boolean
}

const UNIT = /_(seconds|bytes|ratio)$/

const headOf = (name: FamilyName, format: Format): string => {
  const { kind, help } = FAMILIES[name]
  const isOpen = format === 'openmetrics'
  const shown = isOpen ? name : name + (SUFFIXES[kind] ?? '')
  const unit = isOpen ? UNIT.exec(name)?.[1] : undefined
  return [
    `# TYPE ${shown} ${kind === 'info' && !isOpen ? 'gauge' : kind}\n`,
    unit === undefined ? '' : `# UNIT ${shown} ${unit}\n`,
    `# HELP ${shown} ${help}\n`,
  ].join('')
}

const SUFFIXES: Readonly<Partial<Record<string, string>>> = { counter: '_total', info: '_info' }

const encodeSample = (written: Written, { labels, value }: Sample): string => {
  let pairs = ''
  for (const [at, start] of written.labels.entries()) {
    const text = labels[at] ?? ''
    if (text !== '') pairs += `${pairs === '' ? '' : ','}${start}${escaped(text)}"`
  }
  const { name } = written
  const inBraces = pairs === '' ? '' : `{${pairs}}`
  if (!(value instanceof Histogram)) return `${name}${inBraces} ${shownNumber(value)}\n`
  const start = `${name}_bucket{${pairs}${pairs === '' ? '' : ','}le="`
  const { counts } = value
  let [count, lines] = [0, '']
  for (const [at, bound] of written.bounds.entries()) {
    count += counts[at] ?? 0
    lines += `${start}${bound}"} ${count}${written.hasExemplars ? exemplarText(value, at) : ''}\n`
  }
  return `${lines}${name}_sum${inBraces} ${shownNumber(value.sum)}\n${name}_count${inBraces} ${count}\n`
}

/** OpenMetrics 1.0, "Exemplars". */
const exemplarText = ({ exemplars }: Histogram, at: number): string => {
  const found = exemplars[at]
  return found === undefined
    ? ''
    : ` # {trace_id="${found.traceId}"} ${found.value} ${(found.atMs / 1000).toFixed(3)}`
}

const escaped = (text: string): string =>
  text.replace(/[\\"\n]/g, sign => (sign === '\n' ? '\\n' : `\\${sign}`))

const shownNumber = (value: number): string => {
  if (Number.isNaN(value)) return 'NaN'
  if (Number.isFinite(value)) return String(value)
  return value > 0 ? '+Inf' : '-Inf'
}

/** OpenMetrics 1.0, "Canonical Numbers". */
const boundText = (bound: number, format: Format): string => {
  if (format === 'text') return String(bound)
  if (Number.isInteger(bound)) return `${bound}.0`
  return bound >= 1e-4 ? String(bound) : bound.toExponential().replace(/e-(\d)$/, 'e-0$1')
}
