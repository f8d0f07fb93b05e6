import type { Clock } from '../../kernel/async/clock.js'
import type { ProcessRow, ProcessTable } from './process-table.js'
import { type ProcessTree, processTree } from './process-tree.js'

/** The variable by which a child of ours, and what it starts, can be told from all other processes. */
export const MARK_VARIABLE = 'MCP_PROXY_CHILD_OF'

/** A child as it was written down when it was started. */
export interface RecordedChild {
  readonly pid: number
  /** The wall clock at its start. */
  readonly sinceMs: number
  /** See `ProcessRow`; undefined if it could not be found out. */
  readonly born: string | undefined
}

/** What a proxy that is gone has left. */
export interface OrphanRecord {
  /** The value of the variable in the environment of all its children. */
  readonly mark: string
  /** Until when, at least, all of them had their numbers, by the wall clock. */
  readonly untilMs: number
  readonly children: readonly RecordedChild[]
}

/** How what it left is found and ended. */
export interface OrphanOptions {
  readonly table: ProcessTable
  readonly clock: Clock
  /** That of this system if absent. */
  readonly tree?: ProcessTree
  /** From SIGTERM to SIGKILL. */
  readonly termMs?: number
}

/** Their stdin has ended long ago, so they are late already. */
const TERM_MS = 2000
const POLL_MS = 50

/** Between a birth and our being told of it, and how far two clocks of one machine may be apart. */
const SLACK_MS = 2000

/** Whether a process had its number at a moment already; false where its birth is not told by the wall clock. */
export const hasRunSince = ({ bornMs = Number.NaN }: ProcessRow, sinceMs: number): boolean =>
  bornMs <= sinceMs + SLACK_MS

/**
 * Which processes of Windows belong to recorded ones, each with its start: those themselves, and what they started. The number of a
 * recorded one was nobody else's from then on until `untilMs`, so that whoever was born meanwhile under that number as its parent is
 * a child of it, also when it is gone. Node has Windows end the direct children of a process that dies (libuv, `uv_spawn`: the
 * global job), and for a `.cmd` that is `cmd.exe`, whose own child is the server.
 */
export const ownedBy = (
  recorded: ReadonlyMap<number, number>,
  rows: readonly ProcessRow[],
  untilMs: number,
): number[] =>
  rows
    .filter(row => {
      const { pid, parent = 0, bornMs = Number.NaN } = row
      const parentSinceMs = recorded.get(parent) ?? Number.NaN
      const isChild = bornMs >= parentSinceMs - SLACK_MS && hasRunSince(row, untilMs)
      return isChild || hasRunSince(row, recorded.get(pid) ?? Number.NaN)
    })
    .map(({ pid }) => pid)

/**
 * Whether the group of a recorded child is still that child's: the child itself runs, born at the recorded moment, or it is
 * gone and what runs in its group carries the mark. The number alone proves nothing, because numbers are used again.
 */
const isOurs = async (
  { pid, born }: RecordedChild,
  rows: readonly ProcessRow[],
  isMarked: (pid: number) => Promise<boolean>,
): Promise<boolean> => {
  const members = rows.filter(row => row.group === pid || row.pid === pid)
  const leader = members.find(row => row.pid === pid)
  if (leader !== undefined && born !== undefined) return leader.born === born
  const marked = await Promise.all(members.map(member => isMarked(member.pid)))
  return marked.includes(true)
}

const wait = (clock: Clock, delayMs: number): Promise<void> =>
  new Promise(resolve => {
    clock.after(delayMs, resolve)
  })

const endOne = async (pid: number, tree: ProcessTree, clock: Clock, termMs: number): Promise<void> => {
  const isAsked = await tree.end(pid)
  const killAtMs = clock.nowMs() + (isAsked ? termMs : 0)
  while (await tree.isRunning(pid)) {
    if (clock.nowMs() >= killAtMs) {
      await tree.kill(pid)
      return
    }
    await wait(clock, POLL_MS)
  }
}

const signalOne = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal)
  } catch {
    // It has just ended.
  }
}

/**
 * Ends every process that carries the mark, wherever it has gone: a server may have started something in a session of its own,
 * as browsers are started. Resolves with their numbers when they are gone, or could not be ended; never rejects.
 */
export const endMarked = async (
  mark: string,
  { table, clock, termMs = TERM_MS }: OrphanOptions,
): Promise<readonly number[]> => {
  const marked = () => table.carriers(MARK_VARIABLE, mark)
  const found = await marked()
  for (const pid of found) signalOne(pid, 'SIGTERM')
  const killAtMs = clock.nowMs() + termMs
  for (let left = found; left.length > 0; left = await marked()) {
    if (clock.nowMs() >= killAtMs) {
      for (const pid of left) signalOne(pid, 'SIGKILL')
      break
    }
    await wait(clock, POLL_MS)
  }
  return found
}

/**
 * Ends what a proxy left behind that was killed together with its death guard: of each recorded child the process group (on Windows the tree), if it
 * is proven to be that child's, and what carries its mark. Resolves with the numbers of what was ended; never rejects.
 */
export const endRecorded = async (brood: OrphanRecord, options: OrphanOptions): Promise<number[]> => {
  const { table, clock, tree = processTree(), termMs = TERM_MS } = options
  const rows = await table.rows()
  const found = tree.hasGroups ? await groupsOf(brood, rows, table) : treesOf(brood, rows)
  await Promise.all(found.map(pid => endOne(pid, tree, clock, termMs)))
  return [...new Set([...found, ...(await endMarked(brood.mark, options))])]
}

const groupsOf = async (
  { mark, children }: OrphanRecord,
  rows: readonly ProcessRow[],
  table: ProcessTable,
): Promise<number[]> => {
  const isMarked = (pid: number) => table.carries(pid, MARK_VARIABLE, mark)
  const found = await Promise.all(
    children.map(async child => ((await isOurs(child, rows, isMarked)) ? [child.pid] : [])),
  )
  return found.flat()
}

const treesOf = ({ children, untilMs }: OrphanRecord, rows: readonly ProcessRow[]): number[] =>
  ownedBy(new Map(children.map(({ pid, sinceMs }) => [pid, sinceMs])), rows, untilMs)
