import type { Catalog } from '../../catalog/catalog.js'
import { at, type JsonText, stringOf, textOf, withAt } from '../../kernel/json/text.js'
import type { Request, Requester } from '../../model/links.js'
import { bare } from '../input-required/input-retries.js'
import type { RoutedRecord } from './call-record.js'
import type { InFlightCall } from './in-flight-call.js'
import type { LogLevels } from './log-levels.js'
import { type PassedParts, passingOf } from './passing.js'

/** The `ttl` requested for tasks that the proxy polls; servers may keep them for longer. */
const TASK_TTL_MS = 600_000

/** With several servers, nothing passes unchanged. */
const UNPASSED: PassedParts = { followsTasks: false }

interface RequestContext {
  readonly catalog: Pick<Catalog, 'find'>
  readonly logLevels: Pick<LogLevels, 'wantedBy'>
}

/** Returns the request to send to a server for a call. */
export const requestFor = ({ record, link }: InFlightCall, context: RequestContext): Request => {
  const { method, named, wantsProgress } = record
  const { isAlone } = record.owner.server.shares
  const isPushed = link.serverRequests === 'pushed'
  const { followsTasks, isPassed, takesAnyType } = isAlone ? passingOf(record, link) : UNPASSED
  const hasName = isPassed === true && !isPushed
  const hasHeaders = hasName || record.owner.server.options.passing !== undefined
  return {
    method,
    params: renamed(record, isPushed),
    isBare: named !== undefined && isPassed !== true,
    wantsProgress,
    followsTasks: record.isAboutTask || (method === 'tools/call' && link.mayReturnTasks && !followsTasks),
    taskTtlMs: link.facts.capabilities.tasks
      ? taskTtlMs(record, isPushed && isPassed !== true, context)
      : undefined,
    task: record.task,
    isPassed,
    takesAnyType,
    headers: hasHeaders ? headersFor(record, hasName) : undefined,
    // A server that pushes requests knows the client's capabilities, and gets its level beforehand.
    requester: isPushed ? undefined : requesterOf(record, context),
  }
}

/**
 * Returns the name of a subject that only the client and the server understand
 * (basic/transports/streamable-http, `Mcp-Name`).
 */
const nameHeader = ({ arrival }: RoutedRecord): Request['headers'] => {
  const name = arrival?.headers?.['mcp-name']
  return name === undefined ? undefined : { 'Mcp-Name': name }
}

/**
 * Returns the headers of a call's own HTTP request that the server gets. They replace the headers of the
 * client's first request, which the connection has.
 */
const passedFor = ({ caller, client, owner: { server } }: RoutedRecord): Request['headers'] => {
  const passed = server.options.passing?.of(caller)
  const { headers: first } = server.shares.of(client)
  if (first === undefined) return passed
  return { ...Object.fromEntries(Object.keys(first).map(name => [name, undefined] as const)), ...passed }
}

/** Returns the headers of the client that the server gets, and the name of an item that is passed on. */
const headersFor = (record: RoutedRecord, hasName: boolean): Request['headers'] => {
  const passed = passedFor(record)
  const name = hasName ? nameHeader(record) : undefined
  return passed === undefined ? name : { ...passed, ...name }
}

/** Returns the requester of a call, with the log level of the request or of its session. */
export const requesterOf = (
  { client, logLevel, owner }: RoutedRecord,
  { logLevels }: RequestContext,
): Requester => ({
  capabilities:
    client.capabilities.declared === undefined
      ? client.capabilities
      : owner.server.shares.capabilitiesFor(client),
  logLevel: logLevel ?? logLevels.wantedBy(client),
})

/** Returns the `ttl` for a tool that can be called only as a task (2025-11-25, basic/utilities/tasks). */
const taskTtlMs = (
  record: RoutedRecord,
  mayRequest: boolean,
  { catalog }: RequestContext,
): number | undefined => {
  if (!mayRequest || record.method !== 'tools/call' || record.task !== undefined) return undefined
  const tool = catalog.find(record, 'tools', record.exposed)
  const isRequired = tool !== undefined && stringOf(at(tool.text, 'execution', 'taskSupport')) === 'required'
  return isRequired ? TASK_TTL_MS : undefined
}

/** Returns params under the server's own name; servers that push requests do not support retries. */
const renamed = (record: RoutedRecord, isPushed: boolean): JsonText | undefined => {
  const { ownName, exposed, path, sentParams, retry } = record
  const params = retry !== undefined && isPushed ? bare(sentParams) : sentParams
  return params === undefined || exposed === ownName ? params : withAt(params, path, textOf(ownName))
}
