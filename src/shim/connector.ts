import { readFileSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import { Fault } from '../kernel/faults.js'
import { askDaemon, askToConnect, bodyOf, type DaemonAskOptions } from './ask.js'
import { Deadline } from './deadline.js'
import {
  type DaemonWelcome,
  decodeRefusal,
  decodeWelcome,
  HELLO_HEADER,
  type Hello,
  isNewer,
  isProven,
  isService,
  newProof,
} from './hello.js'
import { StartLock } from './lock.js'
import {
  isAbsent,
  isDenied,
  isHangUp,
  type PlaceEnvironment,
  preparePlace,
  type RuntimePaths,
} from './place.js'
import { type DaemonProgram, startDaemon } from './start.js'

/** A connection to the daemon; the stream carries MCP messages as lines. */
export interface DaemonConnection {
  readonly stream: Duplex
  readonly welcome: DaemonWelcome
}

/** Number of the explanation in docs/daemon.md. */
export type DaemonProblem = 'D041' | 'D042' | 'D046'

/** Reports that no daemon could be reached or started. */
export class NoDaemon extends Error {
  readonly code: DaemonProblem
  override readonly name = 'NoDaemon'

  constructor(code: DaemonProblem, message: string) {
    super(message)
    this.code = code
  }
}

export interface ConnectorOptions {
  readonly place: RuntimePaths
  readonly program: DaemonProgram
  readonly hello: Hello
  /** Prints a message for the user. */
  readonly tell: (message: string) => void
}

const POLL_MS = [25, 40, 60, 100] as const
const HELLO_MS = 2000
/** Maximum time for an older daemon to finish its calls and end its servers. */
const DRAIN_MS = 20_000
/** Maximum time for a service manager to restart the daemon. */
const SERVICE_MS = 4000
/** A daemon hangs after this many unanswered attempts within this time. */
const SILENCES = 3
const SILENCE_MS = 10_000

/** Result of one attempt. */
type Attempt =
  | { readonly is: 'open'; readonly connection: DaemonConnection }
  | { readonly is: 'draining'; readonly retryMs: number }
  /** The daemon is full. */
  | { readonly is: 'busy'; readonly retryMs: number; readonly say: string }
  /** The daemon accepted the connection and closed it, as when it shuts down. */
  | { readonly is: 'ending' }
  | { readonly is: 'nobody' }

/** Connects to the daemon of a configuration, and starts it if necessary. */
export class Connector {
  readonly #options: ConnectorOptions
  #silentAtMs: number[] = []
  /** The older daemon that was asked to shut down; it is asked only once per client. */
  #asked: { readonly pid: number; readonly untilMs: number } | undefined
  /** Held from before the last attempt, or before the request to an older daemon. */
  #lock: StartLock | undefined
  #exitCode: number | null | undefined
  /** `Welcome.kept` of the last daemon that answered. */
  #kept: string | undefined

  constructor(options: ConnectorOptions) {
    this.#options = options
  }

  /** Connects within `limitMs`. Rejects with a NoDaemon. */
  async connect(limitMs: number): Promise<DaemonConnection> {
    try {
      const connection = await this.#find(limitMs)
      await this.#bring(connection.welcome.want)
      return connection
    } finally {
      this.#lock?.release()
      this.#lock = undefined
    }
  }

  async #find(limitMs: number): Promise<DaemonConnection> {
    const deadline = new Deadline(limitMs)
    this.#exitCode = undefined
    let waitedMs = 0
    for (let tries = 0; ; tries++) {
      const attempt = await this.#try()
      if (attempt.is === 'open' && !(await this.#asksForRoom(attempt.connection))) return attempt.connection
      // A draining daemon may take long to end.
      if (attempt.is === 'open' || attempt.is === 'draining') deadline.renew()
      if (attempt.is === 'nobody') this.#start(waitedMs)
      if (deadline.hasEnded || (attempt.is !== 'open' && this.#hasFailed)) return await this.#lastCheck()
      const waitMs = this.#pauseAfter(attempt, tries)
      waitedMs += waitMs
      this.#lock?.renew()
      await deadline.pause(waitMs)
    }
  }

  /**
   * Tries once more before giving up: while this process was suspended, another may have started the daemon.
   * Rejects with a NoDaemon.
   */
  async #lastCheck(): Promise<DaemonConnection> {
    const attempt = await this.#try()
    if (attempt.is === 'open') return attempt.connection
    throw this.#hasFailed ? new NoDaemon('D041', 'the daemon ended at once') : lateness(attempt)
  }

  #pauseAfter(attempt: Attempt, tries: number): number {
    if (attempt.is === 'draining' || attempt.is === 'busy') return attempt.retryMs
    return attempt.is === 'nobody' && this.#lock !== undefined ? 0 : (POLL_MS[tries] ?? 100)
  }

  /** Reports whether the started daemon exited with an error, rather than finding another daemon. */
  get #hasFailed(): boolean {
    return this.#exitCode !== undefined && this.#exitCode !== 0
  }

  async #try(): Promise<Attempt> {
    const { place, hello } = this.#options
    try {
      const token = place.token === undefined ? undefined : readFileSync(place.token)
      const proof = newProof(token)
      const opened = await askToConnect(this.#asking({ ...hello, ...proof }))
      if (opened.status !== 101) return refused(await bodyOf(opened.stream))
      const welcome = decodeWelcome(opened.headers.get(HELLO_HEADER))
      if (welcome === undefined || !isProven(token, 'daemon', { ...proof, proof: welcome.proof })) {
        opened.stream.destroy()
        throw new NoDaemon('D046', 'the program that answers is not mcp-proxy')
      }
      this.#kept = welcome.kept
      return { is: 'open', connection: { stream: opened.stream, welcome } }
    } catch (thrown) {
      return this.#explain(thrown)
    }
  }

  #explain(thrown: unknown): Attempt {
    if (thrown instanceof NoDaemon || (thrown instanceof Fault && thrown.code === 'invalid-params'))
      throw thrown
    if (isAbsent(thrown)) return { is: 'nobody' }
    if (isHangUp(thrown)) return { is: 'ending' }
    if (thrown instanceof Fault && thrown.code === 'timeout') {
      const nowMs = performance.now()
      this.#silentAtMs = [...this.#silentAtMs.filter(atMs => nowMs - atMs < SILENCE_MS), nowMs]
      if (this.#silentAtMs.length < SILENCES) return { is: 'draining', retryMs: 100 }
      throw new NoDaemon('D042', 'the daemon takes connections but does not answer')
    }
    const message = thrown instanceof Error ? thrown.message : String(thrown)
    if (isDenied(thrown)) throw new NoDaemon('D046', `the daemon may not be reached: ${message}`)
    throw new NoDaemon('D041', `the daemon cannot be reached: ${message}`)
  }

  /**
   * Starts the daemon unless another process is starting it; first waits a while for a service manager.
   * Throws a NoDaemon.
   */
  #start(waitedMs: number): void {
    const kept = this.#kept
    if (isService({ kept }) && waitedMs < SERVICE_MS) return
    const { place, program } = this.#options
    try {
      preparePlace(place)
      const lock = this.#lock
      if (lock === undefined) {
        // The next attempt checks again: the previous holder may have started the daemon.
        this.#lock = StartLock.take(place.lock)
        return
      }
      this.#lock = undefined
      // `keep` also holds for the successor of a daemon.
      const more = kept === 'keep' ? ['--keep'] : program.more
      void startDaemon(place, lock, { ...program, more }).then(code => {
        lock.release()
        this.#exitCode = code
      })
    } catch (thrown) {
      const message = thrown instanceof Error ? thrown.message : String(thrown)
      throw new NoDaemon(isDenied(thrown) ? 'D046' : 'D041', `the daemon cannot be started: ${message}`)
    }
  }

  /**
   * Asks a daemon of an older release to shut down, once. Resolves with true if the caller should wait for
   * the new one, and with false if the older one serves.
   */
  async #asksForRoom({ stream, welcome }: DaemonConnection): Promise<boolean> {
    const { hello, tell } = this.#options
    const { kept, pid, version } = welcome
    if (!isNewer(hello.version, version)) return false
    const isWaiting = this.#asked?.pid === pid && performance.now() < this.#asked.untilMs && !this.#hasFailed
    if (kept === 'serve' || (this.#asked !== undefined && !isWaiting)) {
      const fix = isService(welcome) ? 'mcp-proxy service install' : 'restart it'
      tell(`D043: served by mcp-proxy ${version}, which is older than ${hello.version}; fix: ${fix}`)
      return false
    }
    stream.destroy()
    if (isWaiting) return true
    this.#asked = { pid, untilMs: performance.now() + DRAIN_MS }
    if (isService(welcome) || this.#holdsLock())
      await askDaemon(this.#asking(hello), '/v1/hand-over', JSON.stringify(hello)).catch(() => undefined)
    return true
  }

  /** Takes the start lock, so that no older shim starts an older daemon again. */
  #holdsLock(): boolean {
    try {
      this.#lock = StartLock.take(this.#options.place.lock)
    } catch {
      // The folder is not writable: the older daemon stays.
    }
    return this.#lock !== undefined
  }

  /** Sends the values of variables that the daemon's servers wait for, before any client message. */
  async #bring(want: readonly string[]): Promise<void> {
    const { hello, place, program } = this.#options
    const values = knownOf(want, program.env)
    if (values === undefined) return
    const token = place.token === undefined ? undefined : readFileSync(place.token)
    await askDaemon(this.#asking({ ...hello, ...newProof(token) }), '/v1/env', values).catch(() => undefined)
  }

  #asking(hello: Hello): DaemonAskOptions {
    return { socket: this.#options.place.socket, hello, limitMs: HELLO_MS }
  }
}

const lateness = (attempt: Attempt): NoDaemon => {
  if (attempt.is === 'busy') return new NoDaemon('D041', `the daemon refuses: ${attempt.say}`)
  return attempt.is === 'ending'
    ? new NoDaemon('D042', 'the daemon takes connections and hangs up')
    : new NoDaemon('D041', 'the daemon could not be started in time')
}

/** Maximum size of the values that a daemon accepts. */
const VALUES_BYTES = 64 * 1024

/** Returns the known values of some variables as JSON; undefined if there are none. */
const knownOf = (names: readonly string[], env: PlaceEnvironment): string | undefined => {
  const known: Record<string, string> = {}
  let text: string | undefined
  for (const name of names) {
    const value = env[name]
    if (value === undefined || value === '') continue
    const longer = JSON.stringify(Object.assign(known, { [name]: value }))
    if (Buffer.byteLength(longer) <= VALUES_BYTES) text = longer
    else Reflect.deleteProperty(known, name)
  }
  return text
}

const RETRY_MS = 200

const refused = (text: string): Attempt => {
  const { no, say = 'no reason given', retryMs: wanted = RETRY_MS } = decodeRefusal(text)
  const retryMs = Math.max(10, Math.min(wanted, 1000))
  if (no === 'draining') return { is: no, retryMs }
  if (no === 'busy') return { is: no, retryMs, say }
  if (no === 'view') throw new Fault('invalid-params', say)
  throw new NoDaemon(no === 'token' ? 'D046' : 'D041', `the daemon refuses: ${say}`)
}
