import { type ChildProcess, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'
import type { Test } from 'tap'
import { PIPE_FOLDER } from '../../src/machine/socket-path.js'
import { createDeathGuard } from '../../src/transport/process/death-guard.js'
import type { ProcessRow, ProcessTable } from '../../src/transport/process/process-table.js'

export const isWindows = process.platform === 'win32'
const isLinux = process.platform === 'linux'

/** Windows makes symbolic links for administrators only, and wine none to folders. */
const canLink = (): boolean => {
  // Beside the tests: what wine can do depends on the drive.
  const tests = join(process.cwd(), '.tap')
  mkdirSync(tests, { recursive: true })
  const folder = mkdtempSync(join(tests, 'link-'))
  try {
    symlinkSync(folder, join(folder, 'link'), 'junction')
    return true
  } catch {
    return false
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Why a test is skipped where it needs something that there is not; false where there is. */
export const skipWithout = {
  signals: isWindows && 'Windows ends a process at once that is sent a signal',
  groups: isWindows && 'Windows has no process groups',
  unixSockets: isWindows && 'Windows has named pipes in place of unix domain sockets',
  modes: isWindows && 'Windows has no modes of files',
  fifos: isWindows && 'Windows has no pipes among its files',
  links: !canLink() && 'links to folders cannot be made here',
  windows: !isWindows && 'Windows only; elsewhere `npm run windows` runs it',
  sendBuffers: isWindows && 'Windows takes a large write at once, whether it is read or not',
  ulimit: isWindows && 'Windows has no limit on open files that a shell could set',
  proc: !isLinux && 'what runs is read from /proc of Linux',
  fullDevice: !isLinux && 'only Linux has /dev/full',
  mocks:
    !process.execArgv.some(arg => arg.includes('@tapjs/mock')) &&
    'modules can be replaced only where tap itself runs the test',
  script:
    (!isLinux || spawnSync('script', ['--version']).status !== 0) &&
    'makes a terminal with `script` of Linux',
} as const satisfies Record<string, string | false>

/** What a program exits with that ends in order on a signal: with 0, but not where the signal is its end. */
export const codeOnSignal = (signal: NodeJS.Signals): number | NodeJS.Signals => (isWindows ? signal : 0)

/** How a program ends that is killed, in the words of errors; Windows tells it by a code. */
export const KILLED = isWindows ? 'exited with code 1' : 'was killed by SIGKILL'

/** A path for a local socket of a test, whose own folder may be too long for one; on Windows a named pipe. */
export const socketFile = (t: Test): string => {
  if (isWindows) return `${PIPE_FOLDER}mcp-${randomUUID()}`
  const folder = mkdtempSync(join(tmpdir(), 'mcp-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'x.sock')
}

/** Whether a process runs; one that only waits to be reaped by somebody else does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return process.platform !== 'linux'
  }
}

/** Far longer than anything takes, on a slow machine too: it only gives a name to what would hang. */
const LIMIT_MS = 60_000

/** The arguments with which Node runs a program that imports modules of ours, each by its path in `src/`. */
export const programOfSources = (code: string): string[] => {
  const resolveDir = fileURLToPath(new URL('../../src', import.meta.url))
  const options = { bundle: true, packages: 'external', format: 'esm', platform: 'node' } as const
  const { outputFiles } = buildSync({ stdin: { contents: code, resolveDir }, ...options, write: false })
  return ['--input-type=module', '-e', outputFiles[0]?.text ?? '']
}

/**
 * Resolves when `condition` holds; rejects after a long while, so that a test that hangs says what it waits
 * for.
 */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const endMs = performance.now() + LIMIT_MS
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`waited in vain: ${what}`)
    await delay(5)
  }
}

/** How the processes of a test are started: a group of its own is what `endWith` can end. */
export const OWN_GROUP = { detached: !isWindows } as const

const guard = createDeathGuard()

/**
 * Ends a child that was started as an `OWN_GROUP` with the test at the latest, and also if this process is
 * killed, as tap does with a file
 * that takes too long. On Windows all that it started goes with it, for a folder that somebody works in
 * cannot be removed; and Windows
 * itself ends what we started with us.
 */
export const endWith = (t: Test, child: ChildProcess): void => {
  const { pid = 0 } = child
  if (!isWindows) guard.watch(pid)
  const gone = once(child, 'exit').catch(() => undefined)
  t.teardown(async () => {
    if (!isWindows) child.kill('SIGKILL')
    else {
      const { stdout } = spawnSync('taskkill', ['/PID', String(pid), '/T', '/F'], { encoding: 'utf8' })
      const pids = [...stdout.matchAll(/\d+/g)].map(Number).filter(each => each !== process.pid)
      await until(() => !pids.some(isRunning), 'the end of all that a program started')
    }
    await gone
    guard.forget(pid)
  })
}

const PRELOAD = new URL('../fixtures/print-imports.mjs', import.meta.url)

/** How to start a program so that it tells, once it has ended, which packages it loaded. */
export const tracedImports = (t: Test) => {
  const file = join(t.testdir(), 'imports.json')
  return {
    nodeArgs: ['--import', PRELOAD.href],
    env: { IMPORTS_FILE: file },
    read: (): string[] => JSON.parse(readFileSync(file, 'utf8')),
  }
}

/** A process as Windows tells of it. */
export const windowsRow = (pid: number, parent: number, bornMs: number): ProcessRow => ({
  pid,
  group: pid,
  born: String(bornMs),
  parent,
  bornMs,
})

/** What runs on a Windows that is played. */
export const windowsTable = (rows: readonly ProcessRow[]): ProcessTable => ({
  rows: () => Promise.resolve(rows),
  births: () => Promise.resolve(new Map()),
  carries: () => Promise.resolve(false),
  carriers: () => Promise.resolve([]),
})
