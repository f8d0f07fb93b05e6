import type { Environment, StdioTransport } from '../config/types.js'
import type { ProgramNeed } from '../control/environment/environment.js'
import { openServerPipe, type ServerLinkOptions } from '../eras/index.js'
import type { Clock } from '../kernel/async/clock.js'
import { Semaphore } from '../kernel/async/semaphore.js'
import { Fault } from '../kernel/faults.js'
import type { LimitCounters } from '../kernel/limit-counters.js'
import { inheritedEnv, wholeEnv } from '../kernel/machine/inherited-env.js'
import type { Downlink } from '../model/links.js'
import type { ServerOptions } from '../peers/dial.js'
import type { Children } from '../state/processes/children.js'
import { forgetContainer, prepareContainer, recordOf, stopContainer } from '../state/processes/containers.js'
import { processTree } from '../transport/process/process-tree.js'
import { type ChildChannel, spawnChild } from '../transport/stdio/child.js'
import { lastLines } from '../transport/stdio/child-output.js'
import type { Channel } from '../wire/channel.js'

/** Time after which a slow start no longer delays the start of other programs. */
const STARTING_MS = 10_000
/** The exit code of `sh` and `env` if they do not find a program (POSIX, XCU 2.8.2). */
const NOT_FOUND = 127

export interface ProgramsContext {
  readonly clock: Clock
  readonly children: Children
  readonly bounds: LimitCounters
  /** Ends an idle process. Returns false if there is none. */
  readonly makeRoom: () => Promise<boolean>
  /** The environment that programs inherit from. */
  readonly programEnv: (need: ProgramNeed) => Environment | Promise<Environment>
}

export interface ProgramOptions extends ServerLinkOptions {
  readonly owner: ServerOptions
  readonly bounds: LimitCounters
}

type Started =
  | { readonly link: Downlink }
  /** `isMissing` is true if another PATH could help. */
  | { readonly why: Fault; readonly isMissing: boolean }

/** Starts the programs of servers, a few at a time. */
export class ProgramStarter {
  readonly #context: ProgramsContext
  readonly #starting: Semaphore
  /** Containers that are being stopped. */
  readonly #stopping = new Set<Promise<void>>()

  constructor(context: ProgramsContext) {
    const { bounds, clock } = context
    this.#context = context
    this.#starting = new Semaphore({
      places: () => bounds.max.starting,
      onWait: () => bounds.hit('starting'),
      holdMs: STARTING_MS,
      clock,
    })
  }

  /** Waits for containers to stop, which takes a bounded time. */
  async close(): Promise<void> {
    await Promise.all(this.#stopping)
  }

  /** Starts a program, once more if it is only on a wider PATH. Rejects with a Fault. */
  async open(transport: StdioTransport, options: ProgramOptions): Promise<Downlink> {
    const { programEnv } = this.#context
    const { env, inheritEnv: isWhole = false } = transport
    const parent = await programEnv({ isWhole })
    const first = await this.#start(transport, parent, options)
    if ('link' in first) return first.link
    if (!first.isMissing || env['PATH'] !== undefined || options.signal.aborted) throw first.why
    const wider = await programEnv({ isWhole, isMissing: true })
    if (wider['PATH'] === parent['PATH']) throw first.why
    const second = await this.#start(transport, wider, options)
    if ('link' in second) return second.link
    throw second.why
  }

  async #start(transport: StdioTransport, parent: Environment, options: ProgramOptions): Promise<Started> {
    const { children, makeRoom } = this.#context
    const { bounds, signal } = options
    const env = { ...childEnv(transport, parent), ...children.env }
    let child: ChildChannel | undefined
    const start = async (): Promise<Channel> => {
      while (children.pids.length >= bounds.max.children) {
        const full = bounds.overloaded(
          'children',
          `${children.pids.length} server processes are already running`,
        )
        if (!(await makeRoom())) throw full
      }
      child = this.#spawn(transport, env, options)
      return child
    }
    try {
      // The time limit of a start excludes the queue.
      const link = await this.#starting.pass(signal, () => openServerPipe(start, options))
      children.answered()
      return { link }
    } catch (thrown) {
      const why = Fault.from(thrown)
      const isMissing = why.data?.['doctor'] === 'D030' || child?.exit?.code === NOT_FOUND
      return { why: withLastOutput(why, lastLines(child?.lastStderr() ?? [])), isMissing }
    }
  }

  /** Starts a program. If it runs a container that it does not end itself, that is stopped afterwards. */
  #spawn(
    transport: StdioTransport,
    env: Readonly<Record<string, string>>,
    { bounds, log, clock, owner }: ProgramOptions,
  ): ChildChannel {
    const { children } = this.#context
    const { cwd = process.cwd() } = transport
    const guard = children.guardOf(owner)
    const common = { ...transport, env, log, clock, bounds }
    const run = prepareContainer({ ...transport, cwd }, children.mark, log)
    if (run === undefined) return spawnChild({ ...common, guard })
    const container = recordOf(run, { cwd, env })
    children.runs(container)
    let isEnded = false
    const tree = processTree({ log })
    const ended = async (): Promise<void> => {
      if (isEnded || (child.exit?.signal ?? null) !== null) await stopContainer(container, log)
      else forgetContainer(container)
      children.stopped(container)
    }
    const child = spawnChild({
      ...{ ...common, command: run.command, args: run.args },
      guard: {
        ...guard,
        forget: pid => {
          guard.forget(pid)
          const stopping = ended().finally(() => this.#stopping.delete(stopping))
          this.#stopping.add(stopping)
        },
      },
      tree: {
        ...tree,
        end: pid => {
          isEnded = true
          return tree.end(pid)
        },
      },
    })
    if (child.pid === undefined) children.stopped(container)
    return child
  }
}

const childEnv = ({ env, unsetEnv, inheritEnv = false }: StdioTransport, parent: Environment) => {
  const inherited = Object.fromEntries(Object.entries(parent).filter(([name]) => !unsetEnv.includes(name)))
  return (inheritEnv ? wholeEnv : inheritedEnv)(inherited, env, process.platform)
}

/** The program's stderr explains more than a timeout. */
const withLastOutput = (why: Fault, stderrTail: readonly string[]): Fault =>
  why.stderrTail !== undefined || stderrTail.length === 0
    ? why
    : new Fault(why.code, why.message, { ...(why.data && { data: why.data }), cause: why, stderrTail })
