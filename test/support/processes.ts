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
import { PIPE_FOLDER } from '../../src/kernel/machine/socket-path.js'
import { createDeathGuard } from '../../src/transport/process/death-guard.js'
import type { ProcessRow, ProcessTable } from '../../src/transport/process/process-table.js'

export const isWindows = process.platform === 'win32'
const isLinux = process.platform === 'linux'

/** Windows allows only administrators to create symbolic links, and wine cannot link folders. */
const canLink = (): boolean => {
  // Next to the tests, because wine's abilities depend on the drive.
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

/** Reasons to skip tests that need an unavailable feature; false if it is available. */
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

/** Returns the exit of a program that handles a signal: 0, except on Windows, where the signal ends it. */
export const codeOnSignal = (signal: NodeJS.Signals): number | NodeJS.Signals => (isWindows ? signal : 0)

/** Description of a killed program in error messages; Windows reports only an exit code. */
export const KILLED = isWindows ? 'exited with code 1' : 'was killed by SIGKILL'

/**
 * Returns a path for a test's local socket, since the test folder may exceed the length limit; a named pipe
 * on Windows.
 */
export const socketFile = (t: Test): string => {
  if (isWindows) return `${PIPE_FOLDER}mcp-${randomUUID()}`
  const folder = mkdtempSync(join(tmpdir(), 'mcp-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'x.sock')
}

/** Returns whether a process runs; zombies count as ended. */
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

/** Far longer than any operation, even on a slow machine; turns a hang into a named failure. */
const LIMIT_MS = 60_000

/** Returns Node arguments to run a program that imports our modules by their paths in `src/`. */
export const programOfSources = (code: string): string[] => {
  const resolveDir = fileURLToPath(new URL('../../src', import.meta.url))
  const options = { bundle: true, packages: 'external', format: 'esm', platform: 'node' } as const
  const { outputFiles } = buildSync({ stdin: { contents: code, resolveDir }, ...options, write: false })
  return ['--input-type=module', '-e', outputFiles[0]?.text ?? '']
}

/** Resolves when `condition` holds; rejects after a long time with `what` the test waited for. */
export async function until(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const endMs = performance.now() + LIMIT_MS
  while (!(await condition())) {
    if (performance.now() > endMs) throw new Error(`waited in vain: ${what}`)
    await delay(5)
  }
}

/** Options to start test processes in their own group, which `endWith` can end. */
export const OWN_GROUP = { detached: !isWindows } as const

const guard = createDeathGuard()

/**
 * Ends a child started as an `OWN_GROUP` at the latest with the test, and also if this process is killed, as
 * tap does on a timeout. On Windows, also ends all its descendants, because a folder in use cannot be
 * removed; Windows itself ends our children with us.
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

/** Returns how to start a program that reports its loaded packages after it ended. */
export const tracedImports = (t: Test) => {
  const file = join(t.testdir(), 'imports.json')
  return {
    nodeArgs: ['--import', PRELOAD.href],
    env: { IMPORTS_FILE: file },
    read: (): string[] => JSON.parse(readFileSync(file, 'utf8')),
  }
}

/** A process as Windows reports it. */
export const windowsRow = (pid: number, parent: number, bornMs: number): ProcessRow => ({
  pid,
  group: pid,
  born: String(bornMs),
  parent,
  bornMs,
})

/** The process table of a simulated Windows. */
export const windowsTable = (rows: readonly ProcessRow[]): ProcessTable => ({
  rows: () => Promise.resolve(rows),
  births: () => Promise.resolve(new Map()),
  carries: () => Promise.resolve(false),
  carriers: () => Promise.resolve([]),
})
