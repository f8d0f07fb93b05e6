import type { ChildProcess } from 'node:child_process'
import type { Clock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Fault } from '../../kernel/faults.js'
import { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import { nothing } from '../../kernel/nothing.js'
import type { Channel, ChannelListener } from '../../wire/channel.js'
import type { OutgoingMessage } from '../../wire/message-parts.js'
import { Backlog } from '../backlog.js'
import { ChannelEvents } from '../channel-events.js'
import { LineWriter } from '../line-writer.js'
import type { DeathGuard } from '../process/death-guard.js'
import { endGroup, LADDER_TIMES, type LadderTimes } from '../process/kill-ladder.js'
import { type ProcessTree, processTree } from '../process/process-tree.js'
import { type ChildExit, exitReason, startFault, startProgram } from '../process/start-program.js'
import { lastLines, StderrLines, StdoutMessages } from './child-output.js'

interface ChildTimes extends LadderTimes {
  /** Between the exit and the end of output, in either order: a grandchild may hold the pipes. */
  readonly exitWaitMs: number
}

export interface ChildOptions {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd?: string | undefined
  /** The complete environment; see `childEnv`. */
  readonly env: Readonly<Record<string, string>>
  /** Bound to the name of the server. */
  readonly log: Logger
  readonly clock: Clock
  readonly guard: DeathGuard
  /** Defaults to this platform's. */
  readonly tree?: ProcessTree
  readonly times?: Partial<ChildTimes>
  /** Defaults apply if absent. */
  readonly bounds?: LimitCounters | undefined
}

/**
 * A channel to a child process. It closes with `unavailable` if the child could not be started, and with
 * `disconnected` if it ended by itself; the message of the fault continues a sentence that begins with the
 * name of the server.
 */
export interface ChildChannel extends Channel {
  /** Undefined if the child could not be started. */
  readonly pid: number | undefined
  /** Undefined while the child runs. */
  readonly exit: ChildExit | undefined
  /** The last lines of stderr, oldest first, without secrets. */
  lastStderr(): string[]
}

const CHILD_TIMES: ChildTimes = { ...LADDER_TIMES, exitWaitMs: 1000 }

class StdioChild implements ChildChannel {
  readonly #child: ChildProcess
  readonly #options: ChildOptions
  readonly #tree: ProcessTree
  readonly #times: ChildTimes
  readonly #stdout: StdoutMessages
  readonly #stderr: StderrLines
  readonly #writer: LineWriter | undefined
  readonly #backlog: Backlog
  readonly #events = new ChannelEvents()
  /** Output received before `listen`. */
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
    this.#times = { ...CHILD_TIMES, ...options.times }
    this.#stdout = new StdoutMessages(
      options.log,
      {
        maxBytes: bounds.max.message,
        account: bounds.inbound,
        onOverrun: () => this.#events.listener?.overrun?.(),
      },
      () => bounds.remark('noise'),
    )
    this.#stderr = new StderrLines(options.log, clock, bounds)
    // Despite its types, Node creates no pipes when file descriptors run out.
    this.#writer = child.stdin ? new LineWriter(child.stdin) : undefined
    this.#backlog = new Backlog({
      peer: 'child',
      clock,
      bounds,
      queue: this,
      onDrained: nothing,
      onStalled: this.#onStalled,
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
    return this.#child.stdin?.writableLength ?? 0
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

  send(message: OutgoingMessage, isAlone?: boolean): boolean {
    if (this.#events.isClosed || this.#closing !== undefined || !this.#backlog.admit()) return false
    const isTaken = this.#writer?.send(message, isAlone) ?? false
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
    stdin?.on('error', () => this.#onPipeClosed('closed its input and kept running'))
    stdin?.on('drain', () => {
      this.#backlog.shrank()
      if (!this.#events.isClosed) this.#events.listener?.drained()
    })
    stdout?.on('data', this.#onData)
    stdout?.on('end', () => this.#onPipeClosed('closed its output and kept running'))
    stdout?.on('error', () => this.#onPipeClosed('closed its output and kept running'))
    stdout?.pause()
    stderr?.on('data', (chunk: Buffer) => this.#stderr.push(chunk))
    stderr?.on('end', () => this.#stderr.end())
    stderr?.on('error', nothing)
  }

  #onError(error: Error): void {
    if (this.#child.pid === undefined) this.#settle(startFault(error, this.#options.cwd))
    else this.#options.log.debug({ err: error }, 'could not signal or write to the server')
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#events.isClosed) return
    if (this.#events.listener === undefined) {
      if (this.#closing !== undefined) return
      // Node resumes the pipes of a child that has exited.
      this.#child.stdout?.pause()
      this.#early.push(chunk)
      return
    }
    this.#stdout.push(chunk, this.#events.listener)
  }

  /** Settles once the child has exited and its pipes are closed; each waits a while for the other. */
  #settleWhenDrained(): void {
    const exit = this.#exit
    if (this.#events.listener === undefined || exit === undefined) return
    if (this.#pipesClosed) this.#lost(exitReason(exit))
    else this.#afterWait(() => this.#lost(exitReason(exit)))
  }

  /** Settles after a closed pipe, unless the exit follows at once and explains more. */
  #onPipeClosed(reason: string): void {
    this.#afterWait(() => {
      if (this.#exit === undefined) this.#lost(reason)
    })
  }

  /** Ends a server that does not read; it is then restarted. */
  readonly #onStalled = (): void => this.#lost('did not read its input')

  #afterWait(work: () => void): void {
    if (!this.#events.isClosed) this.#options.clock.after(this.#times.exitWaitMs, work)
  }

  #lost(reason: string): void {
    if (this.#events.isClosed || this.#closing !== undefined) return
    const stderrTail = lastLines(this.lastStderr())
    this.#settle(new Fault('disconnected', reason, { data: { reason: 'server_exited' }, stderrTail }))
    void this.#endGroup()
  }

  #settle(fault: Fault | undefined): void {
    if (this.#events.isClosed) return
    this.#backlog.end()
    this.#stdout.end(this.#events.listener)
    this.#stderr.end()
    // A grandchild may hold the other ends open.
    this.#child.stdout?.destroy()
    this.#child.stderr?.destroy()
    this.#events.close(fault)
  }

  #endGroup(): Promise<void> {
    const { clock, guard } = this.#options
    this.#ladder ??= endGroup(this.#child, clock, this.#times, this.#tree).then(gone => {
      this.#child.stdin?.destroy()
      if (gone && this.#child.pid !== undefined) guard.forget(this.#child.pid)
    })
    return this.#ladder
  }

  async #pipesClosedInTime(): Promise<void> {
    if (this.#pipesClosed || this.#events.isClosed) return
    const closed = new Promise<void>(resolve => {
      this.#child.once('close', () => resolve())
    })
    await within(closed, { clock: this.#options.clock, ms: this.#times.exitWaitMs })
  }
}

/** A channel to a child that could not be started. */
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
 * Starts a server as a child process without a shell, on POSIX in its own process group. Never throws: a
 * child that cannot be started closes its channel.
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
