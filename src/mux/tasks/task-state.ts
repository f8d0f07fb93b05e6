import { editMember, mayContain } from '../../kernel/json/edit.js'
import {
  at,
  isEmpty,
  type JsonText,
  kindOf,
  memberOf,
  stringOf,
  textMember,
  textOf,
  valueOf,
  withAt,
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

/** The ids of one task on the two hops. */
export interface TaskNames {
  readonly own: string
  readonly shown: string
}

/** Returns whether a message may name the task that it belongs to; false is certain. */
export const mayHaveRelated = (holder: JsonText): boolean => mayContain(holder, 'related-task')

/** Returns a result or params without the task and request ids, which only this hop knows. */
export const withoutRelated = (holder: JsonText): JsonText => withRelated(holder, undefined)

/** Returns a result or params with only the task of these names, under the client's id. */
export const withRelated = (holder: JsonText, names: TaskNames | undefined): JsonText =>
  editMember(holder, '_meta', meta => {
    const isNamed = names !== undefined && stringOf(at(meta, RELATED_TASK, 'taskId')) === names.own
    const strange = RELATED.filter(
      key => !(isNamed && key === RELATED_TASK) && memberOf(meta, key) !== undefined,
    )
    const rest = strange.length === 0 ? meta : withoutMember(meta, ...strange)
    if (isNamed) return withAt(rest, [RELATED_TASK, 'taskId'], textOf(names.shown))
    return rest !== meta && isEmpty(rest) ? undefined : rest
  })
