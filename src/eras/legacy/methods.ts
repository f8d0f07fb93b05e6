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
