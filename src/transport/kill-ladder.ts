import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Clock } from '../kernel/clock.js'
import { isGroupRunning, signalGroup } from './process-group.js'

/** How long each rung of the ladder is given. */
export interface LadderTimes {
  /** From the end of stdin to SIGTERM: a server that follows the spec exits by itself. */
  readonly closeMs: number
  /** From SIGTERM to SIGKILL. */
  readonly termMs: number
  /** For what the leader left behind, after SIGTERM and again after SIGKILL. */
  readonly graceMs: number
}

/** The spec (2025-11-25, lifecycle, "Shutdown", stdio) names the rungs and leaves the times to us. */
export const LADDER_TIMES: LadderTimes = { closeMs: 2000, termMs: 3000, graceMs: 500 }

/** How often we look whether a group is empty; nobody tells us when a grandchild ends. */
const POLL_MS = 50

/** A process in an uninterruptible system call outlives SIGKILL; nobody waits longer than this for it. */
const KILL_WAIT_MS = 2000

const hasExited = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

const wait = (clock: Clock, delayMs: number): Promise<void> =>
  new Promise(resolve => {
    clock.after(delayMs, resolve)
  })

function exitWithin(child: ChildProcess, clock: Clock, delayMs: number): Promise<boolean> {
  if (hasExited(child)) return Promise.resolve(true)
  return new Promise(resolve => {
    const timer = clock.after(delayMs, () => {
      child.off('exit', onExit)
      resolve(hasExited(child))
    })
    const onExit = () => {
      timer.cancel()
      resolve(true)
    }
    child.once('exit', onExit)
  })
}

async function emptyWithin(groupId: number, clock: Clock, delayMs: number): Promise<boolean> {
  const giveUpAtMs = clock.nowMs() + delayMs
  while (await isGroupRunning(groupId)) {
    if (clock.nowMs() >= giveUpAtMs) return false
    await wait(clock, POLL_MS)
  }
  return true
}

/** Windows has no groups: `taskkill /T` follows the parent ids for as long as the leader lives. */
export function killTree(pid: number): void {
  const program = join(process.env.SystemRoot ?? 'C:\\Windows', 'System32', 'taskkill.exe')
  spawn(program, ['/pid', String(pid), '/T', '/F'], { stdio: 'ignore', windowsHide: true }).on(
    'error',
    () => undefined,
  )
}

async function endLeader(child: ChildProcess, pid: number, clock: Clock, times: LadderTimes): Promise<void> {
  if (hasExited(child)) return
  child.stdin?.end()
  if (await exitWithin(child, clock, times.closeMs)) return
  if (process.platform === 'win32') {
    killTree(pid)
  } else {
    signalGroup(pid, 'SIGTERM')
    if (await exitWithin(child, clock, times.termMs)) return
    signalGroup(pid, 'SIGKILL')
  }
  await exitWithin(child, clock, KILL_WAIT_MS)
}

async function endLeftovers(groupId: number, clock: Clock, graceMs: number): Promise<boolean> {
  if (process.platform === 'win32') return true
  if (!(await isGroupRunning(groupId))) return true
  signalGroup(groupId, 'SIGTERM')
  if (await emptyWithin(groupId, clock, graceMs)) return true
  signalGroup(groupId, 'SIGKILL')
  return emptyWithin(groupId, clock, graceMs)
}

/**
 * Ends a child that was started `detached`, and every process of its group: end of stdin, SIGTERM, SIGKILL, each
 * after its time; then what the child left behind. Resolves when all that is done, with true when the group is
 * gone; never rejects. A child that has exited already is only cleaned up after.
 */
export async function endGroup(child: ChildProcess, clock: Clock, times: LadderTimes): Promise<boolean> {
  const { pid } = child
  if (pid === undefined) return true
  // The timers of the clock do not keep us alive, and leaving between two rungs would leave the rest running.
  const hold = setInterval(() => undefined, 2 ** 30)
  try {
    await endLeader(child, pid, clock, times)
    return await endLeftovers(pid, clock, times.graceMs)
  } finally {
    clearInterval(hold)
  }
}
