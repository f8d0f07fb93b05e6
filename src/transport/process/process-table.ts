import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readStat, systemRoot } from './process-tree.js'

/** A running process; zombies do not count. */
export interface ProcessRow {
  readonly pid: number
  /** Its process group; on Windows, which has none, its own id. */
  readonly group: number
  /** When it began, in any form that, with the id, tells it from later processes with the same id. */
  readonly born: string
  /** Its parent, on Windows only. That may be long gone, and its id reused. */
  readonly parent?: number
  /** When it began by the wall clock, on Windows only. */
  readonly bornMs?: number
}

/** PORT. The processes that we may see on this machine. Never rejects: what we cannot see does not exist. */
export interface ProcessTable {
  rows(): Promise<readonly ProcessRow[]>
  /** When these began, as far as it is known at once; empty on Windows, where the wall clock is enough. */
  births(pids: readonly number[]): Promise<ReadonlyMap<number, string>>
  /** Whether a process was started with this variable in its environment; false where it is not visible. */
  carries(pid: number, variable: string, value: string): Promise<boolean>
  /** All processes for which `carries` holds, except ourselves. */
  carriers(variable: string, value: string): Promise<readonly number[]>
}

const PS_LIMIT_BYTES = 16 * 1024 * 1024
const PROGRAM_LIMIT_MS = 10_000

/** The output of a program; empty if it fails. */
const outputOf = (program: string, args: readonly string[]): Promise<string> =>
  new Promise(resolve => {
    const options = {
      // For the same names of months and the same time zone each time.
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
