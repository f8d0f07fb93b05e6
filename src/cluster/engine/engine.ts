import { RedisClient } from '@redis/client'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import type { Meter } from '../../kernel/meter.js'
import type { Histogram } from '../../kernel/series.js'
import type { Script } from './scripts.js'

/**
 * An answer is late after this many checks (about half a second). A delayed check does not count: a busy
 * process has not read its input yet, and must not take the engine for lost.
 */
const LOOKS = 6
const LOOK_MS = 100
const BUSY_MS = 50
/** Upper limit, even if the process is busy. */
const LIMIT_MS = 3000
const CONNECT_MS = 2000
const LONGEST_PAUSE_MS = 1000
const QUEUE_MAX = 10_000
/** Late answers in a row until the engine counts as lost. */
const LATE_MAX = 2
/** A connection that was silent for this long may be half-open. */
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
  new Fault('unavailable', `the cluster engine ${why}`, { cause })

/** The connection to Redis or Valkey; reconnects when it is lost. */
export class Engine {
  /** Resolves with the first connection; rejects with the first connection error. */
  readonly opened: Promise<void>
  readonly #url: string
  #client: Client
  readonly #clock: Clock
  readonly #log: Logger
  readonly #meter: Meter | undefined
  readonly #seconds = new Map<string, Histogram>()
  readonly #waiting = new Set<Waiting>()
  /** Timer of the next check for late answers. */
  #timer: Timer | undefined
  /** True if there is a connection, even one that is not ready. */
  #isOpen = false
  #isConnected = false
  #late = 0
  /** Time at which the last late answer was noticed. */
  #lateMs = 0
  /** Time of the last answer or reconnection. */
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

  /** Runs a script, and loads it if the engine does not know it. Rejects with a Fault `unavailable`. */
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
   * Sends a command, counted as `op`. Rejects with the error reply of the engine, or a Fault `unavailable` if
   * none comes.
   */
  async send(args: readonly (string | Buffer)[], op = String(args[0]).toLowerCase()): Promise<unknown> {
    this.#renewSilent()
    if (!this.#isConnected) throw lost('cannot be reached')
    const beganMs = this.#clock.nowMs()
    let waiting: Waiting | undefined
    const late = new Promise<never>((_, reject) => {
      waiting = { beganMs, looks: 0, reject }
      this.#waiting.add(waiting)
      this.#checkLater()
    })
    try {
      const said = await Promise.race([this.#client.sendCommand([...args]), late])
      this.#late = 0
      this.#heardMs = this.#clock.nowMs()
      if (this.#isLogged) this.#log.info({}, 'the cluster engine is back')
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

  #checkLater(): void {
    if (this.#timer !== undefined || this.#waiting.size === 0) return
    const dueMs = this.#clock.nowMs() + LOOK_MS
    this.#timer = this.#clock.after(LOOK_MS, () => {
      this.#timer = undefined
      this.#check(this.#clock.nowMs() > dueMs + BUSY_MS)
      this.#checkLater()
    })
  }

  #check(wasBusy: boolean): void {
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

  /** Ignores commands sent before the previous late answer was noticed. */
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
    // The client retries by itself.
    client.connect().catch(() => undefined)
    return client
  }

  /** Reconnects a silent connection, which may be half-open. */
  #renewSilent(): void {
    if (this.isUp || !this.#isOpen || this.#clock.nowMs() < this.#heardMs + RENEW_MS) return
    const before = this.#client
    this.#isConnected = false
    this.#isOpen = false
    this.#client = this.#connect()
    before.destroy()
  }

  /** Logs the loss once; the status shows the current state. */
  #note(error: Error): void {
    if (!this.#isLogged) this.#log.error({ err: error }, 'lost the connection to the cluster engine')
    this.#isLogged = true
  }
}

/** Reports whether the engine answered with an error. */
const isReply = (thrown: unknown): thrown is Error =>
  thrown instanceof Error && /^(?:[A-Z]+ |ERR)/.test(thrown.message)

type Client = ReturnType<typeof newClient>

/** Avoids `createClient`, whose methods for all commands take 25 MiB at the start. */
const newClient = (url: string) =>
  new RedisClient({
    url,
    // A timer per command costs more than the command; one timer here covers all.
    commandOptions: { timeout: undefined as never },
    // Redis 7 and Valkey support neither.
    maintNotifications: 'disabled',
    disableClientInfo: true,
    disableOfflineQueue: true,
    commandsQueueMaxLength: QUEUE_MAX,
    socket: {
      connectTimeout: CONNECT_MS,
      reconnectStrategy: tries => Math.min(50 * 2 ** Math.min(tries, 5), LONGEST_PAUSE_MS),
    },
  })
