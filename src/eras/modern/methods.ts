/** Traits of a request of this revision. */
interface RequestTraits {
  /** True if its result carries `ttlMs` and `cacheScope` (server/utilities/caching). */
  readonly isCacheable: boolean
  /** True if it may be answered by an `InputRequiredResult` (basic/patterns/mrtr). */
  readonly mayNeedInput: boolean
}

const PLAIN: RequestTraits = { isCacheable: false, mayNeedInput: false }
const CACHEABLE: RequestTraits = { isCacheable: true, mayNeedInput: false }

/** Requests of a client (schema, `ClientRequest`). */
export const REQUESTS: ReadonlyMap<string, RequestTraits> = new Map<string, RequestTraits>([
  ['server/discover', CACHEABLE],
  ['tools/list', CACHEABLE],
  ['tools/call', { isCacheable: false, mayNeedInput: true }],
  ['prompts/list', CACHEABLE],
  ['prompts/get', { isCacheable: false, mayNeedInput: true }],
  ['resources/list', CACHEABLE],
  ['resources/templates/list', CACHEABLE],
  ['resources/read', { isCacheable: true, mayNeedInput: true }],
  ['completion/complete', PLAIN],
  ['subscriptions/listen', PLAIN],
])

/** Requests of extensions that a proxy with several servers has; all others are unknown methods. */
const EXTENSION_REQUESTS: ReadonlyMap<string, RequestTraits> = new Map<string, RequestTraits>([
  ['skills/list', CACHEABLE],
  ['skills/get', CACHEABLE],
  // The extension does not require the hints (SEP-2640), but SDK 2.4 does.
  ['resources/directory/read', CACHEABLE],
  ['tasks/get', PLAIN],
  ['tasks/update', PLAIN],
  ['tasks/cancel', PLAIN],
])

const traitsOf = (method: string): RequestTraits | undefined =>
  REQUESTS.get(method) ?? EXTENSION_REQUESTS.get(method)

/** Returns whether a proxy with several servers may have a method. */
export const isKnownRequest = (method: string): boolean => traitsOf(method) !== undefined

/** Requests that only older revisions have; no server of this revision may receive them. */
export const RETIRED_REQUESTS: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
  'tasks/result',
])

/** Returns whether complete results of this method carry cache hints. */
export const isCacheable = (method: string): boolean => traitsOf(method)?.isCacheable === true

/** Returns whether this method may be answered by `resultType: "input_required"`. */
export const methodMayNeedInput = (method: string): boolean => REQUESTS.get(method)?.mayNeedInput === true

/** Notifications that a server may send on the stream of the request they are about. */
export const REQUEST_NOTIFICATIONS: ReadonlySet<string> = new Set([
  'notifications/progress',
  'notifications/message',
])

/** The notification of a task's new state (SEP-2663). */
export const TASK_REPORT = 'notifications/tasks'

/** Notifications that a server may send on the stream of `subscriptions/listen` only. */
export const LISTEN_NOTIFICATIONS: ReadonlySet<string> = new Set([
  'notifications/subscriptions/acknowledged',
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
  TASK_REPORT,
])

/**
 * The member of `params` that `Mcp-Name` repeats (basic/transports/streamable-http, "Standard Request
 * Headers"; for tasks, SEP-2663).
 */
export const NAMED_BY: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
])
