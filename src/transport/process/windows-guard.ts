import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { ownedBy } from './orphans.js'
import type { ProcessTable } from './process-table.js'
import type { ProcessTree } from './process-tree.js'

export interface WindowsGuardOptions {
  readonly table: ProcessTable
  readonly tree: ProcessTree
  readonly wait: (delayMs: number) => Promise<unknown>
  /** The wall clock, by which the table knows when processes began. */
  readonly wallMs: () => number
  /** From the end of the input, and so of the servers' input, until those that remain are asked to end. */
  readonly endMs: number
  /** From there until they are killed. */
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
    // A broken pipe is an ended one.
  }
  return watched
}

/**
 * The helper on Windows: reads lines `+PID SINCE` and `-PID`, where SINCE is the wall clock at the start of
 * the process, and ends the remaining trees some time after its input ends. Resolves when that is done; never
 * rejects.
 */
export const guardTrees = async (input: Readable, options: WindowsGuardOptions): Promise<void> => {
  const { table, tree, wait, wallMs, endMs, killMs } = options
  const watched = await readWatched(input)
  if (watched.size === 0) return
  const overMs = wallMs()
  await wait(endMs)
  // Where the table is empty nothing is ended: an id alone may be reused by now.
  const pids = ownedBy(watched, await table.rows(), overMs)
  const asked = await Promise.all(pids.map(pid => tree.end(pid)))
  if (asked.includes(true)) await wait(killMs)
  await Promise.all(
    pids.map(async pid => {
      if (await tree.isRunning(pid)) await tree.kill(pid)
    }),
  )
}
