import { readFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest, type RequestOptions } from 'node:https'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { backoffMs } from '../../kernel/async/backoff.js'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import { encodeJson, encodeProtobuf } from './otlp.js'
import { rejectedIn } from './partial-success.js'
import type { ExportSettings } from './settings.js'
import type { Resource, Span } from './span.js'

const compress = promisify(gzip)

/** Retryable HTTP statuses (OTLP, "Retryable Response Codes"). */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504])
const TRIES = 5
const BACKOFF = { firstMs: 1000, maxMs: 30_000 }
const RETRY_AFTER_MOST_MS = 60_000
/** Time limit at shutdown, which must take less than two seconds with any collector. */
const END_MS = 1500
/** Maximum bytes read of an answer. */
const ANSWER_BYTES = 64 * 1024

export interface ExporterOptions {
  readonly settings: ExportSettings
  readonly resource: Resource
  readonly clock: Clock
  readonly log: Logger
  /** Counts sent and dropped items. */
  readonly count: (result: 'sent' | 'dropped', items: number) => void
}

/** A kind of telemetry data of OTLP. */
export interface Signal<T> {
  /** The plural, for messages. */
  readonly name: string
  /** Places of the queue for items that must not be lost, in addition to `settings.queue`. */
  readonly reserve: number
  readonly encode: Readonly<
    Record<ExportSettings['protocol'], (items: readonly T[], resource: Resource) => Buffer>
  >
}

const SPANS: Signal<Span> = {
  name: 'spans',
  reserve: 0,
  encode: { 'http/json': encodeJson, 'http/protobuf': encodeProtobuf },
}

/** The result of an attempt. `afterMs` is undefined if it must not be repeated. */
type End =
  | { readonly is: 'taken'; readonly rejected: number }
  | { readonly is: 'refused'; readonly why: string; readonly isFinal: boolean; readonly afterMs?: number }

/** Sends data over OTLP. Drops and counts items that the collector does not accept in time. */
export class OtlpSender<T> {
  readonly #options: ExporterOptions
  readonly #signal: Signal<T>
  readonly #tls: Pick<RequestOptions, 'ca' | 'key' | 'cert'>
  readonly #end = new AbortController()
  #isEnding = false
  #queue: T[] = []
  #timer: Timer | undefined
  #sending: Promise<void> | undefined
  #wake: (() => void) | undefined
  #isWarned = false

  /** Throws a Fault `invalid-params` if a certificate cannot be read. */
  constructor(options: ExporterOptions, signal: Signal<T>) {
    this.#options = options
    this.#signal = signal
    this.#tls = readTls(options.settings.tls)
  }

  /** `isKept` uses the reserve of a full queue. */
  add(item: T, isKept = false): void {
    const { settings, clock, count } = this.#options
    const places = settings.queue + (isKept ? this.#signal.reserve : 0)
    if (this.#queue.length >= places || this.#end.signal.aborted) {
      count('dropped', 1)
      return
    }
    this.#queue.push(item)
    if (this.#queue.length >= settings.batch) this.#flush()
    else this.#timer ??= clock.after(settings.delayMs, () => this.#flush())
  }

  /** Sends the remaining items in one short attempt. Never rejects. */
  async close(): Promise<void> {
    const { clock, count } = this.#options
    const limit = clock.after(END_MS, () => this.#end.abort())
    this.#isEnding = true
    this.#wake?.()
    this.#flush()
    await this.#sending
    limit.cancel()
    this.#end.abort()
    if (this.#queue.length > 0) count('dropped', this.#queue.length)
    this.#queue = []
  }

  #flush(): void {
    this.#timer?.cancel()
    this.#timer = undefined
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined
    })
  }

  async #sendAll(): Promise<void> {
    const { settings, count } = this.#options
    while (this.#queue.length > 0 && !this.#end.signal.aborted) {
      const batch = this.#queue.splice(0, settings.batch)
      const rejected = await this.#send(batch).catch((thrown: unknown) => this.#failed(thrown, batch.length))
      const dropped = Math.min(rejected, batch.length)
      if (dropped > 0) count('dropped', dropped)
      if (dropped < batch.length) count('sent', batch.length - dropped)
    }
  }

  /** Resolves with the number of rejected items. */
  async #send(batch: readonly T[]): Promise<number> {
    const { settings, resource, log } = this.#options
    if (settings.exporter === 'console') {
      for (const span of batch) log.info({ span }, 'span')
      return 0
    }
    const { name, encode } = this.#signal
    const text = encode[settings.protocol](batch, resource)
    const body = settings.isZipped ? await compress(text) : text
    for (let tries = 0; ; tries += 1) {
      const end = await this.#post(body)
      if (end.is === 'taken') {
        if (end.rejected > 0) this.#warn(`the collector rejected some ${name}`)
        else this.#isWarned = false
        return end.rejected
      }
      if (end.isFinal || tries + 1 >= TRIES || this.#isEnding) return this.#failed(end.why, batch.length)
      log.debug({ why: end.why }, `${name} will be sent again`)
      await this.#wait(Math.max(end.afterMs ?? 0, backoffMs(tries, BACKOFF)))
    }
  }

  #failed(why: unknown, items: number): number {
    this.#warn(why instanceof Error ? why.message : String(why))
    return items
  }

  /** Warns once until a request succeeds. */
  #warn(why: string): void {
    if (!this.#isWarned)
      this.#options.log.warn({ why: sanitizeLine(why) }, `cannot send ${this.#signal.name}`)
    this.#isWarned = true
  }

  /** Resolves after the delay, or when the proxy ends. */
  #wait(ms: number): Promise<void> {
    return new Promise(resolve => {
      const timer = this.#options.clock.after(ms, resolve)
      this.#wake = () => {
        timer.cancel()
        resolve()
      }
      if (this.#isEnding) this.#wake()
    })
  }

  /** Makes one attempt. Never rejects. */
  #post(body: Buffer): Promise<End> {
    const { settings, clock } = this.#options
    const isJson = settings.protocol === 'http/json'
    const url = new URL(settings.url)
    const headers = {
      ...settings.headers,
      'content-type': isJson ? 'application/json' : 'application/x-protobuf',
      'content-length': body.length,
      ...(settings.isZipped && { 'content-encoding': 'gzip' }),
    }
    return new Promise(resolve => {
      const send = url.protocol === 'https:' ? httpsRequest : httpRequest
      // A kept-alive connection may close just as it is reused.
      const options = { method: 'POST', headers, ...this.#tls, agent: false, signal: this.#end.signal }
      const request = send(url, options)
      /** The rest of an incomplete answer is not read: its connection is not reused. */
      const over = (end: End, isWhole = false): void => {
        limit.cancel()
        resolve(end)
        if (!isWhole) request.destroy()
      }
      const lost = (why: string): void => over({ is: 'refused', why, isFinal: false })
      const limit = clock.after(settings.timeoutMs, () => lost('the collector does not answer'))
      request.on('error', thrown => lost(thrown.message))
      request.on('response', answer => {
        const { statusCode = 0, headers: said } = answer
        if (statusCode < 200 || statusCode > 299) {
          const afterMs = retryAfterMs(said['retry-after'])
          const why = `the collector answered ${statusCode}`
          over({ is: 'refused', why, isFinal: !RETRYABLE.has(statusCode), afterMs })
          return
        }
        const pieces: Buffer[] = []
        let bytes = 0
        answer.on('data', (piece: Buffer) => {
          bytes += piece.length
          pieces.push(piece)
          if (bytes > ANSWER_BYTES) over({ is: 'taken', rejected: 0 })
        })
        answer.on('end', () =>
          over({ is: 'taken', rejected: rejectedIn(Buffer.concat(pieces), isJson) }, true),
        )
        answer.on('error', () => over({ is: 'taken', rejected: 0 }))
      })
      request.end(body)
    })
  }
}

/** Sends spans. */
export class Exporter extends OtlpSender<Span> {
  constructor(options: ExporterOptions) {
    super(options, SPANS)
  }
}

const retryAfterMs = (text: string | undefined): number => {
  if (text === undefined) return 0
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Math.min(Math.max(ms, 0) || 0, RETRY_AFTER_MOST_MS)
}

const readTls = ({ ca, key, cert }: ExportSettings['tls']): Pick<RequestOptions, 'ca' | 'key' | 'cert'> => {
  const read = (path: string): Buffer => {
    try {
      return readFileSync(path)
    } catch (thrown) {
      throw new Fault('invalid-params', 'a certificate for traces cannot be read', { cause: thrown })
    }
  }
  return {
    ...(ca !== undefined && { ca: read(ca) }),
    ...(key !== undefined && { key: read(key) }),
    ...(cert !== undefined && { cert: read(cert) }),
  }
}
