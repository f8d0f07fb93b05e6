import { editMember } from '../../kernel/json/edit.js'
import {
  isEmpty,
  type JsonText,
  kindOf,
  memberOf,
  textMember,
  valueOf,
  withoutMember,
} from '../../kernel/json/text.js'

type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

/** A task as a server reports it (2025-11-25, basic/utilities/tasks; SEP-2663). */
export interface TaskState {
  readonly id: string
  readonly status: TaskStatus
  readonly pollMs: number
  /** The whole result: questions and result may accompany the status. */
  readonly text: JsonText
}

const STATUSES: ReadonlySet<string | undefined> = new Set<TaskStatus>([
  'working',
  'input_required',
  'completed',
  'failed',
  'cancelled',
])

const LEAST_POLL_MS = 1000
const MOST_POLL_MS = 30_000

const RELATED_TASK = 'io.modelcontextprotocol/related-task'
const RELATED = [RELATED_TASK, 'io.modelcontextprotocol/related-request']

/** Reads a task, nested or flat; undefined for anything else. */
export const readTask = (result: JsonText): TaskState | undefined => {
  const text = memberOf(result, 'task') ?? result
  const id = textMember(text, 'taskId')
  const status = textMember(text, 'status')
  if (id === undefined || !isStatus(status)) return undefined
  return { id, status, pollMs: pollMsOf(text), text }
}

const isStatus = (text: string | undefined): text is TaskStatus => STATUSES.has(text)

const pollMsOf = (task: JsonText): number => {
  const interval = memberOf(task, 'pollInterval') ?? memberOf(task, 'pollIntervalMs')
  const ms = interval !== undefined && kindOf(interval) === 'number' ? Number(valueOf(interval)) : 0
  return Math.min(Math.max(ms, LEAST_POLL_MS), MOST_POLL_MS)
}

/** Returns the task that a server message belongs to (2025-11-25, basic/utilities/tasks, "Related Task"). */
export const relatedTask = (params: JsonText | undefined): string | undefined => {
  const meta = params && memberOf(params, '_meta')
  const related = meta && memberOf(meta, RELATED_TASK)
  return related && textMember(related, 'taskId')
}

/** Returns a result or params without the task and request ids, which only this hop knows. */
export const withoutRelated = (holder: JsonText): JsonText =>
  editMember(holder, '_meta', meta => {
    const known = RELATED.filter(key => memberOf(meta, key) !== undefined)
    if (known.length === 0) return meta
    const rest = withoutMember(meta, ...known)
    return isEmpty(rest) ? undefined : rest
  })
