import type { CollectorConfig, ProxyConfig, TracingConfig } from '../../config/types.js'
import { Fault } from '../../kernel/faults.js'
import type { Attributes } from './span.js'

/** A collector, and the batches for it. */
export interface ExportSettings {
  readonly exporter: 'otlp' | 'console'
  /** The URL for posted data. */
  readonly url: string
  readonly protocol: TracingConfig['protocol']
  /** Secret. */
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly isZipped: boolean
  /** Paths of PEM files. */
  readonly tls: {
    readonly ca: string | undefined
    readonly key: string | undefined
    readonly cert: string | undefined
  }
  readonly resource: Attributes
  readonly queue: number
  readonly batch: number
  readonly delayMs: number
}

/** Sampling and export of spans, from the configuration or OpenTelemetry's environment variables. */
export interface TracingSettings extends ExportSettings {
  /** The sampled share of new traces. */
  readonly ratio: number
  /** True if the parent's sampling decision applies. False to sample a share of all requests. */
  readonly isParentBased: boolean
  /** True if trace context is read and sent. */
  readonly propagates: boolean
  readonly trustParents: boolean | undefined
  readonly perSecond: number
  readonly keepsErrors: boolean
  /** Calls that take longer are recorded even if not sampled. `Infinity` for none. */
  readonly keepsSlowMs: number
  readonly hasContent: boolean
  /** Baggage keys that may pass in headers. */
  readonly baggage: ReadonlySet<string>
}

type Environment = Readonly<Record<string, string | undefined>>

const SERVICE = 'mcp-proxy'
const TRACES = '/v1/traces'
const FIXED = { queue: 2048, batch: 512, delayMs: 5000, timeoutMs: 10_000 } as const
/** Limits the memory that environment variables can configure. */
const QUEUE_MOST = 8192
const LONGEST_MS = 600_000
const CAPTURE = 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'
const GRPC = 'OTLP over gRPC is not supported; use "http/protobuf" or "http/json", usually on port 4318'

/**
 * Returns undefined if tracing is disabled. `warn` receives unsupported settings. Throws a Fault
 * `invalid-params`.
 */
export const resolveTracing = (
  { tracing, slowMs }: Pick<ProxyConfig, 'tracing' | 'slowMs'>,
  env: Environment,
  warn: (message: string) => void,
): TracingSettings | undefined => {
  if (tracing === undefined) return undefined
  return tracing === 'env' ? fromEnvironment(new Variables(env, warn)) : fromConfig(tracing, slowMs, env)
}

/** Returns the settings for a configured collector, which receives data at `path`. */
export const exportSettingsOf = (config: CollectorConfig, path: string): ExportSettings => ({
  exporter: 'otlp',
  url: underBase(config.endpoint, path),
  protocol: config.protocol,
  headers: config.headers,
  isZipped: true,
  tls: { ca: undefined, key: undefined, cert: undefined },
  resource: { 'service.name': SERVICE },
  ...FIXED,
})

const fromConfig = (config: TracingConfig, slowMs: number, env: Environment): TracingSettings => ({
  ...exportSettingsOf(config, TRACES),
  ratio: config.ratio,
  isParentBased: true,
  propagates: true,
  trustParents: config.trustParents,
  perSecond: config.perSecond,
  keepsErrors: config.keep.includes('errors'),
  keepsSlowMs: config.keep.includes('slow') ? slowMs : Number.POSITIVE_INFINITY,
  hasContent: config.content && env[CAPTURE]?.toLowerCase() === 'true',
  baggage: new Set(config.baggage),
})

/** Reads OpenTelemetry's environment variables. Variables for traces override the general ones. */
const fromEnvironment = (variables: Variables): TracingSettings | undefined => {
  if (variables.text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return undefined
  const exporter = exporterIn(variables)
  if (exporter === undefined) return undefined
  const protocol = variables.ofExporter('PROTOCOL') ?? 'http/protobuf'
  if (protocol === 'grpc') throw new Fault('invalid-params', GRPC)
  if (protocol !== 'http/protobuf' && protocol !== 'http/json')
    throw new Fault('invalid-params', 'OTEL_EXPORTER_OTLP_PROTOCOL must be "http/protobuf" or "http/json"')
  const own = variables.text('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')
  const base = variables.text('OTEL_EXPORTER_OTLP_ENDPOINT') ?? 'http://localhost:4318'
  return {
    ...{ exporter, protocol, url: own ?? underBase(base, TRACES) },
    headers: pairsIn(variables.ofExporter('HEADERS')),
    timeoutMs: variables.ms('OTEL_BSP_EXPORT_TIMEOUT', variables.msOfExporter('TIMEOUT', FIXED.timeoutMs)),
    isZipped: (variables.ofExporter('COMPRESSION') ?? 'gzip') === 'gzip',
    tls: {
      ca: variables.ofExporter('CERTIFICATE'),
      key: variables.ofExporter('CLIENT_KEY'),
      cert: variables.ofExporter('CLIENT_CERTIFICATE'),
    },
    resource: resourceIn(variables),
    ...samplerIn(variables),
    propagates: propagatorsIn(variables).has('tracecontext'),
    ...{ trustParents: undefined, perSecond: 100, keepsErrors: false, hasContent: false },
    ...{ keepsSlowMs: Number.POSITIVE_INFINITY, baggage: new Set<string>() },
    queue: variables.whole('OTEL_BSP_MAX_QUEUE_SIZE', FIXED.queue, QUEUE_MOST),
    batch: variables.whole('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', FIXED.batch, FIXED.queue),
    delayMs: variables.ms('OTEL_BSP_SCHEDULE_DELAY', FIXED.delayMs),
  }
}

const exporterIn = (variables: Variables): TracingSettings['exporter'] | undefined => {
  const named = variables.list('OTEL_TRACES_EXPORTER')
  if (named.length === 0 || named.includes('otlp')) return 'otlp'
  if (named.includes('console')) return 'console'
  if (!named.includes('none')) variables.warn('OTEL_TRACES_EXPORTER must be otlp, console or none')
  return undefined
}

const resourceIn = (variables: Variables): Attributes => {
  const given = pairsIn(variables.text('OTEL_RESOURCE_ATTRIBUTES'))
  const service = variables.text('OTEL_SERVICE_NAME')
  return { 'service.name': SERVICE, ...given, ...(service !== undefined && { 'service.name': service }) }
}

const samplerIn = (variables: Variables): Pick<TracingSettings, 'ratio' | 'isParentBased'> => {
  const name = variables.text('OTEL_TRACES_SAMPLER') ?? 'parentbased_always_on'
  const isParentBased = name.startsWith('parentbased_')
  switch (name.replace(/^parentbased_/, '')) {
    case 'always_on':
      return { isParentBased, ratio: 1 }
    case 'always_off':
      return { isParentBased, ratio: 0 }
    case 'traceidratio':
      return { isParentBased, ratio: variables.ratio('OTEL_TRACES_SAMPLER_ARG') }
    default:
      variables.warn('OTEL_TRACES_SAMPLER is unknown; using parentbased_always_on')
      return { isParentBased: true, ratio: 1 }
  }
}

const PROPAGATORS = new Set(['tracecontext', 'baggage', 'none'])

const propagatorsIn = (variables: Variables): ReadonlySet<string> => {
  const named = variables.list('OTEL_PROPAGATORS')
  if (named.some(name => !PROPAGATORS.has(name)))
    variables.warn('OTEL_PROPAGATORS: only tracecontext, baggage and none are supported')
  return new Set(named.length === 0 ? PROPAGATORS : named)
}

/** Throws a Fault `invalid-params`. */
const underBase = (base: string, path: string): string => {
  if (!URL.canParse(base)) throw new Fault('invalid-params', 'the endpoint for traces is not a URL')
  const url = new URL(base)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${path}`
  return url.href
}

const PAIRS_MOST = 64

/** Parses percent-encoded `key=value` pairs between commas. */
const pairsIn = (text: string | undefined): Readonly<Record<string, string>> =>
  Object.fromEntries(
    (text ?? '')
      .split(',', PAIRS_MOST)
      .map(pair => /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair))
      .flatMap(found => (found === null ? [] : [[decoded(found[1] ?? ''), decoded(found[2] ?? '')]])),
  )

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Environment variables, of which empty ones count as unset. */
class Variables {
  readonly #env: Environment
  readonly warn: (message: string) => void

  constructor(env: Environment, warn: (message: string) => void) {
    this.#env = env
    this.warn = warn
  }

  text(name: string): string | undefined {
    const value = this.#env[name]?.trim()
    return value === '' ? undefined : value
  }

  list(name: string): readonly string[] {
    return (this.text(name) ?? '').split(',').flatMap(part => part.trim() || [])
  }

  ofExporter(name: string): string | undefined {
    return this.text(`OTEL_EXPORTER_OTLP_TRACES_${name}`) ?? this.text(`OTEL_EXPORTER_OTLP_${name}`)
  }

  msOfExporter(name: string, fallback: number): number {
    const traces = `OTEL_EXPORTER_OTLP_TRACES_${name}`
    return this.ms(this.text(traces) === undefined ? `OTEL_EXPORTER_OTLP_${name}` : traces, fallback)
  }

  ms(name: string, fallback: number): number {
    return this.whole(name, fallback, LONGEST_MS)
  }

  whole(name: string, fallback: number, most: number): number {
    const text = this.text(name)
    if (text === undefined) return fallback
    const value = Number(text)
    if (Number.isInteger(value) && value > 0) return Math.min(value, most)
    this.warn(`${name} must be a positive integer`)
    return fallback
  }

  ratio(name: string): number {
    const value = Number(this.text(name) ?? 1)
    if (value >= 0 && value <= 1) return value
    this.warn(`${name} must be a number from 0 to 1`)
    return 1
  }
}
