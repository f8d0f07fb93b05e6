import type { Catalog } from '../../catalog/catalog.js'
import { at, type JsonText, stringOf, textOf, withAt } from '../../kernel/json/text.js'
import type { Downlink, Request, Requester } from '../../model/links.js'
import { bare } from '../input-required/input-retries.js'
import type { RoutedRecord } from './call-record.js'
import type { InFlightCall } from './in-flight-call.js'
import type { LogLevels } from './log-levels.js'

/** The longest `ttl` requested for tasks: a server may delete older ones, even before they finish. */
const TASK_TTL_MS = 24 * 60 * 60_000

interface RequestContext {
  readonly catalog: Pick<Catalog, 'find'>
  readonly logLevels: Pick<LogLevels, 'wantedBy'>
}

/** Returns the request to send to a server for a call. */
export const requestFor = ({ record, link }: InFlightCall, context: RequestContext): Request => {
  const { method, named, wantsProgress } = record
  const isPushed = link.serverRequests === 'pushed'
  return {
    method,
    params: renamed(record, isPushed),
    isBare: named !== undefined,
    wantsProgress,
    followsTasks: method === 'tools/call' && link.mayReturnTasks,
    taskTtlMs: isPushed && needsTask(record, link, context) ? taskTtlMs(record) : undefined,
    // A server that pushes requests knows the client's capabilities, and gets its level beforehand.
    requester: isPushed ? undefined : requesterOf(record, context),
  }
}

/** Returns the requester of a call, with the log level of the request or of its session. */
export const requesterOf = (
  { client, logLevel, owner }: RoutedRecord,
  { logLevels }: RequestContext,
): Requester => ({
  capabilities: owner.server.shares.capabilitiesFor(client),
  logLevel: logLevel ?? logLevels.wantedBy(client),
})

const taskTtlMs = ({ connection }: RoutedRecord): number =>
  Math.min(connection.server.timeouts.totalMs, TASK_TTL_MS)

/** Returns whether a tool can be called only as a task (2025-11-25, basic/utilities/tasks). */
const needsTask = (record: RoutedRecord, link: Downlink, { catalog }: RequestContext): boolean => {
  if (record.method !== 'tools/call' || !link.facts.capabilities.tasks) return false
  const tool = catalog.find(record, 'tools', record.exposed)
  return tool !== undefined && stringOf(at(tool.text, 'execution', 'taskSupport')) === 'required'
}

/** Returns params under the server's own name; servers that push requests do not support retries. */
const renamed = (record: RoutedRecord, isPushed: boolean): JsonText | undefined => {
  const { ownName, exposed, path, sentParams, retry } = record
  const params = retry !== undefined && isPushed ? bare(sentParams) : sentParams
  return params === undefined || exposed === ownName ? params : withAt(params, path, textOf(ownName))
}
