import { type JsonText, textOf } from '../../../src/kernel/json/text.js'
import type { Json } from '../match.js'

/** The revisions with a handshake, oldest first. */
export const LEGACY = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const
export const NEWEST = '2025-11-25'

/** A published revision. */
export type Revision = (typeof LEGACY)[number] | typeof MODERN

export const MODERN = '2026-07-28'
const KEY = 'io.modelcontextprotocol/'

/** What a server says of itself. */
export const discovered = (capabilities: object = { tools: {} }, more: object = {}): JsonText =>
  textOf({
    resultType: 'complete',
    supportedVersions: [MODERN],
    capabilities,
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { [`${KEY}serverInfo`]: { name: 'new', version: '2' } },
    ...more,
  })

/** The envelope of a request that a server gets. */
export const envelope = (clientCapabilities: object = {}, more: object = {}): object => ({
  [`${KEY}protocolVersion`]: MODERN,
  [`${KEY}clientInfo`]: { name: 'proxy', version: '1' },
  [`${KEY}clientCapabilities`]: clientCapabilities,
  ...more,
})

/** A key of the specification. */
export const key = (name: string): string =>
  `${KEY}${name}` /** What every request of 2026-07-28 says about itself. */
export const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
} as const

/** A request of 2026-07-28, with more in its `params` and `_meta`. */
export const modern = (id: unknown, method: string, params: object = {}, meta: object = {}) => ({
  id,
  method,
  params: { ...params, _meta: { ...ENVELOPE, ...meta } },
})

/** The headers that repeat what such a request says. */
export const mirrored = (message: { method: string; params: object }): Record<string, string> => {
  const { name, uri, _meta } = message.params as { name?: string; uri?: string; _meta: typeof ENVELOPE }
  const named = message.method === 'resources/read' ? uri : name
  return {
    'mcp-protocol-version': _meta['io.modelcontextprotocol/protocolVersion'],
    'mcp-method': message.method,
    ...(['tools/call', 'prompts/get', 'resources/read'].includes(message.method) &&
      named !== undefined && { 'mcp-name': named }),
  }
}
/** The name that clients of vectors give themselves. */
export const CLIENT_INFO = { name: 'c', version: '1' }

/** The envelope of a client with these capabilities. */
export const clientEnvelope = (capabilities: unknown): Json => ({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': capabilities,
  'io.modelcontextprotocol/clientInfo': CLIENT_INFO,
})

/** The date of a revision, by its number in vectors. */
export const revisionOf = (name: string): string =>
  ({ R1: '2024-11-05', R2: '2025-03-26', R3: '2025-06-18', R5: MODERN })[name] ?? '2025-11-25'
