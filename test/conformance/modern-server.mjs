// The server of 2026-07-28 that the official conformance suite expects: `node modern-server.mjs` on stdio,
// `node modern-server.mjs http` on a free port (printed on the first line).
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import {
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  MissingRequiredClientCapabilityError,
  ResourceNotFoundError,
  Server,
} from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import {
  addTo,
  CAPABILITIES,
  complete,
  INFO,
  isLocal,
  listPrompts,
  listResources,
  listTemplates,
  listTools,
  PROMPTS,
  readResource,
  serveHttp,
  TOOLS,
} from './content.mjs'

const CLIENT_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel'
const state = createRequestStateCodec({ key: randomBytes(32) })
/** How changed lists are told, set by whoever serves. */
const announce = { tools: () => undefined, prompts: () => undefined }

/** What a call wants to know, thrown through it: it is made again with the answers. */
class Questions {
  constructor(questions, answers) {
    this.questions = questions
    this.answers = answers
  }
}

const isAnswer = value => typeof value === 'object' && value !== null

/** What a call can do; answers of earlier rounds are in the state that the client brings back. */
const howOf = ({ mcpReq }) => {
  const { _meta, envelope, inputResponses } = mcpReq
  const known = { ...mcpReq.requestState(), ...inputResponses }
  return {
    token: _meta?.progressToken,
    asks: capability => envelope?.[CLIENT_CAPABILITIES]?.[capability] !== undefined,
    tell: async (method, params) => {
      if (method !== 'notifications/message' || envelope?.[LOG_LEVEL] !== undefined)
        await mcpReq.notify({ method, params })
    },
    ask: async questions => {
      const open = Object.entries(questions).filter(([name]) => !isAnswer(known[name]))
      if (open.length > 0) throw new Questions(Object.fromEntries(open), known)
      return Object.fromEntries(Object.keys(questions).map(name => [name, known[name]]))
    },
    missing: requiredCapabilities => {
      throw new MissingRequiredClientCapabilityError({ requiredCapabilities })
    },
    change: list => {
      addTo(list)
      return announce[list]()
    },
    closeStream: () => undefined,
  }
}

/** What comes of a call, or what it wants to know first. */
const unlessAsked = async (work, mayAsk) => {
  try {
    return await work()
  } catch (thrown) {
    if (!(thrown instanceof Questions)) throw thrown
    if (!mayAsk) throw new Error('This tool asks with requests, which this revision does not have')
    return inputRequired({ inputRequests: thrown.questions, requestState: await state.mint(thrown.answers) })
  }
}

export function createFixture(mayAsk = true) {
  const server = new Server(INFO, { capabilities: CAPABILITIES, requestState: { verify: state.verify } })
  server.setRequestHandler('tools/list', listTools)
  server.setRequestHandler('tools/call', ({ params }, context) => {
    const tool = TOOLS[params.name]
    if (tool === undefined) throw new Error(`Unknown tool: ${params.name}`)
    return unlessAsked(() => tool.run(params.arguments ?? {}, howOf(context)), mayAsk)
  })
  server.setRequestHandler('resources/list', listResources)
  server.setRequestHandler('resources/templates/list', listTemplates)
  server.setRequestHandler('resources/read', ({ params: { uri } }) => {
    const result = readResource(uri)
    if (result === undefined) throw new ResourceNotFoundError(uri)
    return result
  })
  server.setRequestHandler('prompts/list', listPrompts)
  server.setRequestHandler('prompts/get', ({ params }, context) => {
    const prompt = PROMPTS[params.name]
    if (prompt === undefined) throw new Error(`Unknown prompt: ${params.name}`)
    const get = async () => ({ messages: await prompt.get(params.arguments ?? {}, howOf(context)) })
    return unlessAsked(get, mayAsk)
  })
  server.setRequestHandler('completion/complete', ({ params }) => complete(params.argument))
  return server
}

/** Answers requests over HTTP; `whole` is the body if somebody has read it. */
export function createHandler(mayAsk = true) {
  const handler = createMcpHandler(() => createFixture(mayAsk), { legacy: 'reject' })
  announce.tools = () => handler.notify.toolsChanged()
  announce.prompts = () => handler.notify.promptsChanged()
  return async (request, response, whole) => {
    if (!isLocal(request.headers.host) || !isLocal(request.headers.origin)) {
      response.writeHead(403, { 'content-type': 'application/json' })
      response.end('{"jsonrpc":"2.0","error":{"code":-32600,"message":"Refused"}}')
      return
    }
    const body = whole ?? Buffer.concat(await request.toArray())
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const { method, headers } = request
    const around = { method, headers, signal: gone.signal, ...(body.length > 0 && { body }) }
    const answer = await handler.fetch(new Request(`http://${headers.host}${request.url}`, around))
    response.writeHead(answer.status, Object.fromEntries(answer.headers))
    if (answer.body === null) response.end()
    else
      Readable.fromWeb(answer.body)
        .on('error', () => response.destroy())
        .pipe(response)
  }
}

/** Serves on stdio, and clients with a handshake as `legacy` says. */
export function serveOnStdio(legacy, create) {
  let server
  serveStdio(context => (server = create(context)), { legacy })
  announce.tools = () => server?.sendToolListChanged()
  announce.prompts = () => server?.sendPromptListChanged()
}

if (import.meta.filename === process.argv[1]) {
  if (process.argv[2] === 'http') serveHttp(createHandler())
  else serveOnStdio('reject', () => createFixture())
}
