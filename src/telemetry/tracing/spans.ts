import { type JsonText, memberOf, stringOf, textMember } from '../../kernel/json/text.js'
import { maskJson, sanitizeLine, sanitizeText } from '../../kernel/secrets/mask.js'
import type { CallTrace, Destination, SpanContext, TracePart } from '../../model/call-trace.js'
import { type Failure, failureOf } from '../../model/failure.js'
import type { Call, Client } from '../../model/links.js'
import { isFine, type Outcome } from '../../model/outcome.js'
import type { OwnRequest, TracedCall } from '../../model/tracer.js'
import { sessionHash } from '../../mux/calls/call-facts.js'
import { type Attributes, KIND, type Span, STATUS } from './span.js'

const NAME_BYTES = 256
const WORDS_BYTES = 200
const CONTENT_BYTES = 8192

type Value = Attributes[string]
type Values = Record<string, Value>

const put = (attributes: Values, key: string, value: Value | undefined): void => {
  if (value !== undefined) attributes[key] = value
}

/**
 * Creates the span of a call as the client sees it. `offsetMs` converts the clock to milliseconds since 1970.
 */
export const serverSpan = (
  { origin, beganMs, links, isRepaired }: CallTrace,
  call: TracedCall,
  outcome: Outcome | undefined,
  { offsetMs, hasContent }: { readonly offsetMs: number; readonly hasContent: boolean },
): Span => {
  const failure = outcome !== undefined && isFine(outcome) ? undefined : failureOf(outcome, 'server')
  const target = targetOf(call)
  const attributes: Values = {}
  putMethod(attributes, call.method, target, call.params)
  putClient(attributes, call.client)
  put(attributes, 'jsonrpc.request.id', call.id && shownId(call.id))
  put(attributes, 'client.address', call.arrival?.remoteAddress)
  put(attributes, 'client.port', call.arrival?.remotePort)
  put(attributes, 'mcp_proxy.server', call.servedBy)
  if (isRepaired) put(attributes, 'mcp_proxy.repaired', true)
  putFailure(attributes, failure)
  if (outcome?.kind === 'fault') put(attributes, 'mcp_proxy.error_id', outcome.errorId)
  if (hasContent) putContent(attributes, call, outcome)
  const { traceId, spanId, flags } = origin.context
  return {
    traceId,
    spanId,
    flags,
    parentSpanId: origin.parentId,
    isParentRemote: origin.parentId !== undefined,
    traceState: origin.state,
    name: target === undefined ? methodOf(call) : `${methodOf(call)} ${target}`,
    kind: KIND.server,
    startMs: offsetMs + beganMs,
    endMs: offsetMs + origin.nowMs(),
    attributes,
    status: statusOf(failure, outcome),
    links: links.length === 0 ? [] : links.map(link => ({ ...link, isRemote: true })),
  }
}

/** Creates a child span for a part of a call. */
export const partSpan = (
  { origin: { context, state } }: CallTrace,
  call: TracedCall,
  part: TracePart,
  { offsetMs, nowMs }: { readonly offsetMs: number; readonly nowMs: number },
): Span => {
  const { what, to, failure, link } = part
  const attributes: Values = {}
  if (part.is === 'wait') put(attributes, 'mcp_proxy.reason', what)
  else if (to === undefined) {
    put(attributes, 'mcp.method.name', shownName(what))
    putClient(attributes, call.client)
  } else {
    putMethod(attributes, what, ownTarget(call), call.params)
    putServer(attributes, to)
    put(attributes, 'jsonrpc.request.id', part.id === undefined ? undefined : String(part.id))
    put(attributes, 'mcp_proxy.attempt', part.attempt)
  }
  putFailure(attributes, failure)
  return {
    traceId: context.traceId,
    spanId: part.spanId,
    flags: context.flags,
    parentSpanId: context.spanId,
    isParentRemote: false,
    traceState: state,
    name: part.is === 'wait' ? 'wait' : nameOfPart(part, call),
    kind: part.is === 'wait' ? KIND.internal : KIND.client,
    startMs: offsetMs + part.beganMs,
    endMs: offsetMs + (part.endedMs ?? nowMs),
    attributes,
    status: statusOf(failure, undefined),
    links: link === undefined ? [] : [{ ...link, isRemote: false }],
  }
}

/** Creates the only span of a trace for the proxy's own request. */
export const ownSpan = (
  context: SpanContext,
  { method, to, beganMs, failure }: OwnRequest,
  { offsetMs, nowMs }: { readonly offsetMs: number; readonly nowMs: number },
): Span => {
  const attributes: Values = { 'mcp.method.name': method }
  putServer(attributes, to)
  putFailure(attributes, failure)
  return {
    ...context,
    parentSpanId: undefined,
    isParentRemote: false,
    traceState: undefined,
    name: `${method} ${to.server}`,
    kind: KIND.client,
    startMs: offsetMs + beganMs,
    endMs: offsetMs + nowMs,
    attributes,
    status: statusOf(failure, undefined),
    links: [],
  }
}

/** Returns a client's request id, truncated because it can have any length. */
const shownId = (id: JsonText): string => sanitizeLine(stringOf(id) ?? id.toString('latin1'), NAME_BYTES)

/** Cache of masked names: few names repeat, and masking takes as long as the rest of a span. */
const SHOWN_MOST = 1024
const shownNames = new Map<string, string>()

const shownName = (name: string): string => {
  const known = shownNames.get(name)
  if (known !== undefined) return known
  const made = sanitizeLine(name, NAME_BYTES)
  if (name.length > NAME_BYTES) return made
  if (shownNames.size >= SHOWN_MOST) shownNames.clear()
  shownNames.set(name, made)
  return made
}

const methodOf = ({ method }: Pick<Call, 'method'>): string => shownName(method)

/** Returns the tool or prompt name of a request, as the client sent it. Excludes URIs. */
const targetOf = ({ method, named, params }: Call): string | undefined => {
  if (method !== 'tools/call' && method !== 'prompts/get') return undefined
  const name = named ?? (params && textMember(params, 'name'))
  return name && shownName(name)
}

const ownTarget = ({ method, ownName }: TracedCall): string | undefined =>
  (method === 'tools/call' || method === 'prompts/get') && ownName !== undefined
    ? shownName(ownName)
    : undefined

const nameOfPart = (part: TracePart, call: TracedCall): string => {
  const target = part.is === 'request' && part.what === call.method ? ownTarget(call) : undefined
  const method = shownName(part.what)
  return target === undefined ? method : `${method} ${target}`
}

const putMethod = (
  attributes: Values,
  method: string,
  target: string | undefined,
  params: JsonText | undefined,
): void => {
  put(attributes, 'mcp.method.name', shownName(method))
  if (method === 'tools/call') {
    put(attributes, 'gen_ai.operation.name', 'execute_tool')
    put(attributes, 'gen_ai.tool.name', target)
  } else if (method === 'prompts/get') put(attributes, 'gen_ai.prompt.name', target)
  else if (method.startsWith('resources/'))
    put(attributes, 'mcp.resource.uri', bareUri(params && textMember(params, 'uri')))
}

/** Removes userinfo, query and fragment, which may hold secrets. */
const bareUri = (uri: string | undefined): string | undefined =>
  uri &&
  sanitizeLine(uri.replace(/[?#].*$/s, '').replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i, '$1'), NAME_BYTES)

const TRANSPORTS = { stdio: 'pipe', socket: 'unix', http: 'tcp', sse: 'tcp', websocket: 'tcp' } as const
const PROTOCOLS = { http: 'http', sse: 'http', websocket: 'websocket', stdio: undefined, socket: undefined }

/** The proxy supports only HTTP/1.1 on both sides. */
const versionOf = (protocol: string | undefined): string | undefined =>
  protocol === 'http' ? '1.1' : undefined

const putClient = (attributes: Values, client: Client): void => {
  const { revision, via } = client
  put(attributes, 'mcp.protocol.version', revision)
  put(attributes, 'mcp.session.id', sessionHash(client))
  if (via === undefined) return
  put(attributes, 'network.transport', TRANSPORTS[via])
  put(attributes, 'network.protocol.name', PROTOCOLS[via])
  put(attributes, 'network.protocol.version', versionOf(PROTOCOLS[via]))
}

const putServer = (attributes: Values, to: Destination): void => {
  const { server, revision, protocol, isProcess, address, port } = to
  if (revision !== '') put(attributes, 'mcp.protocol.version', revision)
  put(attributes, 'network.transport', isProcess ? 'pipe' : protocol === undefined ? 'unix' : 'tcp')
  put(attributes, 'network.protocol.name', protocol)
  put(attributes, 'network.protocol.version', versionOf(protocol))
  put(attributes, 'server.address', address)
  put(attributes, 'server.port', port)
  put(attributes, 'mcp_proxy.server', server)
}

const putFailure = (attributes: Values, failure: Failure | undefined): void => {
  if (failure === undefined) return
  if (failure.type !== '') put(attributes, 'error.type', failure.type)
  if (failure.code !== '') put(attributes, 'rpc.response.status_code', failure.code)
}

const statusOf = (failure: Failure | undefined, outcome: Outcome | undefined): Span['status'] => {
  if (failure === undefined || failure.type === '') return { code: STATUS.unset }
  const message = outcome && wordsOf(outcome)
  return { code: STATUS.error, ...(message && { message: sanitizeLine(message, WORDS_BYTES) }) }
}

/** Returns the message of an error, but no text of a result. */
const wordsOf = (outcome: Outcome): string | undefined => {
  if (outcome.kind === 'fault') return outcome.fault.message
  return outcome.kind === 'error' ? textMember(outcome.error, 'message') : undefined
}

/** Records content only if both the configuration and the environment enable it. */
const putContent = (attributes: Values, { method, params }: Call, outcome: Outcome | undefined): void => {
  if (method !== 'tools/call') return
  const args = params && memberOf(params, 'arguments')
  put(attributes, 'gen_ai.tool.call.arguments', args && shown(args))
  if (outcome?.kind === 'result') put(attributes, 'gen_ai.tool.call.result', shown(outcome.result))
}

const shown = (json: Buffer): string =>
  json.length > CONTENT_BYTES
    ? sanitizeText(json.toString('utf8', 0, 2 * CONTENT_BYTES), CONTENT_BYTES)
    : sanitizeText(maskJson(json.toString()), CONTENT_BYTES)
