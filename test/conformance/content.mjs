// What the servers of the official conformance suite have, whichever era they are of; descriptions of the
// suite's scenarios say what each tool, resource and prompt must do. `how` is what a call can do beside
// answering:
//   token               of its progress, if the caller wants any
//   asks(capability)    whether the client can be asked for it
//   tell(method, params)   says something about this call
//   ask(questions)      asks the client, by name; with 2026-07-28 the call may end here and be made again
//   missing(capabilities)  throws what a call ends with that cannot do without
//   change(list)        says that a list has changed
//   closeStream()       breaks the stream of the call, where there is one
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

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
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
}

const one = name => ({ type: 'object', properties: { [name]: { type: 'string' } }, required: [name] })

const elicitation = (message, properties, required) => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties, required } },
})
const sampling = (words, maxTokens) => ({
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: text(words) }], maxTokens },
})
const ROOTS = { method: 'roots/list' }
const CONFIRM = elicitation('Please confirm', { ok: { type: 'boolean' } }, ['ok'])
const NAME = elicitation('What is your name?', { name: { type: 'string' } }, ['name'])

/** Tools that want input before they end, as the scenarios of 2026-07-28 name them. */
const INPUT_TOOLS = {
  test_input_required_result_elicitation: {
    async run(_args, { ask }) {
      const { user_name } = await ask({ user_name: NAME })
      return answer(text(`Hello, ${user_name.content.name}!`))
    },
  },
  test_input_required_result_sampling: {
    async run(_args, { ask }) {
      const { capital_question } = await ask({
        capital_question: sampling('What is the capital of France?', 100),
      })
      return answer(text(capital_question.content.text))
    },
  },
  test_input_required_result_list_roots: {
    async run(_args, { ask }) {
      const { client_roots } = await ask({ client_roots: ROOTS })
      return answer(text(client_roots.roots.map(({ uri }) => uri).join(', ')))
    },
  },
  test_input_required_result_request_state: {
    async run(_args, { ask }) {
      await ask({ confirm: CONFIRM })
      return answer(text('state-ok'))
    },
  },
  test_input_required_result_tampered_state: {
    async run(_args, { ask }) {
      await ask({ confirm: CONFIRM })
      return answer(text('state-ok'))
    },
  },
  test_input_required_result_multiple_inputs: {
    async run(_args, { ask }) {
      const answers = await ask({
        user_name: NAME,
        greeting: sampling('Generate a greeting', 50),
        client_roots: ROOTS,
      })
      return answer(text(Object.keys(answers).join(', ')))
    },
  },
  test_input_required_result_multi_round: {
    async run(_args, { ask }) {
      const name = { name: { type: 'string' } }
      const { step1 } = await ask({ step1: elicitation('Step 1: What is your name?', name, ['name']) })
      const color = { color: { type: 'string' } }
      const { step2 } = await ask({
        step2: elicitation('Step 2: What is your favorite color?', color, ['color']),
      })
      return answer(text(`${step1.content.name} likes ${step2.content.color}`))
    },
  },
  test_input_required_result_capabilities: {
    async run(_args, { ask, asks }) {
      const questions = {
        ...(asks('sampling') && { greeting: sampling('Generate a greeting', 50) }),
        ...(asks('elicitation') && { user_name: NAME }),
      }
      return answer(text(Object.keys(await ask(questions)).join(', ')))
    },
  },
  test_streaming_elicitation: {
    async run(_args, { ask }) {
      await ask({ confirm: CONFIRM })
      return answer(text('confirmed'))
    },
  },
  test_missing_capability: {
    run(_args, { asks, missing }) {
      if (!asks('sampling')) missing({ sampling: {} })
      return answer(text('This client can sample'))
    },
  },
}

export const TOOLS = {
  ...INPUT_TOOLS,
  test_custom_header: {
    inputSchema: {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
      required: ['region'],
    },
    run: ({ region }) => answer(text(region)),
  },
  test_logging_tool: {
    async run(_args, { tell }) {
      await tell('notifications/message', { level: 'info', data: 'This is logged' })
      return answer(text('logged'))
    },
  },
  test_trigger_tool_change: {
    async run(_args, { change }) {
      await change('tools')
      return answer(text('changed'))
    },
  },
  test_trigger_prompt_change: {
    async run(_args, { change }) {
      await change('prompts')
      return answer(text('changed'))
    },
  },
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
    async run(_args, { tell }) {
      for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        await tell('notifications/message', { level: 'info', data })
        await sleep(50)
      }
      return answer(text('Tool with logging executed successfully'))
    },
  },
  test_error_handling: {
    run: () => ({ isError: true, ...answer(text('This tool intentionally returns an error for testing')) }),
  },
  test_tool_with_progress: {
    async run(_args, { token, tell }) {
      for (const progress of [0, 50, 100]) {
        if (token !== undefined)
          await tell('notifications/progress', { progressToken: token, progress, total: 100 })
        await sleep(50)
      }
      return answer(text(String(token)))
    },
  },
  test_sampling: {
    inputSchema: one('prompt'),
    async run({ prompt }, { ask }) {
      const { sample } = await ask({ sample: sampling(prompt, 100) })
      return answer(text(`LLM response: ${sample.content.text}`))
    },
  },
  test_elicitation: {
    inputSchema: one('message'),
    async run({ message }, { ask }) {
      const properties = {
        username: { type: 'string', description: "User's response" },
        email: { type: 'string', description: "User's email address" },
      }
      const { result } = await ask({ result: elicitation(message, properties, ['username', 'email']) })
      return answer(text(`User response: action=${result.action}, content=${JSON.stringify(result.content)}`))
    },
  },
  test_elicitation_sep1034_defaults: {
    async run(_args, { ask }) {
      const properties = {
        name: { type: 'string', default: 'John Doe' },
        age: { type: 'integer', default: 30 },
        score: { type: 'number', default: 95.5 },
        status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
        verified: { type: 'boolean', default: true },
      }
      const { result } = await ask({ result: elicitation('Please review the defaults', properties, []) })
      return answer(
        text(`Elicitation completed: action=${result.action}, content=${JSON.stringify(result.content)}`),
      )
    },
  },
  test_elicitation_sep1330_enums: {
    async run(_args, { ask }) {
      const three = ['option1', 'option2', 'option3']
      const properties = {
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
      }
      const { result } = await ask({ result: elicitation('Please choose', properties, []) })
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
    async run(_args, { closeStream }) {
      closeStream()
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
export const PROMPTS = {
  test_input_required_result_prompt: {
    async get(_args, { ask }) {
      const wanted = { context: { type: 'string' } }
      const question = elicitation('What context should the prompt use?', wanted, ['context'])
      const { user_context } = await ask({ user_context: question })
      return [user(text(`Context: ${user_context.content.context}`))]
    },
  },
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

/** Items that were added, so that a list that is said to have changed has. */
const added = { tools: 0, prompts: 0 }
export const addTo = list => {
  added[list] += 1
}
const more = (list, make) => Array.from({ length: added[list] }, (_, n) => make(`added_${list}_${n + 1}`))

export const listTools = () => ({
  tools: [
    ...Object.entries(TOOLS).map(([name, tool]) => ({
      name,
      description: `Conformance tool ${name}`,
      inputSchema: tool.inputSchema ?? { type: 'object', properties: {} },
    })),
    ...more('tools', name => ({ name, description: 'Added', inputSchema: { type: 'object' } })),
  ],
})

export const listPrompts = () => ({
  prompts: [
    ...Object.entries(PROMPTS).map(([name, prompt]) => ({
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
    ...more('prompts', name => ({ name, description: 'Added' })),
  ],
})

export const listResources = () => ({
  resources: Object.entries(RESOURCES).map(([uri, { mimeType }]) => ({
    uri,
    name: uri.slice('test://'.length),
    description: 'A conformance resource',
    mimeType,
  })),
})

export const listTemplates = () => ({
  resourceTemplates: [
    { uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' },
  ],
})

/** The contents of a resource; undefined if there is none. */
export const readResource = uri => {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
  const data = `Data for ID: ${id}`
  const entry = id
    ? { mimeType: 'application/json', text: JSON.stringify({ id, templateTest: true, data }) }
    : RESOURCES[uri]
  return entry && { contents: [{ uri, ...entry }] }
}

export const complete = argument => ({
  completion: {
    values: ['paris', 'park', 'party'].filter(value => value.startsWith(argument.value)),
    total: 3,
    hasMore: false,
  },
})

export const INFO = { name: 'conformance-fixture', version: '1.0.0' }
export const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  logging: {},
  completions: {},
}

/** Whether a Host or Origin header names this machine. */
export const isLocal = value =>
  value === undefined || /^(https?:\/\/)?(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(value)

/** Serves on a free port, and prints where. */
/** Listens on a free port, or on a local socket. */
export function serveHttp(handler, socket) {
  const http = createServer(handler)
  if (socket !== undefined) http.listen(socket, () => console.log(socket))
  else http.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${http.address().port}/mcp`))
}
