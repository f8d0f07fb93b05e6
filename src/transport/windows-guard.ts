import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import type { ProcessRow, ProcessTable } from './process-table.js'
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

/** Between a birth and our being told of it, and how far two clocks of one machine may be apart. */
const SLACK_MS = 2000

/** A FILETIME counts 100 ns from 1601 ([MS-DTYP] 2.3.3). */
const TICKS_PER_MS = 10_000
const EPOCH_MS = 11_644_473_600_000

const bornMs = ({ born }: ProcessRow): number => Number(born) / TICKS_PER_MS - EPOCH_MS

/**
 * Which processes belong to the watched ones, each with when we heard of it: those themselves, and what they started. The number of a
 * watched one was nobody else's from then on until `overMs`, so that whoever was born meanwhile under that number as its parent is
 * a child of it, also when it is gone. Node has Windows end the direct children of a process that dies (libuv, `uv_spawn`: the
 * global job), and for a `.cmd` that is `cmd.exe`, whose own child is the server.
 */
export const ownedBy = (
  watched: ReadonlyMap<number, number>,
  rows: readonly ProcessRow[],
  overMs: number,
): number[] =>
  rows
    .filter(row => {
      const ownSinceMs = watched.get(row.pid)
      if (ownSinceMs !== undefined && bornMs(row) <= ownSinceMs + SLACK_MS) return true
      const sinceMs = row.parent === undefined ? undefined : watched.get(row.parent)
      return sinceMs !== undefined && bornMs(row) >= sinceMs - SLACK_MS && bornMs(row) <= overMs + SLACK_MS
    })
    .map(({ pid }) => pid)

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
  const rows = await table.rows()
  // Where nobody may look at the processes, the numbers are all there is.
  const pids = rows.length > 0 ? ownedBy(watched, rows, overMs) : [...watched.keys()]
  const asked = await Promise.all(pids.map(pid => tree.end(pid)))
  if (asked.includes(true)) await wait(killMs)
  await Promise.all(
    pids.map(async pid => {
      if (await tree.isRunning(pid)) await tree.kill(pid)
    }),
  )
}
