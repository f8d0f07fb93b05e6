/** Words that came with 2026-07-28: nobody who speaks an older revision may read them. */
const MODERN_MEMBERS = new Set([
  'resultType',
  'ttlMs',
  'cacheScope',
  'inputRequests',
  'inputResponses',
  'requestState',
  'io.modelcontextprotocol/protocolVersion',
  'io.modelcontextprotocol/clientInfo',
  'io.modelcontextprotocol/clientCapabilities',
  'io.modelcontextprotocol/logLevel',
  'io.modelcontextprotocol/serverInfo',
  'io.modelcontextprotocol/subscriptionId',
])
/** Words that went with it. */
const LEGACY_MEMBERS = new Set([
  'execution',
  'task',
  'tasks',
  'elicitationId',
  'sessionId',
  'io.modelcontextprotocol/related-task',
])
/** Members whose content is the peers' own, whatever words it uses. */
const OPAQUE = new Set([
  'arguments',
  'structuredContent',
  'inputSchema',
  'outputSchema',
  'requestedSchema',
  'content',
  'data',
  'metadata',
  'experimental',
])
const MODERN_CODES: ReadonlySet<unknown> = new Set([-32020, -32021, -32022])
const LEGACY_CODES: ReadonlySet<unknown> = new Set([-32002, -32042])

/** Words of the other era in a message of this revision, outside of what is opaque. */
export const foreignWords = (message: object, revision: string): readonly string[] => {
  const isModern = revision >= '2026-07-28'
  const members = isModern ? LEGACY_MEMBERS : MODERN_MEMBERS
  const codes = isModern ? LEGACY_CODES : MODERN_CODES
  const { error } = message as { error?: { code?: unknown } }
  return [
    ...membersIn(message).filter(name => members.has(name)),
    ...(codes.has(error?.code) ? [String(error?.code)] : []),
  ].map(word => `${word} is no word of this revision`)
}

const membersIn = (value: unknown): readonly string[] => {
  if (Array.isArray(value)) return value.flatMap(membersIn)
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, one]) => [name, ...(OPAQUE.has(name) ? [] : membersIn(one))])
}
