import { type Caller, LOCAL } from '../../kernel/caller.js'
import { Fault } from '../../kernel/faults.js'
import { type JsonText, rawText, textOf, valueOf } from '../../kernel/json/text.js'
import { isObject } from '../../kernel/object.js'
import type { Answer } from '../../model/outcome.js'
import { faultText } from '../../model/rpc-error.js'
import { LocalClient } from '../local-client.js'
import { approvalsView, decideHere } from './approvals.js'
import type { ControlApiContext } from './context.js'
import { testRules } from './rules.js'
import { type ApiAnswer, eventStream, logStream, type Stream, Streams } from './streams.js'
import { switchTool, toolSwitchesView } from './tool-switches.js'
import { callsView, clientsView, configView, errorsView, serversView, toolsView, toolView } from './views.js'
import { hiddenFrom, withoutServers } from './visible.js'
import { whyOf } from './why.js'

/** A request from the private socket or the port. `path` excludes `/v1` and `/api/v1`. */
export interface ApiRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly body: string
  /** The authenticated caller. Absent for a local program of the same user. */
  readonly caller?: Caller | undefined
  /** The last event received before the client lost its stream. */
  readonly lastEventId?: string | undefined
  /** True if the client accepts an event stream. */
  readonly wantsEvents?: boolean
  /** Calls `then` once the client has its answer or has disconnected. */
  readonly onClosed?: (then: () => void) => void
}

type Handler = (request: ApiRequest, name: string, item: string) => object | Promise<object>

/** Answers the requests that the private socket and the port share. */
export interface Api {
  /** Returns undefined for an unknown path. Never rejects. */
  answer(request: ApiRequest): Promise<ApiAnswer | undefined>
}

/** Default time limit of a probe, and the longest. */
const PROBE_MS = 30_000
const LONGEST_PROBE_MS = 10 * 60_000

export const createApi = (context: ControlApiContext): Api => {
  const streams = new Streams()
  const paths = createPaths(context)
  const streamOf = (request: ApiRequest): Stream | undefined => {
    const { method, path, query, body, wantsEvents, caller } = request
    if (method === 'POST')
      return path === '/call' && wantsEvents === true ? callStream(context, callIn(body), caller) : undefined
    if (path === '/events') return eventStream(context, query)
    return path === '/logs' && context.lines !== undefined
      ? logStream(context.lines, query, request)
      : undefined
  }
  const answerOf = async (request: ApiRequest): Promise<ApiAnswer | undefined> => {
    const { method, path, caller = LOCAL } = request
    const hidden = hiddenFrom(context, caller)
    const stream = streamOf(request)
    if (stream !== undefined)
      return withoutServers({ stream: streams.admit(stream, caller.principal) }, hidden)
    const { route, area, name, item } = routeOf(path)
    const handler = paths.get(`${method} ${route}`)
    if (handler === undefined) return undefined
    const named = namedIn(name, area === 'servers' ? hidden : NONE)
    const value = await handler(request, named, decodeURIComponent(item))
    if (method === 'POST' && area !== 'call') context.changed?.(path, caller)
    return withoutServers({ status: 200, value }, hidden)
  }
  return {
    async answer(request) {
      try {
        return await answerOf(request)
      } catch (thrown) {
        const fault = Fault.from(
          thrown instanceof URIError ? new Fault('invalid-params', 'bad path') : thrown,
        )
        context.failed(fault)
        return { status: statusOf(fault), value: { error: fault.message } }
      }
    },
  }
}

/** Replaces the names in a path, such as `/servers/NAME/tools/ITEM/enable`, by `*`. */
const routeOf = (path: string) => {
  const [, area = '', name = '', action = '', item = '', itemAction = ''] = path.split('/')
  const parts = [area, name && '*', action, item && '*', itemAction].filter(Boolean)
  return { route: `/${parts.join('/')}`, area, name, item }
}

const NONE: ReadonlySet<string> = new Set()

/** Decodes the server name in a path. Throws a Fault `invalid-params` for a hidden server. */
const namedIn = (part: string, hidden: ReadonlySet<string>): string => {
  const name = decodeURIComponent(part)
  if (hidden.has(name)) throw new Fault('invalid-params', `Unknown server: ${name}`)
  return name
}

const statusOf = ({ code }: Fault): number => {
  if (code === 'internal') return 500
  return code === 'overloaded' ? 503 : 400
}

const createPaths = (context: ControlApiContext): ReadonlyMap<string, Handler> => {
  const switched = (isEnabled: boolean): Handler => {
    return (_, name) => {
      context.setEnabled(name, isEnabled)
      return { version: 1 }
    }
  }
  return new Map<string, Handler>([
    ['GET /status', () => context.status()],
    ['GET /servers', () => serversView(context)],
    ['GET /tools', ({ query, caller = LOCAL }) => toolsView(context, query, hiddenFrom(context, caller))],
    ['GET /tools/*', (_, name) => toolView(context, name)],
    ['GET /clients', () => clientsView(context)],
    ['GET /calls', ({ query }) => callsView(context, Number(query.get('after') ?? 0) || 0)],
    ['GET /config', () => configView(context)],
    ['GET /errors', () => errorsView(context)],
    ['GET /why', ({ query }) => whyOf(context, query.get('q') ?? '', query.get('for') ?? undefined)],
    ['GET /approvals', request => onlyHere(request, () => approvalsView(context))],
    ['POST /approvals/*/approve', (request, id) => onlyHere(request, () => decideHere(context, id, true))],
    ['POST /approvals/*/deny', (request, id) => onlyHere(request, () => decideHere(context, id, false))],
    ['GET /rules', ({ query, caller = LOCAL }) => testRules(context, query, hiddenFrom(context, caller))],
    [
      'POST /servers/*/restart',
      async (_, name) => {
        await context.restart(name)
        return { version: 1 }
      },
    ],
    [
      'POST /servers/*/sign-in',
      ({ caller = LOCAL }, name) => ({ version: 1, url: context.signInUrl?.(name, caller) }),
    ],
    [
      'POST /servers/*/probe',
      async ({ body }, name) => {
        const { probeServed } = await import('./probe.js')
        return { version: 1, probe: await probeServed(context, name, timeoutIn(body)) }
      },
    ],
    ['POST /servers/*/disable', switched(false)],
    ['POST /servers/*/enable', switched(true)],
    ['GET /servers/*/tools', (_, name) => toolSwitchesView(context, name)],
    ['POST /servers/*/tools/*/disable', (_, server, own) => switchTool(context, { server, own }, false)],
    ['POST /servers/*/tools/*/enable', (_, server, own) => switchTool(context, { server, own }, true)],
    ['POST /call', request => call(context, request)],
    [
      'POST /reload',
      () => {
        const reload = context.reload()
        if (reload === undefined)
          throw new Fault('invalid-params', 'this proxy runs without a configuration file')
        reload()
        return { version: 1 }
      },
    ],
  ])
}

/** Answers the private socket alone. Throws a Fault `forbidden`. */
const onlyHere = ({ caller }: ApiRequest, answer: () => object): object => {
  if (caller !== undefined) throw new Fault('forbidden', 'approvals are decided on their pages')
  return answer()
}

/** Returns the time limit of a probe. Throws a Fault `invalid-params`. */
const timeoutIn = (body: string): number => {
  const given = parsed(body === '' ? '{}' : body)
  const timeoutMs = isObject(given) ? (given['timeoutMs'] ?? PROBE_MS) : undefined
  if (typeof timeoutMs === 'number' && timeoutMs > 0) return Math.min(timeoutMs, LONGEST_PROBE_MS)
  throw new Fault('invalid-params', 'the body must be {"timeoutMs": 30000}')
}

/** Returns the `tools/call` params in a request body. Throws a Fault `invalid-params`. */
const callIn = (body: string): JsonText => {
  const given = parsed(body)
  if (!isObject(given) || typeof given['name'] !== 'string')
    throw new Fault('invalid-params', 'the body must be {"name": "…", "arguments": {…}}')
  const { name, arguments: args = {} } = given
  if (!isObject(args)) throw new Fault('invalid-params', '"arguments" must be an object')
  return textOf({ name, arguments: args })
}

/**
 * Calls a tool as a client without capabilities. Returns the JSON-RPC result or error. A client that
 * disconnects cancels the call.
 */
const call = async (
  { handler }: ControlApiContext,
  { body, caller, onClosed }: ApiRequest,
): Promise<object> => {
  const params = callIn(body)
  const client = new LocalClient(handler, { caller })
  onClosed?.(() => client.close())
  try {
    return said(await client.request('tools/call', params))
  } finally {
    client.close()
  }
}

/**
 * Calls a tool and sends an event for each progress notification before the `answer`. Closing the stream
 * cancels the call.
 */
const callStream =
  ({ handler }: ControlApiContext, params: JsonText, caller?: Caller): Stream =>
  (send, end) => {
    const client = new LocalClient(handler, {
      caller,
      onProgress: progress => send({ event: 'progress', data: JSON.stringify(valueOf(progress)) }),
    })
    void client.request('tools/call', params).then(answer => {
      send({ event: 'answer', data: JSON.stringify(said(answer)) })
      end()
    })
    return () => client.close()
  }

const said = (answer: Answer): object => ({ jsonrpc: '2.0', id: 1, ...contentOf(answer) })

const contentOf = (answer: Answer): object => {
  switch (answer.kind) {
    case 'result':
      return { result: valueOf(answer.result) }
    case 'error':
      return { error: valueOf(answer.error) }
    case 'fault':
      return { error: valueOf(faultText(answer.fault, undefined, answer.errorId, answer.message)) }
  }
}

const parsed = (body: string): unknown => {
  try {
    return valueOf(rawText(body))
  } catch {
    return undefined
  }
}
