// The server that the official conformance suite expects: `node server.mjs` on stdio, `node server.mjs http` on a free port
// (printed on the first line). Scenario descriptions of the suite say what each tool, resource and prompt must do.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
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
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='
const text = words => ({ type: 'text', text: words })
const answer = (...content) => ({ content })
const titled = names => names.map(([value, title]) => ({ const: value, title }))

const JSON_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
}

const one = name => ({ type: 'object', properties: { [name]: { type: 'string' } }, required: [name] })

const TOOLS = {
  test_simple_text: { run: () => answer(text('This is a simple text response for testing.')) },
  test_image_content: { run: () => answer({ type: 'image', data: PNG, mimeType: 'image/png' }) },
  test_audio_content: { run: () => answer({ type: 'audio', data: WAV, mimeType: 'audio/wav' }) },
  test_embedded_resource: {
    run: () =>
      answer({
        type: 'resource',
        resource: {
          uri: 'test://embedded-resource',
          mimeType: 'text/plain',
          text: 'This is an embedded resource content.',
        },
      }),
  },
  test_multiple_content_types: {
    run: () =>
      answer(
        text('Multiple content types test:'),
        { type: 'image', data: PNG, mimeType: 'image/png' },
        {
          type: 'resource',
          resource: {
            uri: 'test://mixed-content-resource',
            mimeType: 'application/json',
            text: '{"test":"data","value":123}',
          },
        },
      ),
  },
  test_tool_with_logging: {
    async run(_args, extra) {
      for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        await extra.sendNotification({ method: 'notifications/message', params: { level: 'info', data } })
        await sleep(50)
      }
      return answer(text('Tool with logging executed successfully'))
    },
  },
  test_error_handling: {
    run: () => ({ isError: true, ...answer(text('This tool intentionally returns an error for testing')) }),
  },
  test_tool_with_progress: {
    async run(_args, extra) {
      const progressToken = extra._meta?.progressToken
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined) {
          await extra.sendNotification({
            method: 'notifications/progress',
            params: { progressToken, progress, total: 100 },
          })
        }
        await sleep(50)
      }
      return answer(text(String(progressToken)))
    },
  },
  test_sampling: {
    inputSchema: one('prompt'),
    async run({ prompt }, _extra, server) {
      const result = await server.createMessage({
        messages: [{ role: 'user', content: text(prompt) }],
        maxTokens: 100,
      })
      return answer(text(`LLM response: ${result.content.text}`))
    },
  },
  test_elicitation: {
    inputSchema: one('message'),
    async run({ message }, _extra, server) {
      const result = await server.elicitInput({
        message,
        requestedSchema: {
          type: 'object',
          properties: {
            username: { type: 'string', description: "User's response" },
            email: { type: 'string', description: "User's email address" },
          },
          required: ['username', 'email'],
        },
      })
      return answer(text(`User response: action=${result.action}, content=${JSON.stringify(result.content)}`))
    },
  },
  test_elicitation_sep1034_defaults: {
    async run(_args, _extra, server) {
      const result = await server.elicitInput({
        message: 'Please review the defaults',
        requestedSchema: {
          type: 'object',
          properties: {
            name: { type: 'string', default: 'John Doe' },
            age: { type: 'integer', default: 30 },
            score: { type: 'number', default: 95.5 },
            status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
            verified: { type: 'boolean', default: true },
          },
          required: [],
        },
      })
      return answer(
        text(`Elicitation completed: action=${result.action}, content=${JSON.stringify(result.content)}`),
      )
    },
  },
  test_elicitation_sep1330_enums: {
    async run(_args, _extra, server) {
      const three = ['option1', 'option2', 'option3']
      const result = await server.elicitInput({
        message: 'Please choose',
        requestedSchema: {
          type: 'object',
          properties: {
            untitledSingle: { type: 'string', enum: three },
            titledSingle: {
              type: 'string',
              oneOf: titled([
                ['value1', 'First Option'],
                ['value2', 'Second Option'],
                ['value3', 'Third Option'],
              ]),
            },
            legacyEnum: {
              type: 'string',
              enum: ['opt1', 'opt2', 'opt3'],
              enumNames: ['Option One', 'Option Two', 'Option Three'],
            },
            untitledMulti: { type: 'array', items: { type: 'string', enum: three } },
            titledMulti: {
              type: 'array',
              items: {
                anyOf: titled([
                  ['value1', 'First Choice'],
                  ['value2', 'Second Choice'],
                  ['value3', 'Third Choice'],
                ]),
              },
            },
          },
          required: [],
        },
      })
      return answer(
        text(`Elicitation completed: action=${result.action}, content=${JSON.stringify(result.content)}`),
      )
    },
  },
  json_schema_2020_12_tool: {
    inputSchema: JSON_SCHEMA,
    run: args => answer(text(JSON.stringify(args))),
  },
  test_reconnection: {
    async run(_args, extra) {
      extra.closeSSEStream?.()
      await sleep(100)
      return answer(text('Reconnection test completed successfully'))
    },
  },
}

const RESOURCES = {
  'test://static-text': { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  'test://static-binary': { mimeType: 'image/png', blob: PNG },
  'test://watched-resource': { mimeType: 'text/plain', text: 'Watched' },
}

const user = content => ({ role: 'user', content })
const PROMPTS = {
  test_simple_prompt: { get: () => [user(text('This is a simple prompt for testing.'))] },
  test_prompt_with_arguments: {
    arguments: ['arg1', 'arg2'],
    get: ({ arg1, arg2 }) => [user(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
  },
  test_prompt_with_embedded_resource: {
    arguments: ['resourceUri'],
    get: ({ resourceUri }) => [
      user({
        type: 'resource',
        resource: {
          uri: resourceUri,
          mimeType: 'text/plain',
          text: 'Embedded resource content for testing.',
        },
      }),
      user(text('Please process the embedded resource above.')),
    ],
  },
  test_prompt_with_image: {
    get: () => [
      user({ type: 'image', data: PNG, mimeType: 'image/png' }),
      user(text('Please analyze the image above.')),
    ],
  },
}

function createFixture() {
  const server = new Server(
    { name: 'conformance-fixture', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        prompts: { listChanged: true },
        logging: {},
        completions: {},
      },
    },
  )
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: Object.entries(TOOLS).map(([name, tool]) => ({
      name,
      description: `Conformance tool ${name}`,
      inputSchema: tool.inputSchema ?? { type: 'object', properties: {} },
    })),
  }))
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const tool = TOOLS[params.name]
    if (tool === undefined) throw new Error(`Unknown tool: ${params.name}`)
    return tool.run(params.arguments ?? {}, extra, server)
  })
  server.setRequestHandler(ListResourcesRequestSchema, () => ({
    resources: Object.entries(RESOURCES).map(([uri, { mimeType }]) => ({
      uri,
      name: uri.slice('test://'.length),
      description: 'A conformance resource',
      mimeType,
    })),
  }))
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [
      { uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' },
    ],
  }))
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => {
    const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
    const data = `Data for ID: ${id}`
    const entry = id
      ? { mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true, data }) }
      : RESOURCES[uri]
    if (entry === undefined)
      throw Object.assign(new Error('Resource not found'), { code: -32002, data: { uri } })
    return { contents: [{ uri, ...entry }] }
  })
  server.setRequestHandler(SubscribeRequestSchema, () => ({}))
  server.setRequestHandler(UnsubscribeRequestSchema, () => ({}))
  server.setRequestHandler(SetLevelRequestSchema, () => ({}))
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: Object.entries(PROMPTS).map(([name, prompt]) => ({
      name,
      description: `Conformance prompt ${name}`,
      ...(prompt.arguments && {
        arguments: prompt.arguments.map(argument => ({
          name: argument,
          description: argument,
          required: true,
        })),
      }),
    })),
  }))
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) => {
    const prompt = PROMPTS[params.name]
    if (prompt === undefined) throw new Error(`Unknown prompt: ${params.name}`)
    return { messages: prompt.get(params.arguments ?? {}) }
  })
  server.setRequestHandler(CompleteRequestSchema, ({ params }) => ({
    completion: {
      values: ['paris', 'park', 'party'].filter(value => value.startsWith(params.argument.value)),
      total: 3,
      hasMore: false,
    },
  }))
  return server
}

/** What the suite's session scenarios need, so that the fixture passes directly where a proxy in front should too. */
async function serveHttp() {
  const sessions = new Map()
  const isLocal = value =>
    value === undefined || /^(https?:\/\/)?(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(value)
  const refuse = (response, status) => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end('{"jsonrpc":"2.0","error":{"code":-32600,"message":"Refused"}}')
  }
  const http = createServer(async (request, response) => {
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
    await transport.handleRequest(request, response)
  })
  http.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${http.address().port}/mcp`))
}

if (process.argv[2] === 'http') await serveHttp()
else await createFixture().connect(new StdioServerTransport())
