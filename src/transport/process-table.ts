import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readStat } from './process-group.js'
import { systemRoot } from './process-tree.js'

/** A process as the operating system knows it; zombies do not count. */
export interface ProcessRow {
  readonly pid: number
  /** Its process group; on Windows, which has none, its own id. */
  readonly group: number
  /** Who started it, told on Windows only, where nothing else says what belongs together. It may be long gone, and its id another's. */
  readonly parent?: number
  /** When it began, in whatever form: with the id it names one process and no later one with the same id. */
  readonly born: string
}

/** PORT. What runs on this machine, as far as we may see it. Nothing of it rejects: what cannot be seen is not there. */
export interface ProcessTable {
  /** All of them, or those with these ids: there may be thousands of others. */
  rows(pids?: readonly number[]): Promise<readonly ProcessRow[]>
  /** Whether a process was started with this variable in its environment; false where that cannot be seen. */
  carries(pid: number, variable: string, value: string): Promise<boolean>
  /** All processes that `carries` would tell so of, but not ourselves. */
  carriers(variable: string, value: string): Promise<readonly number[]>
}

const PS_LIMIT_BYTES = 16 * 1024 * 1024
const PROGRAM_LIMIT_MS = 10_000

/** The output of a program of the operating system; empty if there is none. */
const outputOf = (program: string, args: readonly string[]): Promise<string> =>
  new Promise(resolve => {
    const options = {
      // The names of months and the time zone must be the same each time.
      env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' },
      maxBuffer: PS_LIMIT_BYTES,
      timeout: PROGRAM_LIMIT_MS,
      windowsHide: true,
    }
    execFile(program, args, options, (_error, stdout) => resolve(stdout)).on('error', () => resolve(''))
  })

const linux: ProcessTable = {
  async rows(pids) {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')
    const names = pids?.map(String) ?? (await readdir('/proc').catch(() => []))
    const rows = await Promise.all(
      names
        .filter(name => /^\d+$/.test(name))
        .map(async name => {
          const stat = readStat(await readFile(`/proc/${name}/stat`, 'utf8').catch(() => ''))
          return stat && { pid: Number(name), group: stat.group, born: `${boot.trim()} ${stat.ticks}` }
        }),
    )
    return rows.filter(row => row !== undefined)
  },
  async carries(pid, variable, value) {
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')
    return environment.split('\0').includes(`${variable}=${value}`)
  },
  async carriers(variable, value) {
    const rows = await this.rows()
    const found = await Promise.all(
      rows.map(async ({ pid }) => ((await this.carries(pid, variable, value)) ? [pid] : [])),
    )
    return found.flat().filter(pid => pid !== process.pid)
  },
}

/** Lines of `ps -o pid=,pgid=,state=,lstart=`. */
export const rowsOfPs = (text: string): ProcessRow[] =>
  text.split('\n').flatMap(line => {
    const [, pid, group, state, born] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(\S.*?)\s*$/.exec(line) ?? []
    if (born === undefined || state?.startsWith('Z') === true) return []
    return [{ pid: Number(pid), group: Number(group), born: born.replace(/\s+/g, ' ') }]
  })

const PS = '/bin/ps'

const posix: ProcessTable = {
  rows: async pids => {
    const which = pids === undefined ? ['-ax'] : ['-p', pids.join(',')]
    return rowsOfPs(await outputOf(PS, [...which, '-o', 'pid=,pgid=,state=,lstart=']))
  },
  // `-E` adds the environment to the command; macOS hides that of its own programs.
  carries: async (pid, variable, value) =>
    (await outputOf(PS, ['-E', '-ww', '-o', 'command=', '-p', String(pid)]))
      .split(/\s/)
      .includes(`${variable}=${value}`),
  carriers: async (variable, value) =>
    (await outputOf(PS, ['-ax', '-E', '-ww', '-o', 'pid=,command=']))
      .split('\n')
      .filter(line => line.split(/\s/).includes(`${variable}=${value}`))
      .map(line => Number.parseInt(line, 10))
      .filter(pid => pid !== process.pid),
}

const POWERSHELL_ROWS =
  'Get-CimInstance Win32_Process | Where-Object CreationDate | ' +
  'ForEach-Object { "$($_.ProcessId) $($_.ParentProcessId) $($_.CreationDate.ToFileTimeUtc())" }'

/** Lines of an id, that of the parent, and a time of creation. */
export const rowsOfWindows = (text: string): ProcessRow[] =>
  text.split('\n').flatMap(line => {
    const [, pid, parent, born] = /^\s*(\d+) (\d+) (\d+)\s*$/.exec(line) ?? []
    return born === undefined ? [] : [{ pid: Number(pid), group: Number(pid), parent: Number(parent), born }]
  })

const windows: ProcessTable = {
  rows: async pids => {
    const program = join(systemRoot(), 'System32', 'WindowsPowerShell', 'v1.0', 'powershell.exe')
    const rows = rowsOfWindows(
      await outputOf(program, ['-NoProfile', '-NonInteractive', '-Command', POWERSHELL_ROWS]),
    )
    return pids === undefined ? rows : rows.filter(({ pid }) => pids.includes(pid))
  },
  carries: () => Promise.resolve(false),
  carriers: () => Promise.resolve([]),
}

/** The processes of this machine. */
export const processTable = (platform: NodeJS.Platform = process.platform): ProcessTable => {
  if (platform === 'linux') return linux
  return platform === 'win32' ? windows : posix
}
