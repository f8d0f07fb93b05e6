import { backoffMs } from '../../kernel/async/backoff.js'
import type { Clock, Timer } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Deferred } from '../../kernel/async/deferred.js'
import { Fault } from '../../kernel/faults.js'
import { at, EMPTY, elementsOf, type JsonText, stringOf, textMember, textOf } from '../../kernel/json/text.js'
import type { Logger } from '../../kernel/logger.js'
import { type Call, type Client, type DownstreamCall, LISTEN, type Viewer } from '../../model/links.js'
import type { Outcome } from '../../model/outcome.js'
import type { Connection } from '../../peers/connection.js'
import type { Server } from '../../peers/server.js'
import { shownState } from '../tasks/shown-task.js'
import type { TaskIds } from '../tasks/task-ids.js'

const ACKNOWLEDGED = 'notifications/subscriptions/acknowledged'
const REPORTED = 'notifications/tasks'
/** Delays before a server is asked again after it ended a stream. */
const REOPEN = { firstMs: 1000, maxMs: 60_000 }

export interface TaskListensContext {
  readonly ids: Pick<TaskIds, 'open'>
  readonly servers: { serverOf(viewer: Viewer, name: string): Server | undefined }
  readonly presenter: { toolResult(result: JsonText, client: Client, connection: Connection): JsonText }
  readonly clock: Clock
  readonly log: Logger
}

/** The open requests of one client at servers, which report the states of its tasks. */
export interface TaskListening {
  /** The tasks that the servers acknowledged, as the client wrote them. */
  readonly accepted: readonly string[]
  isOn(connection: Connection): boolean
  close(): void
}

/**
 * Listens to tasks for clients (SEP-2663): one `subscriptions/listen` request for each server that runs some
 * of them, because one server must not learn of the tasks of another.
 */
export class TaskListens {
  readonly #context: TaskListensContext

  constructor(context: TaskListensContext) {
    this.#context = context
  }

  /**
   * Listens to the tasks with these ids of the client. Resolves when all servers have acknowledged, or after
   * `waitMs`. Ids that were not acknowledged by then are left out. Never rejects.
   */
  async open(call: Call, ids: readonly string[], waitMs: number): Promise<TaskListening> {
    const listens = this.#listensFor(call, ids)
    call.onCancelled(() => {
      for (const listen of listens) listen.close()
    })
    await within(Promise.all(listens.map(listen => listen.open())), {
      clock: this.#context.clock,
      ms: waitMs,
    })
    for (const listen of listens) if (listen.accepted.size === 0) listen.close()
    const kept = listens.filter(({ accepted }) => accepted.size > 0)
    return {
      accepted: ids.filter(id => kept.some(({ accepted }) => accepted.has(id))),
      isOn: connection => kept.some(listen => listen.connection === connection),
      close: () => {
        for (const listen of kept) listen.close()
      },
    }
  }

  #listensFor(call: Call, ids: readonly string[]): readonly TaskListen[] {
    const byServer = new Map<string, Map<string, string[]>>()
    for (const shown of ids) {
      const task = this.#context.ids.open(call, shown)
      if (task === undefined) continue
      const tasks = byServer.get(task.server) ?? new Map<string, string[]>()
      byServer.set(task.server, tasks.set(task.id, [...(tasks.get(task.id) ?? []), shown]))
    }
    return [...byServer].map(([server, tasks]) => new TaskListen(call, server, tasks, this.#context))
  }
}

/** One listening request at a server, opened again whenever the server ends it. */
class TaskListen {
  readonly #call: Call
  /** The name of the server, which may be replaced by a reload. */
  readonly #server: string
  /** The client's ids of each task. */
  readonly #tasks: ReadonlyMap<string, readonly string[]>
  readonly #context: TaskListensContext
  /** The acknowledged tasks, as the client wrote them. */
  accepted: ReadonlySet<string> = new Set()
  connection: Connection | undefined
  readonly #acknowledged = new Deferred<void>()
  #down: DownstreamCall | undefined
  #timer: Timer | undefined
  #failures = 0
  #isOver = false

  constructor(
    call: Call,
    server: string,
    tasks: ReadonlyMap<string, readonly string[]>,
    context: TaskListensContext,
  ) {
    this.#call = call
    this.#server = server
    this.#tasks = tasks
    this.#context = context
  }

  /** Resolves when the server has answered. Never rejects. */
  async open(): Promise<void> {
    void this.#request()
    await this.#acknowledged.promise
  }

  close(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.accepted = new Set()
    this.#timer?.cancel()
    this.#acknowledged.resolve()
    this.#down?.cancel('the client no longer listens')
  }

  get #visible(): Server | undefined {
    return this.#context.servers.serverOf(this.#call, this.#server)
  }

  async #request(): Promise<void> {
    const { client } = this.#call
    try {
      const server = this.#visible
      this.connection = server?.connectionFor(client)
      const link = await this.connection?.open()
      if (this.#isOver) return
      // Its tasks are gone with the server, or with its era.
      if (server === undefined || link?.serverRequests !== 'returned') {
        this.close()
        return
      }
      const params = textOf({ notifications: { taskIds: [...this.#tasks.keys()] } })
      const requester = { capabilities: server.shares.capabilitiesFor(client), logLevel: undefined }
      this.#down = link.call(
        { method: LISTEN, params, wantsProgress: false, requester },
        {
          progress: () => undefined,
          notified: (method, said) => this.#notified(method, said ?? EMPTY),
          ended: outcome => this.#ended(outcome),
        },
      )
    } catch (thrown) {
      this.#lost(Fault.from(thrown).message)
    }
  }

  #notified(method: string, params: JsonText): void {
    if (this.#isOver) return
    if (method === ACKNOWLEDGED) this.#accept(params)
    else if (method === REPORTED) this.#report(params)
  }

  #accept(params: JsonText): void {
    this.#failures = 0
    // The client is told of the first acknowledgement only.
    if (this.accepted.size > 0) return
    const named = at(params, 'notifications', 'taskIds') ?? EMPTY
    this.accepted = new Set([...elementsOf(named)].flatMap(own => this.#tasks.get(stringOf(own) ?? '') ?? []))
    this.#acknowledged.resolve()
  }

  #report(params: JsonText): void {
    const own = textMember(params, 'taskId') ?? ''
    const { connection } = this
    if (connection === undefined || this.#visible === undefined) return
    const { client } = this.#call
    const { presenter, log } = this.#context
    const convert = (result: JsonText): JsonText => presenter.toolResult(result, client, connection)
    const [server, era] = [this.#server, 'returned'] as const
    try {
      for (const shown of this.#tasks.get(own) ?? []) {
        if (!this.accepted.has(shown)) continue
        const view = { names: { own, shown }, client, server, era, convert }
        this.#call.notify(REPORTED, shownState(params, view))
      }
    } catch (thrown) {
      // The client polls, and receives the error then.
      log.warn({ server, why: Fault.from(thrown).message }, 'dropped a notification about a task')
    }
  }

  #ended(outcome: Outcome): void {
    this.#down = undefined
    // A server that refuses it will refuse it again.
    if (outcome.kind === 'error') this.close()
    else this.#lost(outcome.kind === 'fault' ? outcome.fault.message : 'the server ended it')
  }

  #lost(why: string): void {
    if (this.#isOver) return
    // Without an acknowledgement, the client was not promised anything.
    if (this.accepted.size === 0) {
      this.close()
      return
    }
    const { clock, log } = this.#context
    log.debug({ server: this.#server, why }, 'a stream for tasks ended')
    this.#timer = clock.after(backoffMs(this.#failures, REOPEN), () => void this.#request())
    this.#failures += 1
  }
}
