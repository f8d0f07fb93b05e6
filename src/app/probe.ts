import { createHash } from 'node:crypto'
import { aliasOf, exposedName } from '../catalog/names/names.js'
import { View } from '../catalog/views/view.js'
import type { ProxyConfig, ServerConfig } from '../config/types.js'
import { systemClock } from '../kernel/async/clock.js'
import { Semaphore } from '../kernel/async/semaphore.js'
import { Fault } from '../kernel/faults.js'
import { type JsonText, memberOf, stringOf, textOf, valueOf } from '../kernel/json/text.js'
import type { Logger } from '../kernel/logger.js'
import { isObject } from '../kernel/object.js'
import { LocalClient } from './local-client.js'
import { createProxy } from './proxy.js'
import type { ServerStatus } from './status.js'

/** What came of starting a server, introducing ourselves and reading its lists. Holds no secrets. */
export interface ServerProbe {
  readonly server: string
  readonly transport: ServerConfig['transport']['kind']
  readonly ms: number
  /** `ready`, a reason of a login, or `failed`. */
  readonly state: string
  readonly why: string | undefined
  /** What it last wrote to stderr. */
  readonly lastWords: readonly string[]
  /** The first line of its stdout that was no message. */
  readonly noise: string | undefined
  /** What was repaired in its lists, or left out. */
  readonly repairs: readonly { readonly item: string; readonly words: string }[]
  readonly instructionBytes: number
  readonly tools: readonly ProbedTool[]
}

interface ProbedTool {
  /** As clients see it, and the same uncut. */
  readonly name: string
  readonly long: string
  readonly descriptionBytes: number
  /** Of name, description and schema. */
  readonly bytes: number
  readonly schema: unknown
  /** Whether it says what it changes. */
  readonly hasHints: boolean
  readonly digests: { readonly description: string; readonly schema: string }
  /** The configured views that it is in. */
  readonly views: readonly string[]
}

/** How many servers start at a time. */
const AT_ONCE = 8
const PAGE_SIZE = 1_000_000
const SHORT_LIST_MS = 5000

/** Starts or reaches each server of a configuration for itself, and ends it again. Never rejects. */
export const probeServers = async (
  config: ProxyConfig,
  servers: readonly ServerConfig[],
  timeoutMs: number,
): Promise<readonly ServerProbe[]> => {
  const turns = new Semaphore({
    places: () => AT_ONCE,
    onWait: () => undefined,
    holdMs: Number.POSITIVE_INFINITY,
    clock: systemClock,
  })
  const never = new AbortController().signal
  const closing: Promise<void>[] = []
  const probed = await Promise.all(
    servers.map(server => turns.pass(never, () => probeOne(config, server, { timeoutMs, closing }))),
  )
  await Promise.all(closing)
  return probed
}

interface ProbeOptions {
  readonly timeoutMs: number
  /** Takes the ends of the servers, for which nobody has to wait before the next one. */
  readonly closing: Promise<void>[]
}

const probeOne = async (
  config: ProxyConfig,
  server: ServerConfig,
  { timeoutMs, closing }: ProbeOptions,
): Promise<ServerProbe> => {
  const heard = new Heard()
  const startedMs = performance.now()
  const plain = plainly(server, timeoutMs)
  const only = { servers: [plain], startupWaitMs: timeoutMs, pageSize: PAGE_SIZE }
  const proxy = createProxy(
    { ...config, ...only, audit: undefined, auth: undefined },
    { log: heard, listWaitMs: Math.max(plain.timeouts.listMs, SHORT_LIST_MS) },
  )
  const client = new LocalClient(proxy.clientHandler)
  const look = (): ServerStatus | undefined => proxy.status().servers[0]
  const views = config.views.map(rules => new View(rules)).filter(view => view.hasServer(server))
  try {
    const { instructions = '' } = await client.welcome
    const first = look()
    // One that is not there by now would have its lists waited for as long again.
    const tools = first?.state === 'ready' ? await readTools(client) : []
    return {
      server: server.name,
      transport: server.transport.kind,
      ms: Math.round(performance.now() - startedMs),
      ...whatCame(first, look(), timeoutMs),
      noise: heard.noise,
      repairs: heard.repairs,
      instructionBytes: Buffer.byteLength(instructions),
      tools: tools.map(tool => readTool(tool, server, views)),
    }
  } finally {
    client.close()
    closing.push(proxy.close())
  }
}

/** The server under its own names, so that it is known what becomes of them. */
const plainly = (server: ServerConfig, timeoutMs: number): ServerConfig => {
  const { timeouts, tools } = server
  const atMost = (ms: number): number => Math.min(ms, timeoutMs)
  return {
    ...server,
    prefix: false,
    tools: { ...tools, rename: {} },
    timeouts: {
      ...timeouts,
      connectMs: atMost(timeouts.connectMs),
      initializeMs: atMost(timeouts.initializeMs),
      probeMs: atMost(timeouts.probeMs),
      listMs: atMost(timeouts.listMs),
    },
  }
}

const isUnread = (status: ServerStatus | undefined): boolean =>
  status?.items !== undefined && status.tokens === undefined

const unread = (status: ServerStatus | undefined) => ({
  state: 'failed',
  why:
    status?.remarks.find(({ list }) => list === 'tools')?.message ??
    'its list of tools cannot be read: no answer in time, or an error',
})

/** A server that is being tried again may have forgotten why. */
const whatCame = (first: ServerStatus | undefined, last: ServerStatus | undefined, timeoutMs: number) => {
  const state = stateOf(last)
  if (state === 'ready')
    return { ...(isUnread(last) ? unread(last) : { state, why: undefined }), lastWords: [] }
  const lastWords = last?.stderr ?? first?.stderr ?? []
  const [why] = [last?.why, first?.why, last?.lastError?.message].filter(words => words !== undefined)
  return { state, why: why ?? `no answer within ${timeoutMs / 1000} s`, lastWords }
}

const stateOf = (status: ServerStatus | undefined): string => {
  const state = status?.state ?? 'failed'
  return state === 'ready' || state === 'insufficient-scope' || /^(?:needs-|auth-)/.test(state)
    ? state
    : 'failed'
}

/** Whatever else it lists is read too, for what must be repaired. */
const readTools = async (client: LocalClient): Promise<readonly JsonText[]> => {
  const read = async (
    list: 'tools' | 'prompts' | 'resources' | 'templates',
  ): Promise<readonly JsonText[]> => {
    try {
      return await client.list(list)
    } catch (thrown) {
      if (thrown instanceof Fault) return []
      throw thrown
    }
  }
  const [tools] = await Promise.all([read('tools'), read('prompts'), read('resources'), read('templates')])
  return tools
}

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint']

const readTool = (tool: JsonText, server: ServerConfig, views: readonly View[]): ProbedTool => {
  const names = exposedAs(stringOf(memberOf(tool, 'name')) ?? '', server)
  const description = stringOf(memberOf(tool, 'description')) ?? ''
  const input = memberOf(tool, 'inputSchema') ?? textOf({})
  const annotations = valueAt(tool, 'annotations')
  const descriptionBytes = Buffer.byteLength(description)
  return {
    ...names,
    descriptionBytes,
    bytes: Buffer.byteLength(names.name) + descriptionBytes + input.length,
    schema: valueOf(input),
    hasHints: isObject(annotations) && HINTS.some(hint => hint in annotations),
    digests: { description: digest(description), schema: digest(input) },
    views: views
      .filter(view => view.hasTool({ exposed: names.name, text: tool }))
      .map(({ rules }) => rules.name),
  }
}

const exposedAs = (own: string, { name: server, prefix, tools: { rename } }: ServerConfig) => {
  const shown = Object.hasOwn(rename, own) ? (rename[own] ?? own) : own
  if (prefix === false) return { name: shown, long: shown }
  const alias = aliasOf(server, prefix)
  return { name: exposedName(alias, shown), long: `${alias}__${shown}` }
}

const valueAt = (text: JsonText, key: string): unknown => {
  const member = memberOf(text, key)
  return member && valueOf(member)
}

const digest = (text: string | Uint8Array): string =>
  createHash('sha256').update(text).digest('base64url').slice(0, 16)

const NOISE = 'ignoring non-JSON-RPC output'
/** Of each server. */
const REPAIRS_MAX = 100

/** Listens to the log for what is told nowhere else. */
class Heard implements Logger {
  noise: string | undefined
  readonly repairs: { readonly item: string; readonly words: string }[] = []

  debug(): void {
    // Nothing that we look for.
  }

  info(): void {
    // Nothing that we look for.
  }

  error(): void {
    // Nothing that we look for.
  }

  warn(facts: object, words: string): void {
    const { line, list, item } = facts as Readonly<Record<string, unknown>>
    if (words.startsWith(NOISE) && typeof line === 'string') this.noise ??= line
    if (typeof list !== 'string' || typeof item !== 'string' || this.repairs.length >= REPAIRS_MAX) return
    this.repairs.push({ item, words })
  }

  child(): this {
    return this
  }
}
