import { type JsonText, objectText, textOf } from '../../kernel/json/text.js'
import type { CallSink, Client, Downlink } from '../../model/links.js'
import { type Outcome, succeeded } from '../../model/outcome.js'
import type { InFlightCall } from '../calls/in-flight-call.js'
import type { SessionTasks } from './session-tasks.js'
import { createdId, shownCreation, shownState, withoutTaskType } from './shown-task.js'
import type { OwnTask, TaskIds } from './task-ids.js'
import { readTask, withRelated } from './task-state.js'

/** Converts the result of a tool call. Throws a Fault for a result that the client must not get. */
type Convert = (result: JsonText) => Outcome & { readonly kind: 'result' }

/** Ignores the answer. */
const UNHEARD: CallSink = { progress: () => undefined, ended: () => undefined }

/** Converts the outcomes of calls about tasks that their clients follow by themselves. */
export class TaskOutcomes {
  readonly #ids: TaskIds
  readonly #sessionTasks: SessionTasks

  constructor(ids: TaskIds, sessionTasks: SessionTasks) {
    this.#ids = ids
    this.#sessionTasks = sessionTasks
  }

  /** Converts the result that creates a task. Throws a Fault for invalid data. */
  created({ call: { client }, connection, link, record }: InFlightCall, result: JsonText): Outcome {
    const own = createdId(result, link.serverRequests)
    const shown = this.#sealed(client, { server: connection.server.name, id: own }, link)
    const { progressToken } = record.call
    if (link.serverRequests === 'pushed')
      this.#sessionTasks.add(connection, { own, shown, client, progressToken })
    return { kind: 'task', result: shownCreation(result, link.serverRequests, { own, shown }) }
  }

  /** Cancels a task whose id no client can get. */
  #sealed(client: Client, task: OwnTask, link: Downlink): string {
    try {
      return this.#ids.seal(client, task)
    } catch (thrown) {
      const params = objectText([['taskId', textOf(task.id)]])
      link.call({ method: 'tasks/cancel', params, wantsProgress: false, followsTasks: true }, UNHEARD)
      throw thrown
    }
  }

  /** Remembers the session of a task that a single server created, under its own id. */
  passed({ call: { client }, connection, link, record }: InFlightCall, result: JsonText): void {
    const own = readTask(result)?.id
    if (own === undefined || link.serverRequests !== 'pushed') return
    const { progressToken } = record.call
    this.#sessionTasks.add(connection, { own, shown: own, client, progressToken })
  }

  /** Converts the result of a request about a task. Throws a Fault for data that the client must not get. */
  about(
    { call: { client }, connection, link, record }: InFlightCall,
    result: JsonText,
    convert: Convert,
  ): Outcome {
    const names = { own: record.ownName, shown: record.exposed }
    if (record.method === 'tasks/result') {
      this.#sessionTasks.over(connection, names.own)
      const converted = convert(result)
      return { ...converted, result: withRelated(converted.result, names) }
    }
    const view = {
      ...{ names, client, server: connection.server.name, era: link.serverRequests },
      convert: (inner: JsonText) => convert(inner).result,
    }
    return succeeded(shownState(withoutTaskType(result), view))
  }
}
