import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { ownedBy } from './orphans.js'
import type { ProcessTable } from './process-table.js'
import type { ProcessTree } from './process-tree.js'

/** What the helper works with, and how long it waits. */
export interface WindowsGuardOptions {
  readonly table: ProcessTable
  readonly tree: ProcessTree
  readonly wait: (delayMs: number) => Promise<unknown>
  /** The wall clock, which the births of processes are told by. */
  readonly wallMs: () => number
  /** From the end of the input, which is that of the servers too, until those that remain are asked to end. */
  readonly endMs: number
  /** From there until they are ended. */
  readonly killMs: number
}

const readWatched = async (input: Readable): Promise<Map<number, number>> => {
  const watched = new Map<number, number>()
  try {
    for await (const line of createInterface({ input, crlfDelay: Infinity })) {
      const [, sign, pid, sinceMs] = /^([+-])(\d+)(?: (\d+))?$/.exec(line) ?? []
      if (sign === '-') watched.delete(Number(pid))
      else if (sinceMs !== undefined && Number(pid) > 1) watched.set(Number(pid), Number(sinceMs))
    }
  } catch {
    // A broken pipe is one that has ended.
  }
  return watched
}

/**
 * The helper of Windows: reads `+PID SINCE` and `-PID` lines, SINCE being the wall clock at its start, and when its input ends, ends the trees that remain:
 * after a while, for their own input has ended too. Resolves when that is done; never rejects.
 */
export const guardTrees = async (input: Readable, options: WindowsGuardOptions): Promise<void> => {
  const { table, tree, wait, wallMs, endMs, killMs } = options
  const watched = await readWatched(input)
  if (watched.size === 0) return
  const overMs = wallMs()
  await wait(endMs)
  // Where nobody may look at the processes, there is nobody to end: a number alone may be somebody else's by now.
  const pids = ownedBy(watched, await table.rows(), overMs)
  const asked = await Promise.all(pids.map(pid => tree.end(pid)))
  if (asked.includes(true)) await wait(killMs)
  await Promise.all(
    pids.map(async pid => {
      if (await tree.isRunning(pid)) await tree.kill(pid)
    }),
  )
}
