import type { ChildProcess } from 'node:child_process'
import type { Clock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { type ProcessTree, processTree } from './process-tree.js'

/** Maximum time of each step. */
export interface LadderTimes {
  /** From the end of stdin, after which a server should exit, to SIGTERM. */
  readonly closeMs: number
  /** From SIGTERM to SIGKILL. */
  readonly termMs: number
  /** For the rest of the group, after SIGTERM and again after SIGKILL. */
  readonly graceMs: number
}

/** The spec lists the steps without times (2025-11-25, lifecycle, "Shutdown", stdio). */
export const LADDER_TIMES: LadderTimes = { closeMs: 2000, termMs: 3000, graceMs: 500 }

/** Poll interval of a group; the exit of a grandchild is not reported. */
const POLL_MS = 50

/** Maximum wait after SIGKILL: a process in an uninterruptible system call survives it. */
const KILL_WAIT_MS = 2000

const hasExited = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

/** Resolves after a delay. */
export const waitForExit = (clock: Clock, delayMs: number): Promise<void> =>
  new Promise(resolve => {
    clock.after(delayMs, resolve)
  })

async function exitsWithin(child: ChildProcess, clock: Clock, ms: number): Promise<boolean> {
  if (!hasExited(child)) {
    const exit = new Promise<void>(resolve => {
      child.once('exit', () => resolve())
    })
    await within(exit, { clock, ms })
  }
  return hasExited(child)
}

/** Reports whether the processes of `pid` end in time. */
export async function endsWithin(
  tree: ProcessTree,
  pid: number,
  clock: Clock,
  delayMs: number,
): Promise<boolean> {
  const giveUpAtMs = clock.nowMs() + delayMs
  while (await tree.isRunning(pid)) {
    if (clock.nowMs() >= giveUpAtMs) return false
    await waitForExit(clock, POLL_MS)
  }
  return true
}

interface Ladder {
  readonly clock: Clock
  readonly times: LadderTimes
  readonly tree: ProcessTree
}

async function endLeader(child: ChildProcess, pid: number, { clock, times, tree }: Ladder): Promise<void> {
  if (hasExited(child)) return
  child.stdin?.end()
  if (await exitsWithin(child, clock, times.closeMs)) return
  const isAsked = await tree.end(pid)
  if (await exitsWithin(child, clock, isAsked ? times.termMs : 0)) return
  await tree.kill(pid)
  await exitsWithin(child, clock, KILL_WAIT_MS)
}

async function endLeftovers(groupId: number, { clock, times, tree }: Ladder): Promise<boolean> {
  if (!(await tree.isRunning(groupId))) return true
  await tree.end(groupId)
  if (await endsWithin(tree, groupId, clock, times.graceMs)) return true
  await tree.kill(groupId)
  return endsWithin(tree, groupId, clock, times.graceMs)
}

/**
 * Ends a child and its process tree: closes stdin, then sends SIGTERM, then SIGKILL, and does the same to the
 * rest of its group. On POSIX, the child must have been started `detached`. Resolves with true if no
 * reachable process is left; never rejects.
 */
export async function endGroup(
  child: ChildProcess,
  clock: Clock,
  times: LadderTimes,
  tree: ProcessTree = processTree(),
): Promise<boolean> {
  const { pid } = child
  if (pid === undefined) return true
  const ladder = { clock, times, tree }
  // The clock's timers do not keep this process alive, but exiting early would leave processes behind.
  const hold = setInterval(() => undefined, 2 ** 30)
  try {
    await endLeader(child, pid, ladder)
    return tree.hasGroups ? await endLeftovers(pid, ladder) : hasExited(child)
  } finally {
    clearInterval(hold)
  }
}
