import type { Catalog } from '../../catalog/catalog.js'
import { Fault } from '../../kernel/faults.js'
import { EMPTY, objectText, repeatedKey, textMember } from '../../kernel/json/text.js'
import { TASKS_EXTENSION } from '../../model/extensions.js'
import type { Client, Viewer } from '../../model/links.js'
import { type Answer, failed } from '../../model/outcome.js'
import { declaresTasks } from '../../model/peer.js'
import { missingCapability } from '../../model/rpc-error.js'
import type { Server } from '../../peers/server.js'
import { type CallRecord, type Interceptor, NEXT, type RoutedRecord } from '../calls/call-record.js'
import type { Forwarder } from '../calls/forward.js'
import { noMethod } from '../calls/unknown-method.js'
import type { Conditions } from '../routes.js'
import type { TaskIds } from './task-ids.js'

/** The requests about tasks of both eras; a client of one era has only some of them. */
const METHODS = ['tasks/get', 'tasks/update', 'tasks/cancel', 'tasks/result']
const TASK_ID: ReadonlySet<string> = new Set(['taskId'])

export interface TaskCallsContext {
  readonly ids: TaskIds
  readonly catalog: Pick<Catalog, 'offering'>
  readonly clients: { mayUse(viewer: Viewer, conditions: Conditions): boolean }
  readonly forwarder: Pick<Forwarder, 'forwardTo'>
}

/** Forwards requests about tasks to the servers that run them. */
export class TaskCalls {
  readonly #context: TaskCallsContext

  constructor(context: TaskCallsContext) {
    this.#context = context
  }

  /** Serves a request about a task; any failure ends it. */
  serve(record: CallRecord): void {
    try {
      const { ids, clients, forwarder } = this.#context
      const { params = EMPTY, client } = record
      const shown = repeatedKey(params, TASK_ID) === undefined ? textMember(params, 'taskId') : undefined
      const task = shown === undefined ? undefined : ids.open(record, shown)
      if (task === undefined && !clients.mayUse(record, { needs: 'tasks' })) throw noMethod(record)
      if (!mayFollowTasks(client)) {
        record.end(extensionMissing())
        return
      }
      const server = task && this.serverOf(record, task.server)
      if (shown === undefined || task === undefined || server === undefined) throw taskNotFound()
      record.path = ['taskId']
      record.exposed = shown
      record.isAboutTask = true
      record.followsTask = true
      forwarder.forwardTo(record, { server, own: task.id })
    } catch (thrown) {
      record.end(failed(Fault.from(thrown)))
    }
  }

  /** Returns the server of a task, if the viewer sees it and its tools. */
  serverOf(viewer: Viewer, name: string): Server | undefined {
    for (const server of this.#context.catalog.offering(viewer, 'tools').keys())
      if (server.name === name) return server
    return undefined
  }

  /** Checks requests about tasks once their server is connected. */
  get interceptor(): Interceptor {
    const run = (record: RoutedRecord) => {
      const { client, connection, isAboutTask, method } = record
      if (!isAboutTask) return NEXT
      // The server may have changed its era, and lost its tasks with it.
      if (connection.link?.serverRequests !== client.serverRequests) return failed(taskNotFound())
      // It blocks until the task is over.
      if (method === 'tasks/result') record.totalAtMs = Number.POSITIVE_INFINITY
      return NEXT
    }
    return { name: 'tasks', stage: 'sending', methods: METHODS, run }
  }
}

/** Returns whether a request may be about tasks: those of 2026-07-28 have to be declared on it (SEP-2663). */
export const mayFollowTasks = (client: Client): boolean =>
  client.serverRequests === 'pushed' || declaresTasks(client)

/** Returns the error of a request about tasks that does not declare their extension. */
export const extensionMissing = (): Answer => ({
  kind: 'error',
  error: missingCapability(objectText([['extensions', objectText([[TASKS_EXTENSION, EMPTY]])]])),
})

/** The same message for every cause, so that existing tasks cannot be guessed. */
const taskNotFound = (): Fault => new Fault('invalid-params', 'Failed to retrieve task: Task not found')
