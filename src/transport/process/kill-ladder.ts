import type { ChildProcess } from 'node:child_process'
import type { Clock } from '../../kernel/async/clock.js'
import { type ProcessTree, processTree } from './process-tree.js'

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

async function emptyWithin(tree: ProcessTree, pid: number, clock: Clock, delayMs: number): Promise<boolean> {
  const giveUpAtMs = clock.nowMs() + delayMs
  while (await tree.isRunning(pid)) {
    if (clock.nowMs() >= giveUpAtMs) return false
    await wait(clock, POLL_MS)
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
  if (await exitWithin(child, clock, times.closeMs)) return
  const isAsked = await tree.end(pid)
  if (await exitWithin(child, clock, isAsked ? times.termMs : 0)) return
  await tree.kill(pid)
  await exitWithin(child, clock, KILL_WAIT_MS)
}

async function endLeftovers(groupId: number, { clock, times, tree }: Ladder): Promise<boolean> {
  if (!(await tree.isRunning(groupId))) return true
  await tree.end(groupId)
  if (await emptyWithin(tree, groupId, clock, times.graceMs)) return true
  await tree.kill(groupId)
  return emptyWithin(tree, groupId, clock, times.graceMs)
}

/**
 * Ends a child that was started `detached` where there are groups, and every process of its tree: end of stdin, a request to end (SIGTERM),
 * the end (SIGKILL), each after its time; then what the child left behind in its group. Resolves when all that is done, with true when
 * nothing of it is left that could be reached; never rejects. A child that has exited already is only cleaned up after.
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
  // The timers of the clock do not keep us alive, and leaving between two rungs would leave the rest running.
  const hold = setInterval(() => undefined, 2 ** 30)
  try {
    await endLeader(child, pid, ladder)
    return tree.hasGroups ? await endLeftovers(pid, ladder) : hasExited(child)
  } finally {
    clearInterval(hold)
  }
}
