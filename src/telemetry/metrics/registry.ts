import { createHash } from 'node:crypto'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import type { FaultCode } from '../../kernel/faults.js'
import type { CounterName, HistogramName, Meter, RepairKind } from '../../kernel/meter.js'
import { mask, sanitizeLine } from '../../kernel/secrets/mask.js'
import { Counter, Histogram } from '../../kernel/series.js'
import { FAMILIES, FAMILY_NAMES, type FamilyName } from './families.js'

/** The labels of a series, and its value. */
export interface Sample {
  /** In the order of the family's labels. Empty ones are omitted. */
  readonly labels: readonly string[]
  readonly value: number | Histogram
}

interface Series<T> {
  readonly labels: readonly string[]
  readonly series: T
}

/** Label value of series that exceed the limit of their family. */
const OVERFLOW = '_overflow'
/** Lifetime of a server's series after its removal from the configuration. */
const GONE_MS = 5 * 60_000
/** Histograms are limited to this fraction: each series is many lines. */
const HISTOGRAM_PART = 5
/** Fraction of all series that one counter may have: a server may list thousands of tools. */
const FAMILY_PART = 4
const LABEL_BYTES = 128
const HASH_CHARS = 8
const PLAIN_LABEL = /^[\w ./:+-]{0,64}$/
/** Labels with values that servers choose: a server may name a tool after a secret. */
const CHOSEN: ReadonlySet<string> = new Set(['tool', 'gen_ai_tool_name'])

const CLOSED: readonly (readonly [CounterName, ...string[]])[] = [
  ...['host', 'origin', 'auth', 'malformed', 'draining', 'memory'].map(
    reason => ['mcp_proxy_refused', reason] as const,
  ),
  ...['debug', 'info', 'warn', 'error'].map(level => ['mcp_proxy_log_lines', level] as const),
  ...['sampling/createMessage', 'elicitation/create', 'roots/list'].flatMap(method =>
    ['result', 'error', 'fault', 'withdrawn'].map(how => ['mcp_proxy_questions', method, how] as const),
  ),
  ...['sent', 'dropped'].map(result => ['mcp_proxy_spans', result] as const),
  ['mcp_proxy_audit_lines_dropped'],
]

/** Families with a limit on their series. */
const COUNTED = FAMILY_NAMES.filter(name => {
  const { kind, labels } = FAMILIES[name]
  return (kind === 'counter' || kind === 'histogram') && labels.length > 0
})

/** Faults that count as a lost or unreachable server. */
const LOSSES: readonly FaultCode[] = [
  ...(['unavailable', 'timeout', 'disconnected', 'unauthorized'] as const),
  ...(['too-large', 'overloaded', 'internal'] as const),
]

const REPAIRS: readonly RepairKind[] = ['item', 'result', 'error', 'output_schema', 'resend']

/** All counters of a proxy. Gauges are in `gauges.ts`. */
export class Metrics implements Meter {
  readonly #most: number
  readonly #clock: Clock
  readonly #counters = new Map<CounterName, Map<string, Series<Counter>>>()
  readonly #histograms = new Map<HistogramName, Map<string, Series<Histogram>>>()
  readonly #overflows = new Map<FamilyName, number>()
  readonly #leaving = new Map<string, Timer>()
  #servers: ReadonlySet<string> = new Set()
  #size = 0
  #histogramsSize = 0
  epoch = 0

  /** `series` is the maximum number of series. */
  constructor({ series, clock }: { readonly series: number; readonly clock: Clock }) {
    this.#most = series
    this.#clock = clock
    for (const [family, ...values] of CLOSED) this.counter(family, ...values)
  }

  /** Returns the number of series. */
  get size(): number {
    return this.#size
  }

  counter(family: CounterName, ...values: readonly string[]): Counter {
    const known = familyOf(this.#counters, family)
    const mayGrow = known.size < Math.max(16, this.#most / FAMILY_PART)
    return this.#series(family, known, values, { mayGrow, create: () => new Counter() })
  }

  histogram(family: HistogramName, ...values: readonly string[]): Histogram {
    const known = familyOf(this.#histograms, family)
    const mayGrow = this.#histogramsSize < this.#most / HISTOGRAM_PART
    const create = (): Histogram => {
      this.#histogramsSize += 1
      return new Histogram(FAMILIES[family].bounds ?? [])
    }
    return this.#series(family, known, values, { mayGrow, create })
  }

  /** Counts for these servers. The series of other servers expire. */
  serve(servers: readonly string[]): void {
    const before = this.#servers
    this.#servers = new Set(servers)
    for (const server of servers) {
      this.#leaving.get(server)?.cancel()
      this.#leaving.delete(server)
      if (before.has(server)) continue
      this.counter('mcp_proxy_server_starts', server, 'ok')
      this.counter('mcp_proxy_server_losses', server, 'disconnected')
      // With many servers, series start with their first event, which leaves room for tools.
      if (this.#size > this.#most / 3) continue
      for (const code of LOSSES) {
        this.counter('mcp_proxy_server_starts', server, code)
        this.counter('mcp_proxy_server_losses', server, code)
      }
      for (const direction of ['sent', 'received']) this.counter('mcp_proxy_bytes', server, direction)
      for (const kind of REPAIRS) this.counter('mcp_proxy_repairs', server, kind)
      this.counter('mcp_proxy_server_log_lines', server)
    }
    for (const server of before) {
      if (this.#servers.has(server) || this.#leaving.has(server)) continue
      this.#leaving.set(
        server,
        this.#clock.after(GONE_MS, () => this.#forget(server)),
      )
    }
  }

  samples(family: FamilyName): readonly Sample[] {
    const counters: ReadonlyMap<string, Map<string, Series<Counter>>> = this.#counters
    const histograms: ReadonlyMap<string, Map<string, Series<Histogram>>> = this.#histograms
    return [
      ...[...(counters.get(family)?.values() ?? [])].map(({ labels, series }) => ({
        labels,
        value: series.value,
      })),
      ...[...(histograms.get(family)?.values() ?? [])].map(({ labels, series }) => ({
        labels,
        value: series,
      })),
    ]
  }

  get overflows(): readonly Sample[] {
    return COUNTED.map(family => ({ labels: [family], value: this.#overflows.get(family) ?? 0 }))
  }

  close(): void {
    for (const timer of this.#leaving.values()) timer.cancel()
    this.#leaving.clear()
  }

  #series<T>(
    family: FamilyName,
    known: Map<string, Series<T>>,
    values: readonly string[],
    { mayGrow, create }: { readonly mayGrow: boolean; readonly create: () => T },
  ): T {
    const { labels } = FAMILIES[family]
    const shown = labels.map((label, at) => labelValue(values[at] ?? '', CHOSEN.has(label)))
    const found = known.get(keyOf(shown))
    if (found !== undefined) return found.series
    const isFull = !mayGrow || this.#size >= this.#most
    if (isFull) this.#overflows.set(family, (this.#overflows.get(family) ?? 0) + 1)
    const kept = isFull ? labels.map(() => OVERFLOW) : shown
    const key = keyOf(kept)
    const other = known.get(key)
    if (other !== undefined) return other.series
    const series = create()
    this.#size += 1
    known.set(key, { labels: kept, series })
    return series
  }

  #forget(server: string): void {
    this.#leaving.delete(server)
    const shown = labelValue(server)
    for (const [family, all] of [...this.#counters, ...this.#histograms]) {
      const at = FAMILIES[family].labels.indexOf('server')
      if (at < 0) continue
      for (const [key, { labels, series }] of all) {
        if (labels[at] !== shown) continue
        all.delete(key)
        this.#size -= 1
        if (series instanceof Histogram) this.#histogramsSize -= 1
      }
    }
    this.epoch += 1
  }
}

const familyOf = <N, T>(families: Map<N, Map<string, T>>, name: N): Map<string, T> => {
  let known = families.get(name)
  if (known === undefined) {
    known = new Map()
    families.set(name, known)
  }
  return known
}

const keyOf = (labels: readonly string[]): string => labels.join('\0')

/**
 * Returns a label value safe to publish: names of servers and tools may contain anything, including lone
 * surrogates. A changed value ends in a hash, which keeps series distinct. A value that a server chose is
 * always checked for secrets.
 */
export const labelValue = (text: string, isChosen = false): string => {
  if (!isChosen && PLAIN_LABEL.test(text)) return text
  const shown = wellFormed(sanitizeLine(text, LABEL_BYTES))
  if (shown === text) return text
  const hash = createHash('sha256')
    .update(Buffer.from(mask(text), 'utf16le'))
    .digest('hex')
  const start = wellFormed(sanitizeLine(text, LABEL_BYTES - HASH_CHARS - 1))
  return `${start}~${hash.slice(0, HASH_CHARS)}`
}

const wellFormed = (text: string): string => Buffer.from(text).toString()
