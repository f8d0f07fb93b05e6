import type { Catalog } from '../../catalog/catalog.js'
import { type JsonText, textMember, textOf, withMember } from '../../kernel/json/text.js'
import { type Client, viewerOf } from '../../model/links.js'
import type { Connection } from '../../peers/connection.js'
import type { ClientObserver } from '../calls/call-record.js'
import { mayHaveRelated, relatedTask, type TaskNames, withRelated } from './task-state.js'

/** A task that a session follows by itself. */
export interface SessionTask extends TaskNames {
  readonly client: Client
  /** The progress token of the call that created it. */
  readonly progressToken: JsonText | undefined
}

/** Bounds the tasks remembered per connection; the oldest is forgotten first, and its session polls. */
const TASKS_MAX = 1000

const STATUS = 'notifications/tasks/status'

/** The members of notifications about tasks that have other values on each hop. */
const NAMED_IN = { [STATUS]: 'taskId', 'notifications/progress': 'progressToken' } as const

/** The notifications about tasks that belong to no request. */
type TaskNotification = keyof typeof NAMED_IN

const isAboutTask = (method: string): method is TaskNotification => Object.hasOwn(NAMED_IN, method)

const ENDED: ReadonlySet<string | undefined> = new Set(['completed', 'failed', 'cancelled'])

/**
 * Remembers which session created a task of 2025-11-25, because its server sends messages about it outside of
 * requests. All other data about a task is in its sealed id, so that a forgotten task can still be polled.
 */
export class SessionTasks implements ClientObserver {
  readonly #byConnection = new Map<Connection, Map<string, SessionTask>>()
  readonly #catalog: Pick<Catalog, 'sees'>
  readonly #isAlone: boolean

  /** `isAlone` if the only server is served unchanged, with its own ids of tasks. */
  constructor(catalog: Pick<Catalog, 'sees'>, isAlone: boolean) {
    this.#catalog = catalog
    this.#isAlone = isAlone
  }

  add(connection: Connection, task: SessionTask): void {
    const tasks = this.#byConnection.get(connection) ?? new Map<string, SessionTask>()
    this.#byConnection.set(connection, tasks)
    tasks.delete(task.own)
    tasks.set(task.own, task)
    const [oldest] = tasks.keys()
    if (tasks.size > TASKS_MAX && oldest !== undefined) tasks.delete(oldest)
  }

  find(connection: Connection, own: string | undefined): SessionTask | undefined {
    return own === undefined ? undefined : this.#byConnection.get(connection)?.get(own)
  }

  /** Forgets a finished task: its server sends nothing more about it. */
  over(connection: Connection, own: string): void {
    const tasks = this.#byConnection.get(connection)
    if (tasks?.delete(own) === true && tasks.size === 0) this.#byConnection.delete(connection)
  }

  lost(connection: Connection): void {
    this.#byConnection.delete(connection)
  }

  met(): void {
    // It has no tasks yet.
  }

  /** Forgets the tasks of a client. */
  left(client: Client): void {
    for (const [connection, tasks] of this.#byConnection) {
      for (const task of tasks.values()) if (task.client === client) this.over(connection, task.own)
    }
  }

  /**
   * Returns whether a notification is about a task. Passes it to the session of the task, under the names
   * that the session knows.
   */
  takes(connection: Connection, method: string, params: JsonText | undefined): boolean {
    if (!isAboutTask(method)) return false
    const own = params && (method === STATUS ? textMember(params, 'taskId') : relatedTask(params))
    const task = this.find(connection, own)
    // A client of a single server knows the task by the same id.
    if (task === undefined || params === undefined) return !(this.#isAlone && method === STATUS)
    if (method === STATUS && ENDED.has(textMember(params, 'status'))) this.over(connection, task.own)
    const { client, shown, progressToken } = task
    const name = method === STATUS ? textOf(shown) : progressToken
    if (name !== undefined && this.#catalog.sees(viewerOf(client), connection.server, 'tools'))
      client.notify(method, withMember(withRelated(params, task), NAMED_IN[method], name))
    return true
  }

  /** Returns a message of a server with its task under the client's id, or without an unknown task. */
  withShown(connection: Connection, message: JsonText): JsonText {
    const own = !this.#isAlone && mayHaveRelated(message) ? relatedTask(message) : undefined
    return own === undefined ? message : withRelated(message, this.find(connection, own))
  }
}
