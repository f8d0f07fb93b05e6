// The server of the revisions with a handshake that the official conformance suite expects: `node server.mjs`
// on stdio, `node server.mjs http` on a free port (printed on the first line).
import { randomUUID } from 'node:crypto'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  ResultSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
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

export function createFixture() {
  const server = new Server(INFO, { capabilities: CAPABILITIES })
  const howOf = extra => ({
    token: extra._meta?.progressToken,
    asks: capability => server.getClientCapabilities()?.[capability] !== undefined,
    tell: (method, params) => extra.sendNotification({ method, params }),
    ask: async questions =>
      Object.fromEntries(
        await Promise.all(
          Object.entries(questions).map(async ([name, question]) => [
            name,
            await extra.sendRequest(question, ResultSchema),
          ]),
        ),
      ),
    missing: capabilities => {
      throw new Error(`This tool needs a client with ${Object.keys(capabilities).join(', ')}`)
    },
    change: list => {
      addTo(list)
      return list === 'tools' ? server.sendToolListChanged() : server.sendPromptListChanged()
    },
    closeStream: () => extra.closeSSEStream?.(),
  })
  const on = (schema, answer) => server.setRequestHandler(schema, answer)
  on(ListToolsRequestSchema, listTools)
  on(CallToolRequestSchema, async ({ params }, extra) => {
    const tool = TOOLS[params.name]
    if (tool === undefined) throw new Error(`Unknown tool: ${params.name}`)
    return tool.run(params.arguments ?? {}, howOf(extra))
  })
  on(ListResourcesRequestSchema, listResources)
  on(ListResourceTemplatesRequestSchema, listTemplates)
  on(ReadResourceRequestSchema, ({ params: { uri } }) => {
    const result = readResource(uri)
    if (result === undefined)
      throw Object.assign(new Error('Resource not found'), { code: -32002, data: { uri } })
    return result
  })
  on(SubscribeRequestSchema, () => ({}))
  on(UnsubscribeRequestSchema, () => ({}))
  on(SetLevelRequestSchema, () => ({}))
  on(ListPromptsRequestSchema, listPrompts)
  on(GetPromptRequestSchema, async ({ params }, extra) => {
    const prompt = PROMPTS[params.name]
    if (prompt === undefined) throw new Error(`Unknown prompt: ${params.name}`)
    return { messages: await prompt.get(params.arguments ?? {}, howOf(extra)) }
  })
  on(CompleteRequestSchema, ({ params }) => complete(params.argument))
  return server
}

/**
 * Answers requests over HTTP as the suite's session scenarios need it, so that the fixture passes directly
 * where a proxy in front should too.
 */
export function createHandler() {
  const sessions = new Map()
  const refuse = (response, status) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end('{"jsonrpc":"2.0","error":{"code":-32600,"message":"Refused"}}')
  }
  return async (request, response, body) => {
    if (!isLocal(request.headers.host) || !isLocal(request.headers.origin)) return refuse(response, 403)
    const id = request.headers['mcp-session-id']
    let transport = sessions.get(id)
    if (transport === undefined && id !== undefined) return refuse(response, 404)
    if (transport === undefined) {
      const events = []
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: minted => sessions.set(minted, transport),
        onsessionclosed: ended => sessions.delete(ended),
        retryInterval: 500,
        eventStore: {
          async storeEvent(streamId, message) {
            events.push({ streamId, message })
            return String(events.length - 1)
          },
          async replayEventsAfter(last, { send }) {
            const { streamId } = events[Number(last)]
            for (let index = Number(last) + 1; index < events.length; index += 1) {
              const event = events[index]
              if (
                event.streamId === streamId &&
                (event.message.method !== undefined) | (event.message.id !== undefined)
              ) {
                await send(String(index), event.message)
              }
            }
            return streamId
          },
        },
      })
      await createFixture().connect(transport)
    }
    await transport.handleRequest(request, response, body)
  }
}

if (import.meta.filename === process.argv[1]) {
  if (process.argv[2] === 'http') serveHttp(createHandler())
  else await createFixture().connect(new StdioServerTransport())
}
