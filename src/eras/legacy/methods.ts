/** Requests whose result is empty except for `_meta`; some servers send `null` or `[]` instead. */
export const EMPTY_RESULTS: ReadonlySet<string> = new Set([
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
])

/** Requests of servers (schema, `ServerRequest`) except `ping`, which is answered directly. */
export const SERVER_REQUESTS: ReadonlySet<string> = new Set([
  'roots/list',
  'sampling/createMessage',
  'elicitation/create',
])

/** Notifications of servers that the proxy handles (schema, `ServerNotification`). */
export const SERVER_NOTIFICATIONS: ReadonlySet<string> = new Set([
  'notifications/cancelled',
  'notifications/progress',
  'notifications/message',
  'notifications/tools/list_changed',
  'notifications/prompts/list_changed',
  'notifications/resources/list_changed',
  'notifications/resources/updated',
  'notifications/elicitation/complete',
])
