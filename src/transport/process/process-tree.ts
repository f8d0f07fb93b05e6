import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { systemCode } from '../../kernel/faults.js'
import { type Logger, silentLogger } from '../../kernel/logger.js'

/** PORT. Ends a process and all processes that it started. No method rejects. */
export interface ProcessTree {
  /**
   * True if a tree is a process group, led by its first process (started `detached`), which stays reachable
   * when that process is gone. Otherwise the id is invalid from then on, and may be reused.
   */
  readonly hasGroups: boolean
  /** Asks all processes to end; false if none can be asked, so that waiting is useless. */
  end(pid: number): Promise<boolean>
  /** Kills all processes. */
  kill(pid: number): Promise<void>
  /** Reports whether any process of the tree runs. */
  isRunning(pid: number): Promise<boolean>
}

/** Options for tests; `run` runs a program without a shell, and rejects unless it succeeds. */
interface TreeOptions {
  readonly platform?: NodeJS.Platform
  readonly log?: Logger
  readonly run?: (file: string, args: readonly string[]) => Promise<unknown>
}

/** `taskkill` normally returns at once. */
const RUN_LIMIT_MS = 5000

const execute = promisify(execFile)

const runProgram = (file: string, args: readonly string[]): Promise<unknown> =>
  execute(file, args, { timeout: RUN_LIMIT_MS, killSignal: 'SIGKILL', windowsHide: true })

/** Returns the Windows folder, to avoid looking up programs in `PATH`. */
export const systemRoot = (): string => process.env['SystemRoot'] ?? 'C:\\Windows'

const isProcess = (pid: number): boolean => Number.isSafeInteger(pid) && pid > 1

/** Reports whether a process with this id exists. */
export const processExists = (pid: number): boolean => {
  try {
    return isProcess(pid) && process.kill(pid, 0)
  } catch (thrown) {
    // Other errors, such as EPERM, mean that the process exists.
    return systemCode(thrown) !== 'ESRCH'
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

/** Windows has no process groups: `taskkill /T` follows parent ids while the first process lives. */
const windowsTree = (run: NonNullable<TreeOptions['run']>, log: Logger): ProcessTree => {
  const taskkill = async (pid: number, ...flags: readonly string[]): Promise<boolean> => {
    if (!isProcess(pid)) return false
    const args = ['/PID', String(pid), '/T', ...flags]
    try {
      await run(join(systemRoot(), 'System32', 'taskkill.exe'), args)
      return true
    } catch (thrown) {
      log.debug({ err: thrown, args }, 'taskkill did not end a process')
      return false
    }
  }
  return {
    hasGroups: false,
    // A program without a window, such as most servers, cannot be asked; `taskkill` then fails at once.
    end: pid => taskkill(pid),
    async kill(pid) {
      await taskkill(pid, '/F')
    },
    isRunning: pid => Promise.resolve(processExists(pid)),
  }
}

/** Creates the implementation for this platform. */
export const processTree = ({
  platform = process.platform,
  log = silentLogger,
  run = runProgram,
}: TreeOptions = {}): ProcessTree => (platform === 'win32' ? windowsTree(run, log) : posixTree(platform))

/** Signals all processes of a group; returns false if none can be signalled. */
function signalGroup(groupId: number, signal: NodeJS.Signals | 0): boolean {
  // kill(-1) reaches every process of the user, and kill(0) our own group.
  if (!isProcess(groupId)) return false
  try {
    process.kill(-groupId, signal)
    return true
  } catch {
    return false
  }
}

/** Reads /proc/PID/stat (`man proc_pid_stat`); undefined for a process that no longer runs. */
export function readStat(stat: string): { readonly group: number; readonly ticks: string } | undefined {
  // The name is in parentheses and may contain anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, , group] = fields
  const ticks = fields[19]
  if (ticks === undefined || state === 'Z' || state === 'X') return undefined
  return { group: Number(group), ticks }
}

/**
 * Reports whether a process of the group runs. Zombies do not count: in a container without an init process
 * they are never reaped.
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
