/** Bounds on what one peer may send in one message; every one has a defined behaviour where it is enforced. */
export const LIMITS = {
  /** A line, SSE event or HTTP body from a server: longer ones are skipped, their call fails. */
  messageBytes: 64 * 1024 * 1024,
  /** A request body from a client: 413 above it. */
  bodyBytes: 16 * 1024 * 1024,
  /** Members of a 2025-03-26 batch. */
  batchMessages: 50,
  /** An `Mcp-Session-Id` or `Last-Event-ID` that is longer cannot be ours. */
  handleBytes: 256,
  /** What may pile up on the event stream of a request in front of a client that does not read: it is cut off above it. */
  streamBacklogBytes: 4 * 1024 * 1024,
  /** With more than this in front of it a client is behind: progress and log messages are left out until it has read. */
  behindBytes: 1024 * 1024,
} as const
