import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { orphansOf } from './orphans.js'
import type { ProcessTable } from './process-table.js'
import type { ProcessTree } from './process-tree.js'

export interface WindowsGuardOptions {
  readonly table: ProcessTable
  readonly tree: ProcessTree
  readonly wait: (delayMs: number) => Promise<unknown>
  /** Wall clock, as used for the start times in the table. */
  readonly wallMs: () => number
  /** Delay from the end of the input (and the servers' input) until remaining servers are asked to end. */
  readonly endMs: number
  /** Delay from there until they are killed. */
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
    // A broken pipe counts as the end.
  }
  return watched
}

/**
 * The helper on Windows. Reads lines `+PID SINCE` and `-PID`, where SINCE is the wall clock at the start of
 * the process, and ends the remaining trees after its input ends. Resolves when done; never rejects.
 */
export const guardTrees = async (input: Readable, options: WindowsGuardOptions): Promise<void> => {
  const { table, tree, wait, wallMs, endMs, killMs } = options
  const watched = await readWatched(input)
  if (watched.size === 0) return
  const overMs = wallMs()
  await wait(endMs)
  // With an empty table nothing is ended, because ids may have been reused.
  const pids = orphansOf(watched, await table.rows(), overMs)
  const asked = await Promise.all(pids.map(pid => tree.end(pid)))
  if (asked.includes(true)) await wait(killMs)
  await Promise.all(
    pids.map(async pid => {
      if (await tree.isRunning(pid)) await tree.kill(pid)
    }),
  )
}
