import type { CauseRows } from '../row.js'

const ASK_CLIENT = 'correct the problem in the message, or update the client'
const SEND_AGAIN = 'have the client send it again'

/** The errors that clients receive, by fault code. */
export const ERROR_CAUSES = {
  error: { says: '{message}' },
  'error.parse-error': { fix: 'the client sent invalid JSON: update it, or report it to its maintainers' },
  'error.invalid-request': { fix: ASK_CLIENT },
  'error.unknown-method': {
    fix: 'no server supports the method, or the revision of the client lacks it: update the client',
  },
  'error.invalid-params': {
    fix: 'the client sent invalid parameters for {method}: update the client',
  },
  'error.unknown-name': {
    fix: "mcp-proxy why {'name'} explains its state; if it exists, have the client read its lists again",
  },
  'error.internal': {
    fix: 'this should not happen: report it with the lines of mcp-proxy logs at that time',
  },
  'error.unavailable': { fix: "mcp-proxy doctor --server {'server'} finds the problem" },
  'error.timeout': {
    fix: 'if the call needs more time, raise "timeouts.call" or "timeouts.total" of {server}',
  },
  'error.disconnected': { fix: `mcp-proxy logs {'server'} shows what it wrote before; ${SEND_AGAIN}` },
  'error.overloaded': {
    fix: 'the message names the limit that was reached: raise it, or ask for less at a time',
  },
  'error.unauthorized': { fix: "mcp-proxy auth login {'server'}" },
  'error.forbidden': {
    fix: "the credential lacks a scope that the message names: mcp-proxy auth login {'server'}",
  },
  'error.refused': { fix: 'the message says why, and what would let the call pass' },
  'error.cancelled': { fix: 'nothing: the client cancelled the request' },
  'error.too-large': { fix: 'ask for less at a time, or raise the limit that the message names' },
  'error.session-lost': { fix: `the server forgot its session before it ran the request: ${SEND_AGAIN}` },
  'error.maybe-replaced': {
    fix: 'the server was replaced during the call: check for its effects before sending it again',
  },
} as const satisfies CauseRows
