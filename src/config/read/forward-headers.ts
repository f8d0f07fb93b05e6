import { headerMatcher } from '../../kernel/header-patterns.js'
import { itemAt, type TreeItem } from '../file/tree.js'
import type { ReadContext } from './entry.js'

/** Credentials, headers of the connection or the message, and headers of MCP. */
const REFUSED =
  'authorization proxy-authorization proxy-authenticate www-authenticate cookie set-cookie host connection keep-alive proxy-connection te trailer transfer-encoding upgrade content-length content-type content-encoding accept accept-encoding expect last-event-id mcp-session-id mcp-protocol-version mcp-method mcp-name'.split(
    ' ',
  )

/** Reports whether a pattern in lower case could match a header that must not be passed on. */
const isRefused = (pattern: string): boolean =>
  pattern.startsWith('mcp-') || REFUSED.some(headerMatcher([pattern]))

/** Reports patterns that could pass on credentials, or headers of the connection. */
export const checkForwarded = (
  item: TreeItem,
  patterns: readonly string[],
  url: string,
  { report }: ReadContext,
): void => {
  if (/^wss?:/i.test(url)) {
    const words = {
      message: 'ignored: a WebSocket has no headers per request',
      fix: 'Remove it, or use HTTP.',
    }
    report.nameWarning(item, words)
  }
  for (const [index, pattern] of patterns.entries()) {
    if (!isRefused(pattern.toLowerCase())) continue
    report.error(itemAt(item, [String(index)]), {
      message: `${JSON.stringify(pattern)} covers a header that belongs to the connection or to the client's login`,
      fix: 'Name other headers. For a login of each user at the server, write "credentials": "per-principal"; for one token, use "headers".',
    })
  }
}
