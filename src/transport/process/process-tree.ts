import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Logger, silentLogger } from '../../kernel/logger.js'

/** PORT. How a process that we started is ended with all that it started. Nothing of it rejects. */
export interface ProcessTree {
  /**
   * Whether a tree is a process group, which its first process must be started to lead (`detached`), and which can be reached
   * when that one is gone. Otherwise its number says nothing from then on, and may be somebody else's.
   */
  readonly hasGroups: boolean
  /** Asks all of it to end; false if nobody there can be asked, so that waiting for them is of no use. */
  end(pid: number): Promise<boolean>
  /** Ends all of it without asking. */
  kill(pid: number): Promise<void>
  /** Whether anything runs that the number still reaches. */
  isRunning(pid: number): Promise<boolean>
}

/** Runs a program to its end, without a shell and not for ever; rejects if that was not to end well. */
export type RunProgram = (file: string, args: readonly string[]) => Promise<void>

/** For which system, and with what. */
export interface TreeOptions {
  readonly platform?: NodeJS.Platform
  readonly log?: Logger
  readonly run?: RunProgram
}

/** `taskkill` is done at once, unless the machine is in trouble. */
const RUN_LIMIT_MS = 5000

const execute = promisify(execFile)

const runProgram: RunProgram = async (file, args) => {
  await execute(file, args, { timeout: RUN_LIMIT_MS, killSignal: 'SIGKILL', windowsHide: true })
}

/** Where Windows is: a program that stands somewhere in `PATH` under the same name is not meant. */
export const systemRoot = (): string => process.env['SystemRoot'] ?? 'C:\\Windows'

const isProcess = (pid: number): boolean => Number.isSafeInteger(pid) && pid > 1

/** Whether a process has this number, whichever it is and whosever. */
export const isUsed = (pid: number): boolean => {
  try {
    return isProcess(pid) && process.kill(pid, 0)
  } catch (thrown) {
    // Anything but ESRCH means that it is there, and not ours to signal.
    return thrown instanceof Error && 'code' in thrown && thrown.code !== 'ESRCH'
  }
}

const posixTree = (platform: NodeJS.Platform): ProcessTree => ({
  hasGroups: true,
  end: pid => {
    signalGroup(pid, 'SIGTERM')
    return Promise.resolve(true)
  },
  kill: pid => {
    signalGroup(pid, 'SIGKILL')
    return Promise.resolve()
  },
  isRunning: pid => isGroupRunning(pid, platform),
})

/** Windows has no groups: `taskkill /T` follows the parent ids for as long as the first process lives. */
class WindowsTree implements ProcessTree {
  readonly hasGroups = false
  readonly #run: RunProgram
  readonly #log: Logger

  constructor(run: RunProgram, log: Logger) {
    this.#run = run
    this.#log = log
  }

  /** A program without a window, as most servers are, cannot be asked: `taskkill` says so at once. */
  end(pid: number): Promise<boolean> {
    return this.#taskkill('/PID', String(pid), '/T')
  }

  async kill(pid: number): Promise<void> {
    await this.#taskkill('/PID', String(pid), '/T', '/F')
  }

  isRunning(pid: number): Promise<boolean> {
    return Promise.resolve(isUsed(pid))
  }

  async #taskkill(...args: readonly string[]): Promise<boolean> {
    if (!isProcess(Number(args[1]))) return false
    try {
      await this.#run(join(systemRoot(), 'System32', 'taskkill.exe'), args)
      return true
    } catch (thrown) {
      this.#log.debug({ err: thrown, args }, 'taskkill did not end a process')
      return false
    }
  }
}

/** How trees of processes are ended on this system. */
export const processTree = ({
  platform = process.platform,
  log = silentLogger,
  run = runProgram,
}: TreeOptions = {}): ProcessTree => (platform === 'win32' ? new WindowsTree(run, log) : posixTree(platform))

/** Signals every process of a group; false when there is none left that we may signal. */
export function signalGroup(groupId: number, signal: NodeJS.Signals | 0): boolean {
  // kill(-1) reaches every process of the user, kill(0) our own group.
  if (!Number.isSafeInteger(groupId) || groupId <= 1) return false
  try {
    process.kill(-groupId, signal)
    return true
  } catch {
    return false
  }
}

/** What the line of a process says that `man proc_pid_stat` describes; undefined for one that runs no more. */
export function readStat(stat: string): { readonly group: number; readonly ticks: string } | undefined {
  // Its name stands in brackets, and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, , group] = fields
  const ticks = fields[19]
  if (ticks === undefined || state === 'Z' || state === 'X') return undefined
  return { group: Number(group), ticks }
}

/**
 * Whether a process of the group still runs. In a container without an init nobody reaps orphans: they stay members
 * of their group for ever and take signals, but run no more.
 */
async function isGroupRunning(groupId: number, platform: NodeJS.Platform): Promise<boolean> {
  if (!signalGroup(groupId, 0)) return false
  if (platform !== 'linux') return true
  const entries = await readdir('/proc').catch(() => undefined)
  if (entries === undefined) return true
  const stats = await Promise.all(
    entries
      .filter(name => /^\d+$/.test(name))
      .map(pid => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')),
  )
  return stats.some(stat => readStat(stat)?.group === groupId)
}
