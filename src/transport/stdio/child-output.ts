import type { Logger } from '../../kernel/logger.js'
import { said } from '../../kernel/mask.js'
import type { ChannelListener } from '../../wire/channel.js'
import { type LineOptions, LineSplitter } from '../../wire/framing/ndjson.js'

const NOISE_READ_BYTES = 4096
const NOISE_SHOWN_BYTES = 256

/** A JSON-RPC message or batch begins with a bracket; what package runners and banners print rarely does. */
function mayBeMessage(line: Buffer): boolean {
  // Some programs write a byte order mark in front of each line.
  const isMarked = line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf
  let at = isMarked ? 3 : 0
  while (line[at] === 0x20 || line[at] === 0x09) at += 1
  return line[at] === 0x7b || line[at] === 0x5b
}

/** Finds the messages in what a child writes to stdout; other lines are counted, and the first is logged. */
export class ChildOutput {
  readonly #lines: LineSplitter
  readonly #log: Logger
  #noiseLines = 0

  constructor(log: Logger, options: LineOptions) {
    this.#lines = new LineSplitter(options)
    this.#log = log
  }

  push(chunk: Buffer, listener: ChannelListener): void {
    this.#lines.push(
      chunk,
      line => this.#onLine(line, listener),
      (bytes, ends) => listener.skipped(bytes, ends),
    )
  }

  /** No more will come: what stands there without a line end is taken for a line. */
  end(listener: ChannelListener | undefined): void {
    if (listener !== undefined) {
      this.#lines.end(
        line => this.#onLine(line, listener),
        (bytes, ends) => listener.skipped(bytes, ends),
      )
    }
    this.#lines.drop()
    if (this.#noiseLines > 0) this.#log.debug({ lines: this.#noiseLines }, 'lines of stdout were skipped')
  }

  #onLine(line: Buffer, listener: ChannelListener): void {
    if (mayBeMessage(line)) {
      listener.message(line)
      return
    }
    this.#noiseLines += 1
    if (this.#noiseLines > 1) return
    const shown = said(line.subarray(0, NOISE_READ_BYTES).toString(), NOISE_SHOWN_BYTES)
    this.#log.warn({ line: shown }, 'server writes to stdout what is no message; such lines are skipped')
  }
}
