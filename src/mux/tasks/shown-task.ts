import { Fault } from '../../kernel/faults.js'
import { editMember } from '../../kernel/json/edit.js'
import {
  type JsonText,
  kindOf,
  memberOf,
  repeatedKey,
  textMember,
  textOf,
  withAt,
  withMember,
  withoutMember,
} from '../../kernel/json/text.js'
import type { Client, ServerRequestMode } from '../../model/links.js'
import { problemOfQuestions, wrongInput } from '../input-required/rounds/relayed-input.js'
import { type TaskNames, withRelated } from './task-state.js'

/** How messages about one task are shown to its client. */
export interface TaskView {
  readonly names: TaskNames
  readonly client: Pick<Client, 'capabilities'>
  /** The name of the server, and its mode, which is also the client's. */
  readonly server: string
  readonly era: ServerRequestMode
  /** Converts the result of the tool. Throws a Fault for a result that the client must not get. */
  readonly convert: (result: JsonText) => JsonText
}

const TASK_ID: ReadonlySet<string> = new Set(['taskId'])

/** Returns the server's own id in the result that creates a task. Throws a Fault if there is none. */
export const createdId = (result: JsonText, era: ServerRequestMode): string => {
  const task = era === 'pushed' ? memberOf(result, 'task') : result
  const id = task && repeatedKey(task, TASK_ID) === undefined ? textMember(task, 'taskId') : undefined
  if (id === undefined) throw new Fault('internal', 'it returned invalid data about a task')
  return id
}

/** Returns the result that creates a task, under the client's id. All other members stay. */
export const shownCreation = (result: JsonText, era: ServerRequestMode, names: TaskNames): JsonText => {
  const path = era === 'pushed' ? ['task', 'taskId'] : ['taskId']
  return withRelated(withAt(result, path, textOf(names.shown)), names)
}

/**
 * Returns the state of a task for its client: a result of `tasks/get` or `tasks/cancel`, or the params of a
 * notification. Throws a Fault for questions or a result that the client must not get.
 */
export const shownState = (state: JsonText, view: TaskView): JsonText => {
  const { names, server, era, client, convert } = view
  if (repeatedKey(state, TASK_ID) !== undefined)
    throw new Fault('internal', 'it returned invalid data about a task')
  const hasId = memberOf(state, 'taskId') !== undefined
  const named = hasId ? withMember(state, 'taskId', textOf(names.shown)) : state
  const shown = withRelated(named, names)
  if (era === 'pushed') return shown
  const requests = memberOf(shown, 'inputRequests')
  const problem = requests && problemOfQuestions(requests, client.capabilities)
  if (problem !== undefined) throw wrongInput(server, problem)
  return editMember(shown, 'result', result => (kindOf(result) === 'object' ? convert(result) : result))
}

/** Some servers answer `tasks/get` with the kind of result that creates a task (SEP-2663, examples). */
export const withoutTaskType = (result: JsonText): JsonText => withoutMember(result, 'resultType')
