import { type JsonText, textOf } from '../../../src/kernel/json/text.js'
import type { Json } from '../match.js'

/** The revisions with a handshake, oldest first. */
export const LEGACY = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const
export const NEWEST = '2025-11-25'
/** The revision without a handshake. */
export const MODERN = '2026-07-28'

/** A published revision. */
export type Revision = (typeof LEGACY)[number] | typeof MODERN

/** The declared properties of a server. */
interface ServerFacts {
  readonly alias: string
  readonly revision: string
  readonly capabilities: Json
}

/** A server's automatic answer. */
export type ServerAnswer = { readonly result: Json } | { readonly error: Json } | 'nothing'

/** Writes messages for peers of an era. */
interface EraCodec {
  /** Returns a client's first request. */
  greeting(revision: string, capabilities: Json): { readonly method: string; readonly params: Json }
  /** True if a notification follows its answer. */
  readonly hasHandshake: boolean
  /** Returns the params of a request from a client with these capabilities. */
  params(params: Json, capabilities: Json): Json
  /** Returns the headers of an HTTP request, except session headers. */
  headers(request: Json): Record<string, string>
  /** Returns the answer to a standard request; undefined if a test must supply it. */
  answer(method: string, server: ServerFacts): ServerAnswer | undefined
}

/** Client info of scripted clients. */
const CLIENT_INFO = { name: 'c', version: '1' }

// ── revisions with a handshake ──

/** Returns the params of `initialize`. */
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

/** Returns a key of the specification. */
export const key = (name: string): string => `io.modelcontextprotocol/${name}`

/** The metadata of every request. */
export const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientCapabilities': {},
} as const

/** Returns a server's discovery result. */
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

/** Returns the envelope of a request that a server receives from the proxy or another client. */
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

/** Returns the envelope of a scripted client with these capabilities. */
export const clientEnvelope = (capabilities: unknown): Json => envelope(capabilities, {}, CLIENT_INFO)

/** Builds a request with additional `params` and `_meta`. */
export const modern = (id: unknown, method: string, params: object = {}, meta: object = {}) => ({
  id,
  method,
  params: { ...params, _meta: { ...ENVELOPE, ...meta } },
})

const NAMED_BY: Readonly<Record<string, 'name' | 'uri' | 'taskId'>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
}

/** Returns the headers that repeat a request's metadata; empty for a request without metadata. */
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

/** Returns the codec of a revision's era. */
export const codecOf = (revision: string): EraCodec => (revision === MODERN ? modernCodec : legacyCodec)

/** Returns the date of a revision by its number in vectors. */
export const revisionOf = (name: string): string =>
  ({ R1: '2024-11-05', R2: '2025-03-26', R3: '2025-06-18', R5: MODERN })[name] ?? NEWEST
