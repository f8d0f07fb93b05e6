import { JsonCursor, trust } from '../kernel/json/cursor.js'
import { OPEN_ARRAY, OPEN_OBJECT } from '../kernel/json/scan.js'
import {
  checkEnd,
  JsonBudget,
  JsonLimitError,
  type JsonText,
  kindOf,
  ownText,
  readJson,
  startOf,
} from '../kernel/json/text.js'
import type { LimitCounters } from '../kernel/limit-counters.js'
import { DEFAULT_LIMITS, type Limits } from '../kernel/limits.js'
import { fastPathMessage } from './fast-path.js'
import type { Message } from './jsonrpc.js'
import { MessageIndex } from './message-index.js'
import { salvageId } from './salvage-id.js'

export type Classified =
  | { readonly is: 'message'; readonly message: Message }
  | { readonly is: 'batch'; readonly items: readonly Classified[] }
  | Malformed

/** The reason why bytes are not a message, and the parts that may be reported. */
export interface Malformed {
  readonly is: 'malformed'
  /** Parse error, Invalid Request or Invalid params (JSON-RPC 2.0 §5.1). */
  readonly code: -32700 | -32600 | -32602
  /** For the peer and the log; never quotes the peer. */
  readonly why: string
  /** The only usable id: to echo, or the id of the request that this malformed answer is for. */
  readonly id: JsonText | undefined
  /** True if there is a `method`: meant as a request or a notification. */
  readonly hasMethod: boolean
  /** True if there is a result or an error but no `method`. Answering an answer might loop forever. */
  readonly isResponse: boolean
  /** The exceeded limit, if any. */
  readonly limit?: keyof MessageLimits
}

type MessageLimits = Pick<Limits, 'depth' | 'members' | 'batch'>

/**
 * Classifies a peer's message; never throws. A repeated member that affects routing makes a message
 * malformed: the proxy and the server behind it could each read a different one.
 */
export function classify(bytes: Buffer, limits: MessageLimits = DEFAULT_LIMITS): Classified {
  const fast = fastPathMessage(bytes, limits.depth)
  return fast === undefined ? classifySlowly(bytes, limits) : { is: 'message', message: fast }
}

function classifySlowly(bytes: Buffer, limits: MessageLimits): Classified {
  try {
    const start = startOf(bytes)
    if (bytes[start] !== OPEN_OBJECT) {
      const text = readJson(bytes, limits)
      return kindOf(text) === 'array' ? classifyArray(text, limits) : notAnObject()
    }
    // The vast majority: indexed in the same pass that validates them.
    const index = new MessageIndex(bytes, start, new JsonBudget(limits))
    checkEnd(bytes, index.end)
    return classifyObject(index, bytes.length)
  } catch (thrown) {
    if (thrown instanceof JsonLimitError) return beyond(bytes, thrown)
    const why = thrown instanceof Error ? thrown.message : 'cannot be read'
    return { ...invalid(`Not JSON: ${why}`), code: -32700 }
  }
}

/**
 * Reports a message beyond a limit. It was not read; its first and last bytes show the request that waits.
 */
const beyond = (bytes: Buffer, { limit, message }: JsonLimitError): Malformed => ({
  is: 'malformed',
  code: -32700,
  why: `${message} (limits.${limit})`,
  ...salvageId(bytes),
  limit,
})

/** Classifies within the limits of `bounds`, and counts exceeded ones. */
export function classifyWithin(bytes: Buffer, bounds: LimitCounters): Classified {
  const { max } = bounds
  const fast = fastPathMessage(bytes, max.depth)
  if (fast !== undefined) return { is: 'message', message: fast }
  const classified = classifySlowly(bytes, max)
  if (classified.is === 'malformed' && classified.limit !== undefined) bounds.hit(classified.limit)
  return classified
}

/** Checks the limit before keeping an item: a million numbers must not become a million objects. */
function classifyArray(text: JsonText, limits: MessageLimits): Classified {
  const { batch } = limits
  const items: Classified[] = []
  const at = new JsonCursor(text, OPEN_ARRAY)
  while (at.next()) {
    if (items.length === batch)
      return { ...invalid(`A batch may hold ${batch} messages (limits.batch)`), limit: 'batch' }
    const isObject = text[at.valueStart] === OPEN_OBJECT
    items.push(
      isObject
        ? classifyObject(new MessageIndex(text, at.valueStart, new JsonBudget(limits)), text.length)
        : notAnObject(),
    )
  }
  return items.length === 0 ? invalid('A batch must not be empty') : { is: 'batch', items }
}

function classifyObject(index: MessageIndex, cameBytes: number): Classified {
  const message = messageOf(index)
  if (typeof message !== 'string') return { is: 'message', message: apart(message, index, cameBytes) }
  const { hasMethod } = index
  const isResponse = !hasMethod && (index.result !== undefined || index.error !== undefined)
  const refused = { ...invalid(message), id: index.id, hasMethod, isResponse }
  // Rules decide by the arguments, so their clients must learn what was wrong.
  return message === REPEATED_ARGUMENTS ? { ...refused, code: -32602 } : refused
}

const repeatedIn = (params: string): string => `The member params.${params} is repeated`

const REPEATED_ARGUMENTS = repeatedIn('arguments')

/** A shorter message may be retained as a whole by any of its parts. */
const SPARE_BYTES = 16 * 1024

/** Copies a message that is a small part of its buffer, so that keeping it does not keep the buffer. */
function apart(message: Message, { params, result, error }: MessageIndex, cameBytes: number): Message {
  const body = params ?? result ?? error
  if (cameBytes <= SPARE_BYTES || 2 * (body?.length ?? 0) >= cameBytes) return message
  const own: Message = { ...message }
  for (const [name, part] of Object.entries<unknown>(own))
    if (Buffer.isBuffer(part)) Object.assign(own, { [name]: ownText(trust(part)) })
  return own
}

const invalid = (why: string): Malformed => ({
  is: 'malformed',
  code: -32600,
  why,
  id: undefined,
  hasMethod: false,
  isResponse: false,
})

const notAnObject = (): Malformed => invalid('A message must be a JSON object')

function messageOf(index: MessageIndex): Message | string {
  if (index.overfull !== undefined) return `There are too many members in ${index.overfull}`
  if (index.repeated !== undefined) return `The member ${index.repeated} is repeated`
  if (!index.isVersion2) return 'The member jsonrpc must be "2.0"'
  return index.hasMethod ? requestOf(index) : responseOf(index)
}

function requestOf(index: MessageIndex): Message | string {
  const { method, named, meta, rawId, id } = index
  // Serializers of the Python, Go and C# SDKs write absent params as null.
  const params = index.params && kindOf(index.params) === 'null' ? undefined : index.params
  if (method === undefined) return 'The member method must be a string'
  if (rawId !== undefined && id === undefined)
    return 'The member id must be a string or an integer of at most 4 KiB'
  // MCP has only named params, in all revisions.
  if (params !== undefined && kindOf(params) !== 'object') return 'The member params must be an object'
  if (index.repeatedParam !== undefined) return repeatedIn(index.repeatedParam)
  return id === undefined
    ? { kind: 'notification', method, params }
    : { kind: 'request', id, method, params, named, meta }
}

const isNull = (text: JsonText | undefined): boolean => text !== undefined && kindOf(text) === 'null'

function responseOf({ result, error, rawId, id }: MessageIndex): Message | string {
  // JSON-RPC 1.0 requires both members, and the unused one is null.
  if (result !== undefined && (error === undefined || isNull(error))) {
    return id === undefined
      ? 'The id of a result must be a string or an integer of at most 4 KiB'
      : { kind: 'result', id, result }
  }
  if (error === undefined) return 'A message must have a method, a result or an error'
  if (result !== undefined && !isNull(result)) return 'A response must not have both result and error'
  if (kindOf(error) !== 'object') return 'The member error must be an object'
  if (id === undefined && rawId !== undefined && !isNull(rawId)) {
    return 'The id of an error must be a string, an integer or null'
  }
  return { kind: 'error', id, error }
}
