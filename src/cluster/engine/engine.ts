import { RedisClient } from '@redis/client'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import type { Meter } from '../../metering/meter.js'
import type { Histogram } from '../../metering/series.js'
import type { Script } from './scripts.js'

/**
 * An answer is late after so many looks, which is half a second. A look that was late itself does not count:
 * a process that was busy has not read what came meanwhile, and must not take the engine for lost.
 */
const LOOKS = 6
const LOOK_MS = 100
const BUSY_MS = 50
/** However busy the process is. */
const LIMIT_MS = 3000
const CONNECT_MS = 2000
const LONGEST_PAUSE_MS = 1000
const QUEUE_MAX = 10_000
/** Nobody is there if an answer is late, and another one to what was sent after that was known. */
const LATE_MAX = 2
/** A connection that was silent for so long may be one of which only this end is left. */
const RENEW_MS = 5000

export interface EngineOptions {
  readonly url: string
  readonly clock: Clock
  readonly log: Logger
  readonly meter?: Meter | undefined
}

interface Waiting {
  readonly beganMs: number
  looks: number
  readonly reject: (why: Fault) => void
}

const lost = (why: string, cause?: unknown): Fault =>
  new Fault('unavailable', `the engine of the cluster ${why}`, { cause })

/** The connection to Redis or Valkey, which is opened again whenever it is lost. */
export class Engine {
  /** Resolves with the first connection; rejects with what it first failed for. */
  readonly opened: Promise<void>
  readonly #url: string
  #client: Client
  readonly #clock: Clock
  readonly #log: Logger
  readonly #meter: Meter | undefined
  readonly #seconds = new Map<string, Histogram>()
  readonly #waiting = new Set<Waiting>()
  /** Of the next look at what waits. */
  #timer: Timer | undefined
  /** Whether there is a connection, be it one that cannot be used yet. */
  #isOpen = false
  #isConnected = false
  #late = 0
  /** When the last of them was known to be late. */
  #lateMs = 0
  /** When it was last heard of, or opened anew. */
  #heardMs = 0
  #isLogged = false

  constructor({ url, clock, log, meter }: EngineOptions) {
    this.#clock = clock
    this.#log = log
    this.#meter = meter
    this.#url = url
    this.#client = this.#connect()
    this.opened = new Promise((resolve, reject) => {
      this.#client.once('ready', resolve).once('error', reject)
    })
    this.opened.catch(() => undefined)
  }

  get isUp(): boolean {
    return this.#isConnected && this.#late < LATE_MAX
  }

  /** Runs a script, and loads it where it is not known. Rejects with a Fault `unavailable`. */
  async run(script: Script, keys: readonly string[], args: readonly (string | Buffer)[]): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args]
    try {
      return await this.send(['EVALSHA', script.sha, ...rest], script.name)
    } catch (thrown) {
      if (!(thrown instanceof Error && thrown.message.startsWith('NOSCRIPT'))) throw thrown
      return await this.send(['EVAL', script.text, ...rest], script.name)
    }
  }

  async close(): Promise<void> {
    this.#timer?.cancel()
    this.#isConnected = false
    this.#client.destroy()
    await Promise.resolve()
  }

  /**
   * Sends a command, which is counted as `op`. Rejects with the words of the engine if it refuses, else with
   * a Fault `unavailable`.
   */
  async send(args: readonly (string | Buffer)[], op = String(args[0]).toLowerCase()): Promise<unknown> {
    this.#renewSilent()
    if (!this.#isConnected) throw lost('cannot be reached')
    const beganMs = this.#clock.nowMs()
    let waiting: Waiting | undefined
    const late = new Promise<never>((_, reject) => {
      waiting = { beganMs, looks: 0, reject }
      this.#waiting.add(waiting)
      this.#lookLater()
    })
    try {
      const said = await Promise.race([this.#client.sendCommand([...args]), late])
      this.#late = 0
      this.#heardMs = this.#clock.nowMs()
      if (this.#isLogged) this.#log.info({}, 'the engine of the cluster is back')
      this.#isLogged = false
      return said
    } catch (thrown) {
      if (thrown instanceof Fault || isReply(thrown)) throw thrown
      throw lost('was lost', thrown)
    } finally {
      if (waiting !== undefined) this.#waiting.delete(waiting)
      this.#took(op, this.#clock.nowMs() - beganMs)
    }
  }

  #lookLater(): void {
    if (this.#timer !== undefined || this.#waiting.size === 0) return
    const dueMs = this.#clock.nowMs() + LOOK_MS
    this.#timer = this.#clock.after(LOOK_MS, () => {
      this.#timer = undefined
      this.#look(this.#clock.nowMs() > dueMs + BUSY_MS)
      this.#lookLater()
    })
  }

  #look(wasBusy: boolean): void {
    for (const waiting of this.#waiting) {
      if (!wasBusy) waiting.looks += 1
      if (waiting.looks < LOOKS && this.#clock.nowMs() < waiting.beganMs + LIMIT_MS) continue
      this.#waiting.delete(waiting)
      this.#countLate(waiting)
      const why = lost('does not answer')
      if (!this.isUp) this.#note(why)
      waiting.reject(why)
    }
  }

  /** What was sent before another was late says nothing new. */
  #countLate({ beganMs }: Waiting): void {
    if (this.#late > 0 && beganMs < this.#lateMs) return
    this.#late += 1
    this.#lateMs = this.#clock.nowMs()
  }

  #took(op: string, ms: number): void {
    if (this.#meter === undefined) return
    const seconds = this.#seconds.get(op) ?? this.#meter.histogram('mcp_proxy_cluster_engine_seconds', op)
    this.#seconds.set(op, seconds)
    seconds.observe(ms / 1000)
  }

  #connect(): Client {
    const client = newClient(this.#url)
    client.on('connect', () => {
      this.#isOpen = true
      this.#heardMs = this.#clock.nowMs()
    })
    client.on('ready', () => {
      this.#isConnected = true
      this.#late = 0
    })
    client.on('error', (error: Error) => {
      if (client !== this.#client) return
      this.#isConnected = false
      this.#isOpen = false
      this.#note(error)
    })
    // It goes on trying by itself.
    client.connect().catch(() => undefined)
    return client
  }

  /** Opens it anew if nothing comes over it: the other end may have lost it without a word. */
  #renewSilent(): void {
    if (this.isUp || !this.#isOpen || this.#clock.nowMs() < this.#heardMs + RENEW_MS) return
    const before = this.#client
    this.#isConnected = false
    this.#isOpen = false
    this.#client = this.#connect()
    before.destroy()
  }

  /** Says it once; how it goes on stands in the status. */
  #note(error: Error): void {
    if (!this.#isLogged) this.#log.error({ err: error }, 'the engine of the cluster was lost')
    this.#isLogged = true
  }
}

/** Whether the engine itself answered with an error. */
const isReply = (thrown: unknown): thrown is Error =>
  thrown instanceof Error && /^(?:[A-Z]+ |ERR)/.test(thrown.message)

type Client = ReturnType<typeof newClient>

/** `createClient` would give it a method for each command, which takes 25 MiB at the start; we need none. */
const newClient = (url: string) =>
  new RedisClient({
    url,
    // Its own limit on each command costs more than the command; ours is one timer for all.
    commandOptions: { timeout: undefined as never },
    // Redis 7 and Valkey know neither of the two.
    maintNotifications: 'disabled',
    disableClientInfo: true,
    disableOfflineQueue: true,
    commandsQueueMaxLength: QUEUE_MAX,
    socket: {
      connectTimeout: CONNECT_MS,
      reconnectStrategy: tries => Math.min(50 * 2 ** Math.min(tries, 5), LONGEST_PAUSE_MS),
    },
  })
