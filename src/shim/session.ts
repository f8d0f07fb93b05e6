import type { Duplex, Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { randomId } from '../kernel/ids.js'
import { at, type JsonText, memberOf, stringOf } from '../kernel/json/text.js'
import { LineSplitter } from '../wire/framing/ndjson.js'
import { idKey, type Message } from '../wire/jsonrpc.js'
import { salvageId } from '../wire/salvage-id.js'
import type { DaemonConnection } from './connector.js'
import { ENDED_METHOD } from './hello.js'
import { InFlight } from './in-flight.js'
import { changesFor, InitializeReplay } from './initialize-replay.js'
import { isRefusal, lostError, messagesOf, messagesOfDaemon, textIn, withdrawal, withId } from './messages.js'

export interface ShimSessionOptions {
  readonly input: Readable
  readonly output: Writable
  /** `Connector.connect`. */
  readonly connect: (limitMs: number) => Promise<DaemonConnection>
  readonly tell: (message: string) => void
  /** Overrides of the default limits. */
  readonly limits?: Partial<Limits>
}

interface Limits {
  /** Longer lines are answered with an error; the daemon's own limit is far lower. */
  readonly lineBytes: number
  /** Maximum wait of requests for a new daemon. */
  readonly maxWaitMs: number
  /** Interval of reconnection attempts after that. */
  readonly retryMs: number
}

const LIMITS: Limits = { lineBytes: 256 * 1024 * 1024, maxWaitMs: 15_000, retryMs: 5000 }
/** First delay before reconnecting to a daemon that did not stay; doubles each time. */
const FIRST_WAIT_MS = 250
/** Above this backlog of one side, the other side is not read. */
const QUEUE_BYTES = 1024 * 1024
/** Maximum time of a daemon's answer to `initialize`. */
const INITIALIZED_MS = 15_000
/** Maximum time of requests in flight after the client closed stdin. */
const LEAVING_MS = 2000
/** Maximum number of remembered questions of servers. */
const QUESTIONS = 1000

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'

const LF = Buffer.from('\n')
const JOINED_BYTES = 64 * 1024

/**
 * Passes lines between the client on `input` and `output` and a daemon, and reconnects to another daemon when
 * that is lost. Parses only methods, ids and URIs, and forwards the original bytes.
 */
export class ShimSession {
  readonly #options: ShimSessionOptions
  readonly #limits: Limits
  readonly #lines: LineSplitter
  readonly #inFlight = new InFlight()
  readonly #replay = new InitializeReplay()
  /** Unanswered questions of servers, by key. */
  readonly #questions = new Map<string, JsonText>()
  /** Requests of the shim itself, whose answers the client must not see. */
  readonly #own = new Map<string, (message: Message | undefined) => void>()
  /** Lines received while there is no daemon. */
  #waiting: Buffer[] = []
  #stream: Duplex | undefined
  /** See `Welcome.refusal`. */
  #refusal: string | undefined
  #is: 'served' | 'waiting' | 'away' | 'changed' = 'waiting'
  #hasEnded = false
  #onGone: (() => void) | undefined

  constructor(options: ShimSessionOptions) {
    this.#options = options
    this.#limits = { ...LIMITS, ...options.limits }
    this.#lines = this.#newLines()
  }

  /** Serves the client over this and later connections; resolves once the client has left. */
  async serve(connection: DaemonConnection): Promise<void> {
    const { input, output } = this.#options
    const gone = new Promise<void>(resolve => {
      this.#onGone = resolve
    })
    this.#attach(connection)
    this.#is = 'served'
    output.on('drain', () => this.#stream?.resume())
    input.on('data', (chunk: Buffer) => this.#lines.push(chunk, this.#fromClient, this.#skipped))
    input.once('end', () => this.#leave())
    input.once('error', () => this.#leave())
    await gone
  }

  /** Drops the connection at once. */
  destroy(): void {
    this.#hasEnded = true
    this.#stream?.destroy()
  }

  // ── from the client ──

  readonly #fromClient = (line: Buffer): void => {
    if (this.#is === 'waiting') {
      this.#waiting.push(line)
      return
    }
    const messages = messagesOf(line)
    const passed = messages.filter(message =>
      this.#isForDaemon(message, messages.length === 1 ? line : undefined),
    )
    if (this.#is === 'served' && (passed.length > 0 || messages.length === 0)) this.#send(line)
  }

  /** Records a message of the client, and returns whether to forward it; `line` is undefined in a batch. */
  #isForDaemon(message: Message, line: Buffer | undefined): boolean {
    switch (message.kind) {
      case 'request':
        if (this.#is !== 'served') {
          this.#refuse(message.id)
          return false
        }
        this.#inFlight.add(message, line)
        break
      case 'notification': {
        // A cancelled request gets no answer.
        const id = message.params && memberOf(message.params, 'requestId')
        if (message.method === 'notifications/cancelled' && id !== undefined) this.#inFlight.take(id)
        break
      }
      case 'result':
      case 'error':
        // The question may come from an earlier daemon.
        return message.id === undefined || this.#questions.delete(idKey(message.id))
    }
    if (line !== undefined) this.#replay.recordMessage(message, line)
    return true
  }

  readonly #skipped = (bytes: number, ends: Buffer): void => {
    const { id } = salvageId(ends)
    if (id !== undefined)
      this.#answer(lostError(id, `The message of ${bytes} bytes is too long`, { reason: 'too-large' }))
  }

  /** Half-closes the connection, and waits a moment for answers. */
  #leave(): void {
    this.#lines.end(this.#fromClient, this.#skipped)
    this.#hasEnded = true
    this.#stream?.end()
    if (this.#is !== 'served') this.#onGone?.()
    setTimeout(() => this.#onGone?.(), LEAVING_MS).unref()
  }

  // ── from the daemon ──

  #attach({ stream, welcome }: DaemonConnection): void {
    const lines = this.#newLines()
    this.#stream = stream
    this.#refusal = welcome.refusal
    stream.on('data', (chunk: Buffer) => lines.push(chunk, this.#fromDaemon, () => stream.destroy()))
    stream.on('drain', () => this.#listen())
    stream.once('end', () => stream.end())
    stream.once('close', () => {
      if (this.#stream === stream) this.#lost()
    })
    stream.resume()
  }

  readonly #fromDaemon = (line: Buffer): void => {
    const messages = messagesOfDaemon(line)
    const passed = messages.filter(message => this.#isForClient(message))
    if (passed.length > 0 || messages.length === 0) this.#answer(line)
  }

  /** Updates the requests in flight by a daemon message, and returns whether to forward it. */
  #isForClient(message: Message): boolean {
    switch (message.kind) {
      case 'request':
        if (this.#questions.size < QUESTIONS) this.#questions.set(idKey(message.id), message.id)
        return true
      case 'notification': {
        if (message.method === ENDED_METHOD && textIn(message.params, 'refusal') === this.#refusal) {
          this.#inFlight.refusedAll()
          // Later messages of the client are for the next daemon.
          this.#leaveDaemon()
          return false
        }
        const id = message.params && memberOf(message.params, 'requestId')
        if (message.method === 'notifications/cancelled' && id !== undefined)
          this.#questions.delete(idKey(id))
        return this.#isNews(message)
      }
      case 'result':
      case 'error':
        return message.id === undefined || this.#isAnswer(message, message.id)
    }
  }

  /** Hides the acknowledgement of a renewed subscription; the client gets list changes instead. */
  #isNews({ method, params }: Message & { kind: 'notification' }): boolean {
    if (method !== ACKNOWLEDGED || params === undefined) return true
    const id = at(params, '_meta', 'io.modelcontextprotocol/subscriptionId')
    if (id === undefined || this.#inFlight.acknowledged(id)) return true
    for (const change of changesFor(params)) this.#answer(change)
    return false
  }

  #isAnswer(message: Message & { kind: 'result' | 'error' }, id: JsonText): boolean {
    const own = stringOf(id)
    const settle = own === undefined ? undefined : this.#own.get(own)
    if (own !== undefined && settle !== undefined) {
      this.#own.delete(own)
      settle(message)
      return false
    }
    if (message.kind === 'error' && isRefusal(message.error, this.#refusal) && this.#inFlight.refused(id))
      return false
    if (message.kind === 'result') this.#replay.recordResult(id, message.result)
    return this.#inFlight.take(id)
  }

  // ── a daemon that is gone ──

  #leaveDaemon(): void {
    const stream = this.#stream
    this.#lost()
    stream?.destroy()
  }

  #lost(): void {
    this.#stream = undefined
    for (const settle of this.#own.values()) settle(undefined)
    this.#own.clear()
    if (this.#hasEnded) {
      this.#onGone?.()
      return
    }
    for (const id of this.#questions.values()) this.#answer(withdrawal(id))
    this.#questions.clear()
    const data = { reason: 'proxy_restarted', mayHaveRun: true, retryAfterMs: 1000 }
    for (const id of this.#inFlight.drop('lost'))
      this.#answer(lostError(id, 'The proxy was restarted while the request was in progress', data))
    if (this.#is !== 'served') return
    this.#pause()
    void this.#return()
  }

  #pause(): void {
    this.#is = 'waiting'
    this.#options.input.pause()
  }

  /** Connects to another daemon, with unlimited retries, and replays the state of the client. */
  async #return(): Promise<void> {
    const { maxWaitMs, retryMs } = this.#limits
    const endMs = performance.now() + maxWaitMs
    let why = 'the daemon has ended'
    let isTold = false
    const giveUp = (): void => {
      if (!isTold) this.#options.tell(`D041: ${why}; trying again every ${retryMs / 1000} s`)
      isTold = true
      this.#giveUp()
    }
    // Requests fail at the deadline even if an attempt takes longer.
    const deadline = setTimeout(() => this.#stream ?? giveUp(), maxWaitMs)
    for (let waitMs = FIRST_WAIT_MS; !this.#hasEnded; waitMs *= 2) {
      try {
        const connection = await this.#options.connect(Math.max(endMs - performance.now(), retryMs))
        if (this.#is !== 'waiting') this.#pause()
        this.#attach(connection)
        if (await this.#replayState()) break
      } catch (thrown) {
        why = thrown instanceof Error ? thrown.message : String(thrown)
      }
      const leftMs = endMs - performance.now()
      if (leftMs <= 0) giveUp()
      await delay(leftMs <= 0 ? retryMs : Math.min(waitMs, leftMs))
    }
    clearTimeout(deadline)
  }

  /** Answers requests with an error until there is a daemon. */
  #giveUp(): void {
    if (this.#is === 'away') return
    this.#is = 'away'
    for (const id of this.#inFlight.drop('all')) this.#refuse(id)
    this.#takeWaiting()
    this.#options.input.resume()
  }

  /** Replays the client's state to a new daemon; returns false if that is lost meanwhile. */
  async #replayState(): Promise<boolean> {
    const { initialize, confirmed, settings, changes } = this.#replay
    if (initialize !== undefined) {
      const limit = setTimeout(() => this.#stream?.destroy(), INITIALIZED_MS)
      const answer = await this.#ask(initialize)
      clearTimeout(limit)
      if (answer?.kind !== 'result') {
        this.#stream?.destroy()
        return false
      }
      if (!this.#replay.hasSameRevision(answer.result)) {
        this.#changed()
        return true
      }
      if (confirmed !== undefined) this.#send(confirmed)
      for (const setting of settings) void this.#ask(setting)
    }
    this.#is = 'served'
    for (const line of this.#inFlight.repeatable) this.#send(line)
    for (const change of changes) this.#answer(change)
    this.#takeWaiting()
    this.#listen()
    return true
  }

  /** The new daemon does not support the revision of the session. */
  #changed(): void {
    this.#is = 'changed'
    this.#stream?.destroy()
    for (const id of this.#inFlight.drop('all')) this.#refuse(id)
    this.#takeWaiting()
    this.#options.input.resume()
  }

  #refuse(id: JsonText): void {
    const isChanged = this.#is === 'changed'
    const message = isChanged
      ? 'The proxy now uses another revision of MCP: restart the client'
      : 'The proxy is not running and could not be started: run mcp-proxy daemon status'
    const data = isChanged ? { reason: 'revision_changed' } : { reason: 'proxy_lost', doctor: 'D041' }
    this.#answer(lostError(id, message, data))
  }

  #takeWaiting(): void {
    for (const line of this.#waiting.splice(0)) this.#fromClient(line)
  }

  #newLines(): LineSplitter {
    return new LineSplitter({ maxBytes: this.#limits.lineBytes })
  }

  // ── writing ──

  /** Repeats a request of the client for the shim itself; resolves with undefined if the daemon is lost. */
  #ask(line: Buffer): Promise<Message | undefined> {
    const id = `mcp-proxy ${randomId()}`
    return new Promise(resolve => {
      this.#own.set(id, resolve)
      if (!this.#send(withId(line, id))) resolve(undefined)
    })
  }

  #send(line: Buffer): boolean {
    const stream = this.#stream
    if (stream === undefined) return false
    write(stream, line)
    if (stream.writableLength > QUEUE_BYTES) this.#options.input.pause()
    return true
  }

  /** Resumes reading the client if the daemon keeps up. */
  #listen(): void {
    if (this.#is !== 'waiting' && (this.#stream?.writableLength ?? 0) <= QUEUE_BYTES)
      this.#options.input.resume()
  }

  #answer(line: Buffer): void {
    const { output } = this.#options
    write(output, line)
    if (output.writableLength > QUEUE_BYTES) this.#stream?.pause()
  }
}

/** Writes a line; joins a short one with its line feed, which is cheaper than two writes. */
const write = (stream: Writable, line: Buffer): void => {
  if (line.length <= JOINED_BYTES) {
    stream.write(Buffer.concat([line, LF]))
    return
  }
  stream.cork()
  stream.write(line)
  stream.write(LF)
  stream.uncork()
}
