import { type JsonText, textMember } from '../../kernel/json/text.js'
import type { Client, DownstreamCall, ServerRequest } from '../../model/links.js'
import type { Connection } from '../../peers/connection.js'
import type { CallTable } from '../calls/call-table.js'
import type { InFlightCall } from '../calls/in-flight-call.js'
import type { SessionTasks } from '../tasks/session-tasks.js'
import { relatedTask, type TaskNames } from '../tasks/task-state.js'
import { type Origin, originOf } from './origin.js'

export interface TaskOrigins {
  readonly calls: Pick<CallTable, 'evidence' | 'ofTask'>
  readonly sessionTasks: Pick<SessionTasks, 'find'>
}

/**
 * Returns the origin of a server message: the request that it is known to be about, or else the request or
 * the session of the task that it names (2025-11-25, basic/utilities/tasks, "Related Task"). Otherwise,
 * `originOf` decides.
 */
export const messageOrigin = (
  { calls, sessionTasks }: TaskOrigins,
  connection: Connection,
  { about, params }: { readonly about: DownstreamCall | undefined; readonly params: JsonText | undefined },
): Origin<Client, InFlightCall> => {
  const evidence = calls.evidence(connection, about)
  if (evidence.about !== undefined && evidence.about !== 'another') return originOf(evidence)
  const own = relatedTask(params)
  const call = calls.ofTask(connection, own)
  if (call !== undefined) return { is: 'call', call, isCertain: true }
  const task = sessionTasks.find(connection, own)
  return task === undefined ? originOf(evidence) : { is: 'client', client: task.client }
}

/** Returns the names of the task that a server request belongs to, if its client follows the task. */
export const taskNames = (
  sessionTasks: Pick<SessionTasks, 'find'>,
  connection: Connection,
  { params }: ServerRequest,
  { client, inFlight }: { readonly client: Client; readonly inFlight: InFlightCall | undefined },
): TaskNames | undefined => {
  const own = relatedTask(params)
  const names = inFlight && requestedTask(inFlight)
  if (names !== undefined && names.own === own) return names
  const task = sessionTasks.find(connection, own)
  return task?.client === client ? task : undefined
}

/** Returns the task that a request is about; a single server and its client know it by the same id. */
const requestedTask = ({ record }: InFlightCall): TaskNames | undefined => {
  const { isAboutTask, isPassed, ownName, exposed, params } = record
  if (isAboutTask) return { own: ownName, shown: exposed }
  const own = isPassed ? params && textMember(params, 'taskId') : undefined
  return own === undefined ? undefined : { own, shown: own }
}

/** Returns the names for messages in the other direction. */
export const reversed = ({ own, shown }: TaskNames): TaskNames => ({ own: shown, shown: own })
