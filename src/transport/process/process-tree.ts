import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { systemCode } from '../../kernel/faults.js'
import { type Logger, silentLogger } from '../../kernel/logger.js'

/** PORT. Ends a process that we started with everything that it started. Nothing of it rejects. */
export interface ProcessTree {
  /**
   * Whether a tree is a process group, which its first process must be started to lead (`detached`), and
   * which remains reachable when that process is gone. Otherwise its id means nothing from then on, and may
   * be reused.
   */
  readonly hasGroups: boolean
  /** Asks all of it to end; false if nothing there can be asked, so that waiting is useless. */
  end(pid: number): Promise<boolean>
  /** Ends all of it without asking. */
  kill(pid: number): Promise<void>
  /** Whether anything runs that the id still reaches. */
  isRunning(pid: number): Promise<boolean>
}

/** For which platform; `run` runs a program without a shell, and rejects unless it succeeds. */
interface TreeOptions {
  readonly platform?: NodeJS.Platform
  readonly log?: Logger
  readonly run?: (file: string, args: readonly string[]) => Promise<unknown>
}

/** `taskkill` returns at once, unless the machine is in trouble. */
const RUN_LIMIT_MS = 5000

const execute = promisify(execFile)

const runProgram = (file: string, args: readonly string[]): Promise<unknown> =>
  execute(file, args, { timeout: RUN_LIMIT_MS, killSignal: 'SIGKILL', windowsHide: true })

/** The directory of Windows, so that programs are not looked up in `PATH`. */
export const systemRoot = (): string => process.env['SystemRoot'] ?? 'C:\\Windows'

const isProcess = (pid: number): boolean => Number.isSafeInteger(pid) && pid > 1

/** Whether any process has this id. */
export const processExists = (pid: number): boolean => {
  try {
    return isProcess(pid) && process.kill(pid, 0)
  } catch (thrown) {
    // Anything but ESRCH means that it exists and is not ours to signal.
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

/** Windows has no groups: `taskkill /T` follows the parent ids for as long as the first process lives. */
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
    // A program without a window, as most servers are, cannot be asked: `taskkill` says so at once.
    end: pid => taskkill(pid),
    async kill(pid) {
      await taskkill(pid, '/F')
    },
    isRunning: pid => Promise.resolve(processExists(pid)),
  }
}

/** Ends trees of processes as this platform can. */
export const processTree = ({
  platform = process.platform,
  log = silentLogger,
  run = runProgram,
}: TreeOptions = {}): ProcessTree => (platform === 'win32' ? windowsTree(run, log) : posixTree(platform))

/** Signals every process of a group; false if none is left that we may signal. */
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
  // The name stands in parentheses and may contain anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, , group] = fields
  const ticks = fields[19]
  if (ticks === undefined || state === 'Z' || state === 'X') return undefined
  return { group: Number(group), ticks }
}

/**
 * Whether a process of the group still runs. Zombies do not count: in a container without an init nobody
 * reaps orphans, and they stay in their group for ever.
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
