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
    const { bounds, log, clock, owner, signal } = options
    const { command, args, cwd } = transport
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
      child = spawnChild({ command, args, cwd, env, log, clock, guard: children.guardOf(owner), bounds })
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
