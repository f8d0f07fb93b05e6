import type { Clock } from '../../kernel/async/clock.js'
import { endsWithin, waitForExit } from './kill-ladder.js'
import type { ProcessRow, ProcessTable } from './process-table.js'
import { type ProcessTree, processTree } from './process-tree.js'

/** Environment variable that marks all children and their descendants. */
export const MARK_VARIABLE = 'MCP_PROXY_CHILD_OF'

/** A child, as recorded at its start. */
export interface RecordedChild {
  readonly pid: number
  /** Wall clock at its start. */
  readonly sinceMs: number
  /** See `ProcessRow`; undefined if unknown. */
  readonly born: string | undefined
}

/** Record of a dead proxy's children. */
export interface OrphanRecord {
  /** Value of `MARK_VARIABLE` in all its children. */
  readonly mark: string
  /** Time, by the wall clock, until which the children certainly had their ids. */
  readonly untilMs: number
  readonly children: readonly RecordedChild[]
}

export interface EndOrphanOptions {
  readonly table: ProcessTable
  readonly clock: Clock
  /** Defaults to this platform's. */
  readonly tree?: ProcessTree
  /** Delay from SIGTERM to SIGKILL. */
  readonly termMs?: number
}

/** Short, because their stdin ended long ago. */
const TERM_MS = 2000
const POLL_MS = 50

/** Tolerates the delay of a recorded start, and clock differences. */
const SLACK_MS = 2000

/** Reports whether a process was already running at a time; false if its start is unknown. */
export const hasRunSince = ({ bornMs = Number.NaN }: ProcessRow, sinceMs: number): boolean =>
  bornMs <= sinceMs + SLACK_MS

/**
 * Returns the Windows processes that belong to recorded ones (with their starts): those themselves and their
 * children, even if the recorded process is gone. Its id was not reused before `untilMs`, so a process born
 * before then with that parent id is its child. Windows ends only direct children of a dying Node process
 * (libuv, `uv_spawn`: the global job); for a `.cmd` that is `cmd.exe`, whose own child is the server.
 */
export const orphansOf = (
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
 * Reports whether a group still belongs to a recorded child: either the child runs with the recorded start
 * time, or it is gone and a process of the group carries the mark. The id alone could be reused.
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
 * Ends every process with the mark, including those in other sessions, such as browsers. Resolves with their
 * ids once they are gone or could not be ended; never rejects.
 */
export const endMarked = async (
  mark: string,
  { table, clock, termMs = TERM_MS }: EndOrphanOptions,
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
    await waitForExit(clock, POLL_MS)
  }
  return found
}

/**
 * Ends the processes of a proxy that was killed together with its death guard: the group (on Windows the
 * tree) of each recorded child, once verified, and all processes with the mark. Resolves with the ids of all
 * ended processes; never rejects.
 */
export const endRecorded = async (record: OrphanRecord, options: EndOrphanOptions): Promise<number[]> => {
  const { clock, tree = processTree(), termMs = TERM_MS } = options
  const found = await recordedOf(record, options)
  await Promise.all(found.map(pid => endOne(pid, tree, clock, termMs)))
  return [...new Set([...found, ...(await endMarked(record.mark, options))])]
}

const recordedOf = async (record: OrphanRecord, { table, tree = processTree() }: EndOrphanOptions) => {
  const rows = await table.rows()
  return tree.hasGroups ? await groupsOf(record, rows, table) : treesOf(record, rows)
}

/** Returns the ids that `endRecorded` would end. Never rejects. */
export const findRecorded = async (record: OrphanRecord, options: EndOrphanOptions): Promise<number[]> => {
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
  orphansOf(new Map(children.map(({ pid, sinceMs }) => [pid, sinceMs])), rows, untilMs)
