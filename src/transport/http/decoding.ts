import { Duplex, pipeline, Readable } from 'node:stream'
import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'
import { Fault } from '../../kernel/faults.js'
import { nothing } from '../../kernel/nothing.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import type { BodyReader } from '../../wire/http.js'

/** The content codings that `Decoder` reads, as the value of `Accept-Encoding` (RFC 9110 §12.5.3). */
export const ACCEPT_ENCODING = 'gzip, deflate, br'

/** Maximum codings of one response. */
const CODINGS_MAX = 4
/** Maximum output of an inner coding beyond that of the outer one, which is larger for any real response. */
const EXCESS_BYTES = 16 * 1024 * 1024
const CODING_CHARS = 64

// Each stage passes on everything it has after each chunk, because the next event may be hours away.
const FLUSHED = { flush: constants.Z_SYNC_FLUSH }

/** Decodes `deflate`: the zlib format (RFC 9110 §8.4.1.2), or raw deflate, which some servers send. */
async function* inflated(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const chunks = source[Symbol.asyncIterator]()
  let head = Buffer.alloc(0)
  for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
    head = Buffer.concat([head, next.value])
    if (head.length >= 2) break
  }
  const whole = async function* (): AsyncGenerator<Buffer> {
    yield head
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value
  }
  const isZlib = (head[0] ?? 0) % 16 === 8 && head.length > 1 && head.readUInt16BE() % 31 === 0
  const stage = isZlib ? createInflate(FLUSHED) : createInflateRaw(FLUSHED)
  // The iteration below reports errors.
  yield* pipeline(Readable.from(whole()), stage, nothing)
}

const gunzip = (): Duplex => createGunzip(FLUSHED)

const STAGES: ReadonlyMap<string, () => Duplex> = new Map([
  ['gzip', gunzip],
  ['x-gzip', gunzip],
  ['deflate', () => Duplex.from(inflated)],
  ['br', () => createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH })],
])

/** Returns the codings of a response in the order of decoding, or a Fault that names an unknown one. */
const codingsIn = (header: string, origin: string): readonly string[] | Fault => {
  const codings = header
    .split(',')
    .map(coding => coding.trim().toLowerCase())
    .filter(coding => coding !== '' && coding !== 'identity')
    .reverse()
  const unknown = codings.find(coding => !STAGES.has(coding))
  if (unknown === undefined && codings.length <= CODINGS_MAX) return codings
  const what =
    unknown === undefined
      ? `with more than ${CODINGS_MAX} content codings`
      : `in the content coding "${sanitizeLine(unknown, CODING_CHARS)}", which the proxy did not accept`
  return new Fault(
    'unavailable',
    `${origin} sent a response ${what}: configure its compression for one of ${ACCEPT_ENCODING}`,
  )
}

/** The receiver of a decoded body. */
export interface DecoderOptions extends BodyReader {
  readonly origin: string
  /** The decoder accepts input again, after `write` returned false. */
  drained(): void
}

/** Returns the decoder for `Content-Encoding`; undefined without one, or a Fault for an unknown coding. */
export const createDecoder = (
  header: string | readonly string[],
  options: DecoderOptions,
): Decoder | Fault | undefined => {
  const codings = codingsIn(String(header), options.origin)
  if (codings instanceof Fault) return codings
  return codings.length === 0 ? undefined : new Decoder(codings, options)
}

/**
 * Decodes a body as it arrives. Buffers a few chunks per coding: it stops decoding while it is paused, and
 * `write` then returns false.
 */
export class Decoder {
  readonly #options: DecoderOptions
  readonly #codings: readonly string[]
  readonly #stages: readonly Duplex[]
  readonly #input: Duplex | undefined
  readonly #output: Duplex | undefined
  #hasInput = false
  #outputBytes = 0
  #innerBytes = 0
  /** The reason for the end of the input. */
  #fault: Fault | undefined
  #isOver = false

  constructor(codings: readonly string[], options: DecoderOptions) {
    this.#options = options
    this.#codings = codings
    this.#stages = codings.flatMap(coding => STAGES.get(coding)?.() ?? [])
    this.#input = this.#stages[0]
    this.#output = this.#stages.at(-1)
    this.#connect()
  }

  /** Returns false if the decoder is behind. */
  write(chunk: Buffer): boolean {
    this.#hasInput = true
    return this.#isOver || this.#input?.write(chunk) === true
  }

  /** Ends the input, with a Fault if it is incomplete. The decoded part is delivered first. */
  end(fault: Fault | undefined): void {
    this.#fault = fault
    // An empty body has no coding, whatever its headers say.
    if (this.#hasInput) this.#input?.end()
    else this.#end(fault)
  }

  pause(): void {
    this.#output?.pause()
  }

  resume(): void {
    this.#output?.resume()
  }

  /** Stops decoding without further events. */
  destroy(): void {
    this.#isOver = true
    for (const stage of this.#stages) stage.destroy()
  }

  #connect(): void {
    for (const [index, stage] of this.#stages.entries()) {
      stage.on('error', () => this.#end(this.#fault ?? this.#damaged()))
      const next = this.#stages[index + 1]
      if (next === undefined) continue
      stage.on('data', (chunk: Buffer) => this.#countInner(chunk.length))
      stage.pipe(next)
    }
    this.#input?.on('drain', () => this.#options.drained())
    this.#output?.on('end', () => this.#end(this.#fault))
    this.#output?.on('data', (chunk: Buffer) => {
      if (this.#isOver) return
      this.#outputBytes += chunk.length
      this.#options.data(chunk)
    })
  }

  #countInner(bytes: number): void {
    this.#innerBytes += bytes
    if (this.#innerBytes > this.#outputBytes * this.#stages.length + EXCESS_BYTES) this.#end(this.#damaged())
  }

  #damaged(): Fault {
    const { origin } = this.#options
    const codings = [...this.#codings].reverse().join(', ')
    return new Fault(
      'disconnected',
      `the compressed response of ${origin} (${codings}) is cut off or damaged`,
    )
  }

  #end(fault: Fault | undefined): void {
    if (this.#isOver) return
    this.destroy()
    this.#options.ended(fault)
  }
}
