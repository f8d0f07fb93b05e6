import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { PIPE_FOLDER } from '../../src/kernel/socket-path.js'

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
