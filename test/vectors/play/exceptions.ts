/** Why the proxy does not do what a vector says. */
export interface Exception {
  readonly kind: 'deliberate' | 'not built' | 'wrong'
  readonly reason: string
}

/** Texts of vectors that are worded otherwise here and mean the same. */
export const WORDING: Readonly<Record<string, string>> = {
  // The reason of a cancellation is for logs, and ours says who ended what.
  'client disconnected': 'the client closed the connection',
}

/** A part of what the proxy says that is another one than the vector has, with the reason. */
export interface Amendment {
  readonly at: readonly string[]
  readonly is: unknown
  readonly reason: string
}

/** Vectors that hold but for a part, by title. */
export const AMENDMENTS: ReadonlyMap<string, Amendment> = new Map([
  [
    'UP-3 R5-R5',
    {
      at: ['body', 'error', 'data', 'supported'],
      is: ['2026-07-28'],
      reason: 'the official suite wants those of server/discover alone',
    },
  ],
  [
    'AT-2 R4-R4',
    {
      at: ['params', '_meta', 'io.modelcontextprotocol/related-task', 'taskId'],
      is: '~t',
      reason: 'the id of a task is sealed',
    },
  ],
])

/** Vectors that do not hold, by title. They are played all the same: one that holds must not stand here. */
export const EXCEPTIONS: ReadonlyMap<string, Exception> = new Map([
  [
    'RT-6 R4-R4 file:///x listed by a and b; read of the exposed copy of b',
    { kind: 'deliberate', reason: 'a URI is exposed as <alias>+<uri>, not in the form mcp-proxy://' },
  ],
])

/** Checks that no test can show, because what they are about is not there, by rule. */
export const CHECK_EXCEPTIONS: ReadonlyMap<string, Exception> = new Map([
  ['HD-12', { kind: 'not built', reason: 'there is no rate limit' }],
  ['MI-13', { kind: 'deliberate', reason: 'there is no face for older clients without sessions' }],
  ['MO-19', { kind: 'not built', reason: 'there is no registry of replicas' }],
  [
    'LC-9',
    {
      kind: 'deliberate',
      reason: 'all principals use a server with the same credentials, and see the same lists',
    },
  ],
  ['SE-1', { kind: 'not built', reason: 'there is no authorization of clients' }],
  ['SE-2', { kind: 'not built', reason: 'there is no authorization of clients' }],
  ['SE-3', { kind: 'not built', reason: 'there is no authorization at servers but configured headers' }],
  ['SE-4', { kind: 'not built', reason: 'there is no authorization at servers but configured headers' }],
  ['SE-7', { kind: 'deliberate', reason: 'no text of a server is altered' }],
  ['SE-9', { kind: 'not built', reason: 'there is no rate limit' }],
  [
    'TK-1',
    { kind: 'deliberate', reason: 'clients are told of the tasks that they can follow by themselves' },
  ],
  [
    'TK-7',
    { kind: 'deliberate', reason: 'tasks of one era are not converted to those of the other, but followed' },
  ],
])
