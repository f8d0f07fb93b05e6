import { type JsonText, textOf } from '../../../src/kernel/json/text.js'
import type { Json } from '../match.js'

/** The revisions with a handshake, oldest first. */
export const LEGACY = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const
export const NEWEST = '2025-11-25'
/** The revision without. */
export const MODERN = '2026-07-28'

/** A published revision. */
export type Revision = (typeof LEGACY)[number] | typeof MODERN

/** What a server is asked to be. */
interface ServerFacts {
  readonly alias: string
  readonly revision: string
  readonly capabilities: Json
}

/** What a server says of its own accord. */
export type ServerAnswer = { readonly result: Json } | { readonly error: Json } | 'nothing'

/** Writes what peers of an era say. */
interface EraCodec {
  /** The request with which a client begins. */
  greeting(revision: string, capabilities: Json): { readonly method: string; readonly params: Json }
  /** Whether a notification follows when that is answered. */
  readonly hasHandshake: boolean
  /** The params of a request of a client with these capabilities. */
  params(params: Json, capabilities: Json): Json
  /** The headers of a request over HTTP, beside those of its session. */
  headers(request: Json): Record<string, string>
  /** What a server answers to what every server knows; undefined: it must be told. */
  answer(method: string, server: ServerFacts): ServerAnswer | undefined
}

/** The name that scripted clients give themselves. */
const CLIENT_INFO = { name: 'c', version: '1' }

// ── revisions with a handshake ──

/** The params of `initialize`. */
export const hello = (protocolVersion: string, capabilities: object = {}, clientInfo = CLIENT_INFO) => ({
  protocolVersion,
  capabilities,
  clientInfo,
})

const legacyCodec: EraCodec = {
  greeting: (revision, capabilities) => ({ method: 'initialize', params: hello(revision, capabilities) }),
  hasHandshake: true,
  params: params => params,
  headers: () => ({}),
  answer(method, { revision, capabilities, alias }) {
    switch (method) {
      case 'server/discover':
        return { error: { code: -32601, message: 'Method not found' } }
      case 'initialize':
        return {
          result: { protocolVersion: revision, capabilities, serverInfo: { name: alias, version: '1' } },
        }
      case 'notifications/initialized':
        return 'nothing'
      case 'logging/setLevel':
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        return { result: {} }
      default:
        return undefined
    }
  },
}

// ── 2026-07-28 ──

/** A key of the specification. */
export const key = (name: string): string => `io.modelcontextprotocol/${name}`

/** What every request says about itself. */
export const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientCapabilities': {},
} as const

/** What a server says of itself. */
export const discovered = (capabilities: object = { tools: {} }, more: object = {}): JsonText =>
  textOf({ ...discovery(capabilities, { name: 'new', version: '2' }), ...more })

const discovery = (capabilities: object, serverInfo: object): Json => ({
  resultType: 'complete',
  supportedVersions: [MODERN],
  capabilities,
  ttlMs: 0,
  cacheScope: 'private',
  _meta: { [key('serverInfo')]: serverInfo },
})

/** The envelope of a request that a server gets from the proxy, or from another client. */
export const envelope = (
  capabilities: unknown = {},
  more: object = {},
  clientInfo: object = { name: 'proxy', version: '1' },
): Json => ({
  ...ENVELOPE,
  [key('clientInfo')]: clientInfo,
  [key('clientCapabilities')]: capabilities,
  ...more,
})

/** The envelope of a scripted client with these capabilities. */
export const clientEnvelope = (capabilities: unknown): Json => envelope(capabilities, {}, CLIENT_INFO)

/** A request, with more in its `params` and `_meta`. */
export const modern = (id: unknown, method: string, params: object = {}, meta: object = {}) => ({
  id,
  method,
  params: { ...params, _meta: { ...ENVELOPE, ...meta } },
})

const NAMED_BY: Readonly<Record<string, 'name' | 'uri'>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
}

/** The headers that repeat what such a request says; none for one that says nothing about itself. */
export const mirrored = ({ method, params }: Json): Record<string, string> => {
  const { _meta, ...rest } = (params ?? {}) as Record<string, Json | undefined>
  const version = _meta?.[key('protocolVersion')]
  const name = rest[NAMED_BY[String(method)] ?? ''] as unknown
  return typeof version !== 'string'
    ? {}
    : {
        'mcp-protocol-version': version,
        'mcp-method': String(method),
        ...(typeof name === 'string' && { 'mcp-name': name }),
      }
}

const modernCodec: EraCodec = {
  greeting: (_revision, capabilities) => ({
    method: 'server/discover',
    params: modernCodec.params({}, capabilities),
  }),
  hasHandshake: false,
  params: ({ _meta, ...rest }, capabilities) => ({
    ...rest,
    _meta: { ...clientEnvelope(capabilities), ...(_meta as Json | undefined) },
  }),
  headers: mirrored,
  answer(method, { capabilities, alias }) {
    switch (method) {
      case 'server/discover':
        return { result: discovery(capabilities, { name: alias, version: '1' }) }
      case 'initialize':
        return { error: { code: -32022, message: 'no handshakes', data: { supported: [MODERN] } } }
      case 'subscriptions/listen':
        return 'nothing'
      default:
        return undefined
    }
  },
}

/** The codec of the era of a revision. */
export const codecOf = (revision: string): EraCodec => (revision === MODERN ? modernCodec : legacyCodec)

/** The date of a revision, by its number in vectors. */
export const revisionOf = (name: string): string =>
  ({ R1: '2024-11-05', R2: '2025-03-26', R3: '2025-06-18', R5: MODERN })[name] ?? NEWEST
