import type { ChildProcess } from 'node:child_process'
import type { Clock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { Channel, ChannelListener } from '../../wire/channel.js'
import type { OutgoingMessage } from '../../wire/message-parts.js'
import { Backlog } from '../backlog.js'
import { ChannelEvents } from '../channel-events.js'
import { LineWriter } from '../line-writer.js'
import type { DeathGuard } from '../process/death-guard.js'
import { endGroup, LADDER_TIMES, type LadderTimes } from '../process/kill-ladder.js'
import { type ProcessTree, processTree } from '../process/process-tree.js'
import { type ChildExit, exitWords, startFault, startProgram } from '../process/start-program.js'
import { ChildOutput } from './child-output.js'
import { lastLines, StderrLines } from './stderr-lines.js'

/** Bounds on one child. */
interface ChildLimits extends LadderTimes {
  /** A longer line is skipped and told as `skipped`. */
  readonly lineBytes: number
  /** How long we wait for the rest after one sign of the end: a grandchild may hold the pipe of a dead child. */
  readonly exitWaitMs: number
}

/** What is started, and what it needs from us. */
export interface ChildOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string | undefined
  /** The whole environment; see `childEnv`. */
  readonly env: Readonly<Record<string, string>>
  /** Already knows which server it speaks of. */
  readonly log: Logger
  readonly clock: Clock
  readonly guard: DeathGuard
  /** How it is ended with all that it started; as on this system if absent. */
  readonly tree?: ProcessTree
  readonly limits?: Partial<ChildLimits>
  /** Those of the server; the defaults if absent. */
  readonly bounds?: LimitCounters | undefined
}

/**
 * A child process as a channel. It closes with `unavailable` when it could not be started and with
 * `disconnected` when it went by itself; the words of the fault follow the name of the server.
 */
export interface ChildChannel extends Channel {
  /** Undefined when the child could not be started. */
  readonly pid: number | undefined
  /** Undefined as long as the child runs. */
  readonly exit: ChildExit | undefined
  /** The last lines of stderr, oldest first, without secrets. */
  lastStderr(): string[]
}

const CHILD_LIMITS = { ...LADDER_TIMES, exitWaitMs: 1000 }

/** A child with so many times more in front of it than it should have is lost: answers and notices do not stop for it. */
const HARD = 16

const nothing = (): void => undefined

class StdioChild implements ChildChannel {
  readonly #child: ChildProcess
  readonly #options: ChildOptions
  readonly #tree: ProcessTree
  readonly #limits: ChildLimits
  readonly #output: ChildOutput
  readonly #stderr: StderrLines
  readonly #writer: LineWriter | undefined
  readonly #backlog: Backlog
  readonly #bounds: LimitCounters
  readonly #events = new ChannelEvents()
  /** What came before anybody listened. */
  #early: Buffer[] = []
  #exit: ChildExit | undefined
  #pipesClosed = false
  #closing: Promise<void> | undefined
  #ladder: Promise<void> | undefined

  constructor(child: ChildProcess, options: ChildOptions, tree: ProcessTree) {
    this.#child = child
    this.#tree = tree
    this.#options = options
    const { bounds = new LimitCounters(), clock } = options
    this.#limits = { ...CHILD_LIMITS, lineBytes: bounds.max.message, ...options.limits }
    this.#bounds = bounds
    this.#output = new ChildOutput(options.log, {
      maxBytes: this.#limits.lineBytes,
      account: bounds.inbound,
      onOverrun: () => this.#events.listener?.overrun?.(),
    })
    this.#stderr = new StderrLines(options.log, clock, bounds)
    // Without file descriptors Node makes no pipes, whatever its types say.
    this.#writer = child.stdin ? new LineWriter(child.stdin) : undefined
    this.#backlog = new Backlog({
      limits: {
        softBytes: bounds.max.softQueue,
        hardBytes: HARD * bounds.max.serverQueue,
        stallMs: bounds.max.stall,
      },
      clock,
      bounds,
      queuedBytes: () => this.queuedBytes,
      onDrained: nothing,
      onStalled: this.#onDeaf,
    })
    if (child.pid !== undefined) options.guard.watch(child.pid)
    this.#watchProcess()
    this.#watchPipes()
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get exit(): ChildExit | undefined {
    return this.#exit
  }

  get queuedBytes(): number {
    return this.#writer?.queuedBytes ?? 0
  }

  lastStderr(): string[] {
    return this.#stderr.last()
  }

  listen(listener: ChannelListener): void {
    if (!this.#events.attach(listener)) return
    const early = this.#early
    this.#early = []
    for (const chunk of early) this.#onData(chunk)
    this.#child.stdout?.resume()
    this.#settleWhenDrained()
  }

  send(message: OutgoingMessage): boolean {
    if (this.#events.isClosed || this.#closing !== undefined) return false
    if (!this.#backlog.hasRoom) {
      this.#bounds.hit('serverQueue')
      // Not now: whoever sends does not expect the end of the channel in the middle of it.
      setImmediate(this.#onDeaf)
      return false
    }
    const isTaken = this.#writer?.send(message) ?? false
    this.#backlog.grew()
    return isTaken
  }

  pause(): void {
    this.#child.stdout?.pause()
  }

  resume(): void {
    if (this.#events.listener !== undefined) this.#child.stdout?.resume()
  }

  close(): Promise<void> {
    this.#closing ??= this.#closeOnce()
    return this.#closing
  }

  async #closeOnce(): Promise<void> {
    this.#child.stdout?.resume()
    await this.#endGroup()
    await this.#pipesClosedInTime()
    this.#settle(undefined)
  }

  #watchProcess(): void {
    this.#child.on('error', error => this.#onError(error))
    this.#child.on('exit', (code, signal) => {
      this.#exit = { code, signal }
      this.#settleWhenDrained()
    })
    this.#child.on('close', () => {
      this.#pipesClosed = true
      this.#settleWhenDrained()
    })
  }

  #watchPipes(): void {
    const { stdin, stdout, stderr } = this.#child
    stdin?.on('error', () => this.#lostPipe('closed its input and kept running'))
    stdin?.on('drain', () => {
      this.#backlog.shrank()
      if (!this.#events.isClosed) this.#events.listener?.drained()
    })
    stdout?.on('data', (chunk: Buffer) => this.#onData(chunk))
    stdout?.on('end', () => this.#lostPipe('closed its output and kept running'))
    stdout?.on('error', () => this.#lostPipe('closed its output and kept running'))
    stdout?.pause()
    stderr?.on('data', (chunk: Buffer) => this.#stderr.push(chunk))
    stderr?.on('end', () => this.#stderr.end())
    stderr?.on('error', nothing)
  }

  #onError(error: Error): void {
    if (this.#child.pid === undefined) this.#settle(startFault(error, this.#options.cwd))
    else this.#options.log.debug({ err: error }, 'a signal or message did not reach the server')
  }

  #onData(chunk: Buffer): void {
    if (this.#events.isClosed) return
    if (this.#events.listener === undefined) {
      if (this.#closing !== undefined) return
      // Node resumes the pipes of a child that has exited.
      this.#child.stdout?.pause()
      this.#early.push(chunk)
      return
    }
    this.#output.push(chunk, this.#events.listener)
  }

  /** One of the two signs of the end has come (exit, closed pipes): the other gets a while to follow. */
  #settleWhenDrained(): void {
    if (this.#events.listener === undefined || this.#exit === undefined) return
    if (this.#pipesClosed) this.#onGone(this.#exit)
    else this.#later(() => this.#onGone(this.#exit))
  }

  /** Without its pipes a child is of no use; mostly its exit follows at once and says more. */
  #lostPipe(words: string): void {
    this.#later(() => {
      if (this.#exit === undefined) this.#onGone(undefined, words)
    })
  }

  /** A server that takes nothing is of no use to anybody, and is started anew. */
  readonly #onDeaf = (): void => this.#onGone(undefined, 'did not read its input')

  #later(work: () => void): void {
    if (!this.#events.isClosed) this.#options.clock.after(this.#limits.exitWaitMs, work)
  }

  #onGone(exit: ChildExit | undefined, words = 'ended'): void {
    if (this.#events.isClosed || this.#closing !== undefined) return
    this.#settle(
      new Fault('disconnected', exit === undefined ? words : exitWords(exit), {
        data: { reason: 'server_exited' },
        lastWords: lastLines(this.lastStderr()),
      }),
    )
    void this.#endGroup()
  }

  #settle(fault: Fault | undefined): void {
    if (this.#events.isClosed) return
    this.#backlog.end()
    this.#output.end(this.#events.listener)
    this.#stderr.end()
    // A grandchild may hold the other ends.
    this.#child.stdout?.destroy()
    this.#child.stderr?.destroy()
    this.#events.close(fault)
  }

  #endGroup(): Promise<void> {
    const { clock, guard } = this.#options
    this.#ladder ??= endGroup(this.#child, clock, this.#limits, this.#tree).then(gone => {
      this.#child.stdin?.destroy()
      if (gone && this.#child.pid !== undefined) guard.forget(this.#child.pid)
    })
    return this.#ladder
  }

  #pipesClosedInTime(): Promise<void> {
    if (this.#pipesClosed || this.#events.isClosed) return Promise.resolve()
    return new Promise(resolve => {
      this.#child.once('close', () => resolve())
      this.#options.clock.after(this.#limits.exitWaitMs, resolve)
    })
  }
}

/** The channel of a child that the operating system refused at once. */
const deadChannel = (fault: Fault): ChildChannel => ({
  pid: undefined,
  exit: undefined,
  queuedBytes: 0,
  lastStderr: () => [],
  listen: listener => {
    setImmediate(() => listener.closed(fault))
  },
  send: () => false,
  pause: nothing,
  resume: nothing,
  close: () => Promise.resolve(),
})

/**
 * Starts a server as a child process, in its own group where there are groups, and without a shell. Never throws: a child that cannot
 * be started is told through `closed`.
 */
export function spawnChild(options: ChildOptions): ChildChannel {
  const { tree = processTree({ log: options.log }) } = options
  try {
    const child = startProgram(options.command, options.args, {
      cwd: options.cwd,
      env: { ...options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
      shell: false,
      // On Windows `detached` would open a console window.
      detached: tree.hasGroups,
      windowsHide: true,
    })
    return new StdioChild(child, options, tree)
  } catch (error) {
    return deadChannel(startFault(error, options.cwd))
  }
}
