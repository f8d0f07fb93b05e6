import { MODERN } from './codec.js'
import { type Definitions, OFFICIAL_SCHEMAS, SDK_SCHEMAS } from './schemas.js'

/** Members added in 2026-07-28, which peers of older revisions must never receive. */
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
/** Members removed in 2026-07-28. */
const LEGACY_MEMBERS = new Set([
  'execution',
  'task',
  'tasks',
  'elicitationId',
  'sessionId',
  'io.modelcontextprotocol/related-task',
])
/** Members with arbitrary content from peers. */
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
/** Methods of extensions, which any revision may carry. */
const EXTENDED: ReadonlySet<string> = new Set(['skills/list', 'skills/get', 'resources/directory/read'])
const MODERN_CODES: ReadonlySet<unknown> = new Set([-32020, -32021, -32022])
const LEGACY_CODES: ReadonlySet<unknown> = new Set([-32002, -32042])

/** Returns members of the other era in a message of this revision, outside opaque content. */
const foreignWords = (message: object, revision: string): readonly string[] => {
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
const NEWEST_LEGACY = '2025-11-25'
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'

interface Message {
  readonly id?: string | number
  readonly method?: string
  readonly params?: { readonly [name: string]: unknown; readonly _meta?: Readonly<Record<string, unknown>> }
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number }
}

interface Asked {
  readonly method: string
  readonly revision: string
}

/**
 * Watches all messages on one hop and checks the proxy's messages: each must match the schema of the hop's
 * revision, both the published one and the SDK's of that time, and contain no member of the other era. Learns
 * the revision from the handshake or from each request.
 */
export class HopWatch {
  /** Violations, each with its message. */
  readonly problems: string[] = []
  readonly #seen = new Set<string>()
  readonly #fromPeer = new Map<string, Asked>()
  readonly #fromProxy = new Map<string, Asked>()
  readonly #isHttp: boolean
  #agreed: string | undefined

  /** Over HTTP, a refusal may have an error body without an id. */
  constructor(isHttp = false) {
    this.#isHttp = isHttp
  }

  /** Returns whether a message with this method was seen. */
  hasSeen(method: string): boolean {
    return this.#seen.has(method)
  }

  /** Records a peer's message without checking it. */
  peerSays(message: object): void {
    for (const one of each(message)) this.#learn(one, this.#fromPeer, this.#fromProxy)
  }

  /** Checks a message of the proxy. */
  proxySays(message: object): void {
    for (const one of each(message)) {
      const answered = this.#fromPeer.get(keyOf(one.id))
      const revision = this.#learn(one, this.#fromProxy, this.#fromPeer)
      const said = this.#isHttp && one.error !== undefined ? { id: 0, ...one } : one
      for (const problem of problemsOf(said, revision, answered?.method))
        this.problems.push(`${revision}: ${problem}: ${JSON.stringify(one)}`)
    }
  }

  /** Records state for later messages and returns this message's revision. */
  #learn(message: Message, own: Map<string, Asked>, others: Map<string, Asked>): string {
    const { id, method, params, result } = message
    const key = keyOf(id)
    if (method === undefined) {
      const asked = others.get(key)
      others.delete(key)
      if (asked?.method === 'initialize') this.#agreed = String(result?.['protocolVersion'] ?? NEWEST_LEGACY)
      if (asked?.method === 'server/discover' && result !== undefined) this.#agreed ??= MODERN
      return asked?.method === 'initialize' ? this.#legacy : (asked?.revision ?? this.#legacy)
    }
    this.#seen.add(method)
    const revision = this.#revisionOf(message, own, others)
    if (id !== undefined) own.set(key, { method, revision })
    if (method === 'initialize') this.#agreed = String(params?.['protocolVersion'])
    return revision
  }

  #revisionOf({ id, params }: Message, own: Map<string, Asked>, others: Map<string, Asked>): string {
    const meta = params?._meta
    if (meta?.[VERSION_KEY] !== undefined) return MODERN
    if (id !== undefined) return this.#legacy
    if (meta?.['io.modelcontextprotocol/subscriptionId'] !== undefined) return MODERN
    const about = keyOf(params?.['requestId'] as string | undefined)
    return (own.get(about) ?? others.get(about))?.revision ?? this.#agreed ?? NEWEST_LEGACY
  }

  get #legacy(): string {
    return this.#agreed === undefined || this.#agreed === MODERN ? NEWEST_LEGACY : this.#agreed
  }
}

const each = (message: object): readonly Message[] =>
  (Array.isArray(message) ? message : [message]).map(one => ({ jsonrpc: '2.0', ...one }))

const keyOf = (id: string | number | undefined): string => `${typeof id} ${id}`

const problemsOf = (message: Message, revision: string, answers: string | undefined): readonly string[] => [
  ...foreignWords(message, revision),
  ...[OFFICIAL_SCHEMAS, SDK_SCHEMAS].flatMap(all => {
    const definitions = all.get(revision)
    return definitions === undefined ? [] : shapeProblems(message, definitions, answers)
  }),
]

const shapeProblems = (
  message: Message,
  definitions: Definitions,
  answers: string | undefined,
): readonly string[] => {
  if (message.error !== undefined) return definitions.problems(errorName(definitions), message)
  if (message.method !== undefined) {
    const name = definitions.methods.get(message.method)
    if (name !== undefined) return definitions.problems(name, message)
    return EXTENDED.has(message.method) ? [] : [`there is no ${message.method}`]
  }
  return answers === undefined ? ['nobody asked'] : resultProblems(message.result, definitions, answers)
}

const resultProblems = (result: unknown, definitions: Definitions, method: string): readonly string[] => {
  const request = definitions.methods.get(method)
  // A peer that requests a method outside its revision must expect the error.
  if (request === undefined) return []
  const own = request.replace(/Request$/, 'Result')
  const name = definitions.has(own) ? own : 'EmptyResult'
  const asksBack = (result as { resultType?: unknown } | undefined)?.resultType === 'input_required'
  return definitions.problems(asksBack ? 'InputRequiredResult' : name, result)
}

const errorName = ({ has }: Definitions): string =>
  has('JSONRPCErrorResponse') ? 'JSONRPCErrorResponse' : 'JSONRPCError'
