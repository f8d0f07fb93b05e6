import { type JsonText, memberOf } from '../../kernel/json/text.js'
import type { Client, Downlink, Request } from '../../model/links.js'
import { declaresTasks, hasOwnTasks } from '../../model/peer.js'
import type { RoutedRecord } from './call-record.js'

/** The parts of a call that pass between one client and one server. */
export type PassedParts = Pick<Request, 'isPassed' | 'takesAnyType'> & {
  /** True if the client follows tasks by itself. */
  readonly followsTasks: boolean
}

/** Returns the parts of a call that pass unchanged to the only server. */
export const passingOf = (record: RoutedRecord, link: Downlink): PassedParts => {
  const { client, isPassed, method, params } = record
  const { declared } = client.capabilities
  const mayExtend = declared !== undefined && client.serverRequests === 'returned'
  return {
    isPassed: isPassed || (method === 'tools/call' && asksForTask(client, params, link)),
    takesAnyType: mayExtend && declared.extensions.size > 0,
    followsTasks: declaresTasks(client),
  }
}

/** A client that asks a server of its own revision for a task gets that task. */
const asksForTask = (client: Client, params: JsonText | undefined, { facts }: Downlink): boolean =>
  hasOwnTasks(client) &&
  hasOwnTasks(facts) &&
  memberOf(facts.announced, 'tasks') !== undefined &&
  params !== undefined &&
  memberOf(params, 'task') !== undefined
