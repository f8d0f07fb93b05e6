import {
  elementsOf,
  type JsonText,
  kindOf,
  membersOf,
  readJson,
  repeatedKey,
  stringOf,
} from '../kernel/json-text.js'
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
  /** The one usable id, to echo, or of the request whose answer is bad if `answers`. */
  readonly id: JsonText | undefined
  /** It has no `method`, so it was meant as an answer; whoever answers an answer may do so for ever. */
  readonly answers: boolean
}

/** The members that we read; the others of a message are dropped. */
const ENVELOPE: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error'])
/** The members of `params` that something is routed or correlated by. */
const ROUTED: ReadonlySet<string> = new Set(['name', 'uri', 'cursor', '_meta', 'progressToken', 'requestId'])
const ROUTED_META: ReadonlySet<string> = new Set(['progressToken'])

/**
 * Finds out what a peer sent; never throws, whatever the bytes are. A member that we route by and that comes
 * twice makes a message malformed: the proxy and the server behind it could each believe another one.
 */
export function classify(bytes: Buffer): Classified {
  let text: JsonText
  try {
    text = readJson(bytes)
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : 'cannot be read'
    return { is: 'malformed', code: -32700, why: `Not JSON: ${why}`, id: undefined, answers: false }
  }
  if (kindOf(text) !== 'array') return classifyObject(text)
  const items = elementsOf(text).map(classifyObject)
  return items.length === 0 ? invalid('A batch must not be empty') : { is: 'batch', items }
}

function classifyObject(text: JsonText): Classified {
  if (kindOf(text) !== 'object') return invalid('A message must be a JSON object')
  const frame = frameOf(text)
  const message = messageOf(frame)
  if (typeof message !== 'string') return { is: 'message', message }
  return { ...invalid(message), id: frame.id, answers: !frame.members.has('method') }
}

const invalid = (why: string): Malformed => ({
  is: 'malformed',
  code: -32600,
  why,
  id: undefined,
  answers: false,
})

/** The top level of one object; the first of repeated members stays, and makes it no message. */
interface Frame {
  readonly members: ReadonlyMap<string, JsonText>
  readonly repeated: string | undefined
  /** The id if there is exactly one and it is usable. */
  readonly id: JsonText | undefined
}

function frameOf(text: JsonText): Frame {
  const members = new Map<string, JsonText>()
  const repeated = new Set<string>()
  for (const { key, value } of membersOf(text)) {
    if (!ENVELOPE.has(key)) continue
    if (members.has(key)) repeated.add(key)
    else members.set(key, value)
  }
  const id = members.get('id')
  const isUsable = id !== undefined && !repeated.has('id') && isId(id)
  const [first] = repeated
  return { members, repeated: first, id: isUsable ? id : undefined }
}

/** The message that a frame is, or why it is none. */
function messageOf(frame: Frame): Message | string {
  const { members, repeated } = frame
  if (repeated !== undefined) return `The member ${repeated} is repeated`
  if (stringOf(members.get('jsonrpc')) !== '2.0') return 'The member jsonrpc must be "2.0"'
  return members.has('method') ? askOf(frame) : answerOf(frame)
}

function askOf({ members, id }: Frame): Message | string {
  const method = stringOf(members.get('method'))
  const params = members.get('params')
  if (method === undefined) return 'The member method must be a string'
  if (members.has('id') && id === undefined) return 'The member id must be a string or an integer'
  const problem = params === undefined ? undefined : problemOfParams(params)
  if (problem !== undefined) return problem
  return id === undefined ? { kind: 'notice', method, params } : { kind: 'request', id, method, params }
}

function answerOf({ members, id }: Frame): Message | string {
  const result = members.get('result')
  const error = members.get('error')
  if (result !== undefined && error !== undefined) return 'A response must not have both result and error'
  if (result !== undefined) {
    return id === undefined
      ? 'The id of a result must be a string or an integer'
      : { kind: 'reply', id, result }
  }
  if (error === undefined) return 'A message must have a method, a result or an error'
  if (kindOf(error) !== 'object') return 'The member error must be an object'
  const rawId = members.get('id')
  if (id === undefined && rawId !== undefined && kindOf(rawId) !== 'null') {
    return 'The id of an error must be a string, an integer or null'
  }
  return { kind: 'refusal', id, error }
}

/** Why `params` cannot be the params of a message; this protocol knows only named ones, in all revisions. */
function problemOfParams(params: JsonText): string | undefined {
  if (kindOf(params) !== 'object') return 'The member params must be an object'
  const routed = new Map<string, JsonText>()
  for (const { key, value } of membersOf(params)) {
    if (!ROUTED.has(key)) continue
    if (routed.has(key)) return `The member params.${key} is repeated`
    routed.set(key, value)
  }
  const meta = routed.get('_meta')
  if (meta === undefined || kindOf(meta) !== 'object') return undefined
  const repeated = repeatedKey(meta, ROUTED_META)
  return repeated === undefined ? undefined : `The member params._meta.${repeated} is repeated`
}
