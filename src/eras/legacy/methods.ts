/** Requests whose result is empty but for `_meta`; some servers send `null` or `[]` instead. */
export const EMPTY_RESULTS: ReadonlySet<string> = new Set([
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
])

/** Requests of servers (schema, `ServerRequest`) without `ping`, which is answered on the spot. */
export const SERVER_REQUESTS: ReadonlySet<string> = new Set([
  'roots/list',
  'sampling/createMessage',
  'elicitation/create',
])
