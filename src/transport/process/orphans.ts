import type { Clock } from '../../kernel/async/clock.js'
import { endsWithin, wait } from './kill-ladder.js'
import type { ProcessRow, ProcessTable } from './process-table.js'
import { type ProcessTree, processTree } from './process-tree.js'

/** The environment variable that marks our children and what they start. */
export const MARK_VARIABLE = 'MCP_PROXY_CHILD_OF'

/** A child as recorded at its start. */
export interface RecordedChild {
  readonly pid: number
  /** The wall clock at its start. */
  readonly sinceMs: number
  /** See `ProcessRow`; undefined if unknown. */
  readonly born: string | undefined
}

/** What a dead proxy left behind. */
export interface OrphanRecord {
  /** The value of `MARK_VARIABLE` in all its children. */
  readonly mark: string
  /** When, by the wall clock, the children were last known to have their ids. */
  readonly untilMs: number
  readonly children: readonly RecordedChild[]
}

export interface OrphanOptions {
  readonly table: ProcessTable
  readonly clock: Clock
  /** That of this system if absent. */
  readonly tree?: ProcessTree
  /** From SIGTERM to SIGKILL. */
  readonly termMs?: number
}

/** Short, because their stdin ended long ago. */
const TERM_MS = 2000
const POLL_MS = 50

/** Covers the delay until we learn of a start, and the difference between two clocks of one machine. */
const SLACK_MS = 2000

/** Whether a process ran already at a moment; false where its start is not known by the wall clock. */
export const hasRunSince = ({ bornMs = Number.NaN }: ProcessRow, sinceMs: number): boolean =>
  bornMs <= sinceMs + SLACK_MS

/**
 * The processes on Windows that belong to recorded ones, given with their starts: those themselves and their
 * children, even where the recorded one is gone. Its id was nobody else's until `untilMs`, so whatever was
 * born under that parent id before then is its child. Windows ends the direct children of a Node process that
 * dies (libuv, `uv_spawn`: the global job); for a `.cmd` that is `cmd.exe`, whose own child is the server.
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
 * Whether the group of a recorded child is still that child's: the child itself runs, born at the recorded
 * moment, or it is gone and a process of its group carries the mark. The id alone proves nothing, because ids
 * are reused.
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

const endOne = async (pid: number, tree: ProcessTree, clock: Clock, termMs: number): Promise<void> => {
  const isAsked = await tree.end(pid)
  if (!(await endsWithin(tree, pid, clock, isAsked ? termMs : 0))) await tree.kill(pid)
}

const signalOne = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal)
  } catch {
    // It has just ended.
  }
}

/**
 * Ends every process that carries the mark, for a server may have started some in sessions of their own, as
 * browsers are. Resolves with their ids once they are gone or could not be ended; never rejects.
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
 * Ends what a proxy left behind that was killed together with its death guard: the group (on Windows the
 * tree) of each recorded child if it is proven to be that child's, and what carries the mark. Resolves with
 * the ids of all that was ended; never rejects.
 */
export const endRecorded = async (record: OrphanRecord, options: OrphanOptions): Promise<number[]> => {
  const { clock, tree = processTree(), termMs = TERM_MS } = options
  const found = await recordedOf(record, options)
  await Promise.all(found.map(pid => endOne(pid, tree, clock, termMs)))
  return [...new Set([...found, ...(await endMarked(record.mark, options))])]
}

const recordedOf = async (record: OrphanRecord, { table, tree = processTree() }: OrphanOptions) => {
  const rows = await table.rows()
  return tree.hasGroups ? await groupsOf(record, rows, table) : treesOf(record, rows)
}

/** The ids of what `endRecorded` would end. Never rejects. */
export const findRecorded = async (record: OrphanRecord, options: OrphanOptions): Promise<number[]> => {
  const [recorded, marked] = await Promise.all([
    recordedOf(record, options),
    options.table.carriers(MARK_VARIABLE, record.mark),
  ])
  return [...new Set([...recorded, ...marked])]
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
