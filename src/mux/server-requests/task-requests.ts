import type { Client, ServerRequest } from '../../model/links.js'
import type { Connection } from '../../peers/connection.js'
import type { InFlightCall } from '../calls/in-flight-call.js'
import type { SessionTasks } from '../tasks/session-tasks.js'
import { relatedTask, type TaskNames } from '../tasks/task-state.js'
import type { Evidence, Origin } from './origin.js'

/**
 * Returns the session that follows the task of a server request (2025-11-25, basic/utilities/tasks), while no
 * request about the task is open.
 */
export const taskOrigin = (
  sessionTasks: Pick<SessionTasks, 'find'>,
  connection: Connection,
  { params }: ServerRequest,
  { about }: Evidence<Client, InFlightCall>,
): Origin<Client, InFlightCall> | undefined => {
  if (about !== undefined && about !== 'another') return undefined
  const task = sessionTasks.find(connection, relatedTask(params))
  return task && { is: 'client', client: task.client }
}

/** Returns the names of the task that a server request belongs to, if its client follows the task. */
export const taskNames = (
  sessionTasks: Pick<SessionTasks, 'find'>,
  connection: Connection,
  { params }: ServerRequest,
  { client, inFlight }: { readonly client: Client; readonly inFlight: InFlightCall | undefined },
): TaskNames | undefined => {
  const own = relatedTask(params)
  const record = inFlight?.record
  if (record?.isAboutTask === true && record.ownName === own) return { own, shown: record.exposed }
  const task = sessionTasks.find(connection, own)
  return task?.client === client ? task : undefined
}

/** Returns the names for messages in the other direction. */
export const reversed = ({ own, shown }: TaskNames): TaskNames => ({ own: shown, shown: own })
