import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readStat, systemRoot } from './process-tree.js'

/** A running process; zombies do not count. */
export interface ProcessRow {
  readonly pid: number
  /** Process group; on Windows, its own id. */
  readonly group: number
  /** Start time in any format, which distinguishes processes with the same id. */
  readonly born: string
  /** Parent, on Windows only; it may have ended, and its id may be reused. */
  readonly parent?: number
  /** Start time by the wall clock, on Windows only. */
  readonly bornMs?: number
}

/** PORT. Lists visible processes of this machine. Never rejects. */
export interface ProcessTable {
  rows(): Promise<readonly ProcessRow[]>
  /** Returns known start times; empty on Windows, where the wall clock suffices. */
  births(pids: readonly number[]): Promise<ReadonlyMap<number, string>>
  /** Reports whether a process has this variable in its environment; false if that is not visible. */
  carries(pid: number, variable: string, value: string): Promise<boolean>
  /** Returns all processes with this variable, except this one. */
  carriers(variable: string, value: string): Promise<readonly number[]>
}

const PS_LIMIT_BYTES = 16 * 1024 * 1024
const PROGRAM_LIMIT_MS = 10_000

/** Returns the output of a program, or an empty text if it fails. */
const outputOf = (program: string, args: readonly string[]): Promise<string> =>
  new Promise(resolve => {
    const options = {
      // Fixes the language of months and the time zone.
      env: { ...process.env, LC_ALL: 'C', TZ: 'UTC' },
      maxBuffer: PS_LIMIT_BYTES,
      timeout: PROGRAM_LIMIT_MS,
      windowsHide: true,
    }
    execFile(program, args, options, (_error, stdout) => resolve(stdout)).on('error', () => resolve(''))
  })

const birthsIn = (rows: readonly ProcessRow[]): ReadonlyMap<number, string> =>
  new Map(rows.map(({ pid, born }) => [pid, born]))

const linuxRows = async (names: readonly string[]): Promise<ProcessRow[]> => {
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')
  const rows = await Promise.all(
    names
      .filter(name => /^\d+$/.test(name))
      .map(async name => {
        const stat = readStat(await readFile(`/proc/${name}/stat`, 'utf8').catch(() => ''))
        return stat && { pid: Number(name), group: stat.group, born: `${boot.trim()} ${stat.ticks}` }
      }),
  )
  return rows.filter(row => row !== undefined)
}

const linux: ProcessTable = {
  rows: async () => linuxRows(await readdir('/proc').catch(() => [])),
  births: async pids => birthsIn(await linuxRows(pids.map(String))),
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

/** Parses lines of `ps -o pid=,pgid=,state=,lstart=`. @internal */
export const rowsOfPs = (text: string): ProcessRow[] =>
  text.split('\n').flatMap(line => {
    const [, pid, group, state, born] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(\S.*?)\s*$/.exec(line) ?? []
    if (born === undefined || state?.startsWith('Z') === true) return []
    return [{ pid: Number(pid), group: Number(group), born: born.replace(/\s+/g, ' ') }]
  })

const PS = '/bin/ps'

const psRows = async (...which: readonly string[]): Promise<ProcessRow[]> =>
  rowsOfPs(await outputOf(PS, [...which, '-o', 'pid=,pgid=,state=,lstart=']))

const posix: ProcessTable = {
  rows: () => psRows('-ax'),
  births: async pids => birthsIn(await psRows('-p', pids.join(','))),
  // `-E` adds the environment to the command; macOS hides it for its own programs.
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

/** A FILETIME counts 100 ns from 1601 ([MS-DTYP] 2.3.3). */
const TICKS_PER_MS = 10_000
const EPOCH_MS = 11_644_473_600_000

/** Parses lines of `POWERSHELL_ROWS`. @internal */
export const rowsOfWindows = (text: string): ProcessRow[] =>
  text.split('\n').flatMap(line => {
    const [, id, parent, born] = /^\s*(\d+) (\d+) (\d+)\s*$/.exec(line) ?? []
    if (born === undefined) return []
    const pid = Number(id)
    return [{ pid, group: pid, born, parent: Number(parent), bornMs: Number(born) / TICKS_PER_MS - EPOCH_MS }]
  })

const windows: ProcessTable = {
  rows: async () => {
    const program = join(systemRoot(), 'System32', 'WindowsPowerShell', 'v1.0', 'powershell.exe')
    return rowsOfWindows(
      await outputOf(program, ['-NoProfile', '-NonInteractive', '-Command', POWERSHELL_ROWS]),
    )
  },
  births: () => Promise.resolve(new Map()),
  carries: () => Promise.resolve(false),
  carriers: () => Promise.resolve([]),
}

export const processTable = (platform: NodeJS.Platform = process.platform): ProcessTable => {
  if (platform === 'linux') return linux
  return platform === 'win32' ? windows : posix
}
