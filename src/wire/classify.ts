import type { Bounds } from '../kernel/bounds.js'
import { JsonCursor } from '../kernel/json-cursor.js'
import { OPEN_ARRAY, OPEN_OBJECT } from '../kernel/json-scan.js'
import {
  type JsonText,
  kindOf,
  memberOf,
  readJson,
  repeatedKey,
  stringOf,
  TooDeepError,
} from '../kernel/json-text.js'
import { DEFAULT_LIMITS, type Limits } from '../kernel/limits.js'
import { isId, type Message } from './jsonrpc.js'

/** What bytes from a peer turned out to be: a message, an array of them, or neither. */
export type Classified =
  | { readonly is: 'message'; readonly message: Message }
  | { readonly is: 'batch'; readonly items: readonly Classified[] }
  | Malformed

/** Why bytes are no message, and what may be said to whom about it. */
export interface Malformed {
  readonly is: 'malformed'
  /** Parse error or Invalid Request (JSON-RPC 2.0 §5.1). */
  readonly code: -32700 | -32600
  /** For the peer and the log; never repeats what the peer sent. */
  readonly why: string
  /** The one usable id, to echo, or of the request whose answer is bad unless it `asks`. */
  readonly id: JsonText | undefined
  /** It has a `method`, so it was meant as a request or a notification. */
  readonly asks: boolean
  /** It has no `method` but a result or an error, so it was meant as an answer; whoever answers an answer may do so for ever. */
  readonly answers: boolean
  /** The bound that it is beyond, if that is what is wrong. */
  readonly limit?: 'depth' | 'batch'
}

/** Bounds on what a message is made of. */
type MessageLimits = Pick<Limits, 'depth' | 'batch'>

/** The members that we read; the others of a message are dropped. */
const ENVELOPE = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'] as const
/** The members of `params` that something is routed or correlated by. */
const ROUTED: ReadonlySet<string> = new Set(['name', 'uri', 'cursor', '_meta', 'progressToken', 'requestId'])
const ROUTED_META: ReadonlySet<string> = new Set(['progressToken'])

/**
 * Finds out what a peer sent; never throws, whatever the bytes are. A member that we route by and that comes
 * twice makes a message malformed: the proxy and the server behind it could each believe another one.
 */
export function classify(bytes: Buffer, limits: MessageLimits = DEFAULT_LIMITS): Classified {
  let text: JsonText
  try {
    text = readJson(bytes, limits.depth)
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : 'cannot be read'
    return {
      is: 'malformed',
      code: -32700,
      why: `Not JSON: ${why}`,
      id: undefined,
      asks: false,
      answers: false,
      ...(thrown instanceof TooDeepError && { limit: 'depth' }),
    }
  }
  return kindOf(text) === 'array' ? classifyArray(text, limits.batch) : classifyObject(text)
}

/** The same, by bounds that count what is beyond them. */
export function classifyWithin(bytes: Buffer, bounds: Bounds): Classified {
  const classified = classify(bytes, bounds.max)
  if (classified.is === 'malformed' && classified.limit !== undefined) bounds.hit(classified.limit)
  return classified
}

/** Counts before it keeps anything: an array of a million numbers must not become a million objects of ours. */
function classifyArray(text: JsonText, max: number): Classified {
  const items: Classified[] = []
  const at = new JsonCursor(text, OPEN_ARRAY)
  while (at.next()) {
    if (items.length === max)
      return { ...invalid(`A batch may hold ${max} messages (limits.batch)`), limit: 'batch' }
    items.push(classifyObject(at.value))
  }
  return items.length === 0 ? invalid('A batch must not be empty') : { is: 'batch', items }
}

function classifyObject(text: JsonText): Classified {
  if (kindOf(text) !== 'object') return invalid('A message must be a JSON object')
  const frame = frameOf(text)
  const message = messageOf(frame)
  if (typeof message !== 'string') return { is: 'message', message }
  const asks = frame.method !== undefined
  const answers = !asks && (frame.result !== undefined || frame.error !== undefined)
  return { ...invalid(message), id: frame.id, asks, answers }
}

const invalid = (why: string): Malformed => ({
  is: 'malformed',
  code: -32600,
  why,
  id: undefined,
  asks: false,
  answers: false,
})

/** The top level of one object; the first of repeated members stays, and makes it no message. */
interface Frame {
  jsonrpc: JsonText | undefined
  isVersion2: boolean
  /** As it came, whatever it is. */
  rawId: JsonText | undefined
  method: JsonText | undefined
  params: JsonText | undefined
  result: JsonText | undefined
  error: JsonText | undefined
  repeated: string | undefined
  isIdRepeated: boolean
  /** The id if there is exactly one and it is usable. */
  id: JsonText | undefined
}

function frameOf(text: JsonText): Frame {
  const frame: Frame = {
    jsonrpc: undefined,
    isVersion2: false,
    rawId: undefined,
    method: undefined,
    params: undefined,
    result: undefined,
    error: undefined,
    repeated: undefined,
    isIdRepeated: false,
    id: undefined,
  }
  const at = new JsonCursor(text, OPEN_OBJECT)
  while (at.next()) {
    for (const key of ENVELOPE) {
      if (!at.keyIs(key)) continue
      const slot = key === 'id' ? 'rawId' : key
      if (frame[slot] === undefined) {
        frame[slot] = at.value
        if (key === 'jsonrpc') frame.isVersion2 = at.valueIs('"2.0"') || stringOf(at.value) === '2.0'
      } else {
        frame.repeated ??= key
        frame.isIdRepeated ||= key === 'id'
      }
      break
    }
  }
  const { rawId } = frame
  if (rawId !== undefined && !frame.isIdRepeated && isId(rawId)) frame.id = rawId
  return frame
}

/** The message that a frame is, or why it is none. */
function messageOf(frame: Frame): Message | string {
  if (frame.repeated !== undefined) return `The member ${frame.repeated} is repeated`
  if (!frame.isVersion2) return 'The member jsonrpc must be "2.0"'
  return frame.method === undefined ? answerOf(frame) : askOf(frame)
}

function askOf({ method: methodText, params, rawId, id }: Frame): Message | string {
  const method = stringOf(methodText)
  if (method === undefined) return 'The member method must be a string'
  if (rawId !== undefined && id === undefined) return 'The member id must be a string or an integer'
  const problem = params === undefined ? undefined : problemOfParams(params)
  if (problem !== undefined) return problem
  return id === undefined ? { kind: 'notice', method, params } : { kind: 'request', id, method, params }
}

function answerOf({ result, error, rawId, id }: Frame): Message | string {
  if (result !== undefined && error !== undefined) return 'A response must not have both result and error'
  if (result !== undefined) {
    return id === undefined
      ? 'The id of a result must be a string or an integer'
      : { kind: 'reply', id, result }
  }
  if (error === undefined) return 'A message must have a method, a result or an error'
  if (kindOf(error) !== 'object') return 'The member error must be an object'
  if (id === undefined && rawId !== undefined && kindOf(rawId) !== 'null') {
    return 'The id of an error must be a string, an integer or null'
  }
  return { kind: 'refusal', id, error }
}

/** Why `params` cannot be the params of a message; this protocol knows only named ones, in all revisions. */
function problemOfParams(params: JsonText): string | undefined {
  if (kindOf(params) !== 'object') return 'The member params must be an object'
  const repeated = repeatedKey(params, ROUTED)
  if (repeated !== undefined) return `The member params.${repeated} is repeated`
  const meta = memberOf(params, '_meta')
  if (meta === undefined || kindOf(meta) !== 'object') return undefined
  const twice = repeatedKey(meta, ROUTED_META)
  return twice === undefined ? undefined : `The member params._meta.${twice} is repeated`
}
