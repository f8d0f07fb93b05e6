// The server of 2026-07-28 whose tools run as tasks, as the scenarios `tasks-…` of the official suite expect
// it: `node task-server.mjs` on stdio, `node task-server.mjs http` on a free port (printed on line one).
import { randomUUID } from 'node:crypto'
import { createInterface } from 'node:readline'
import { serveHttp } from './content.mjs'

const META = 'io.modelcontextprotocol/'
const TASKS = `${META}tasks`
const CAPABILITIES = { tools: {}, extensions: { [TASKS]: {} } }
const COMPLETE = { resultType: 'complete' }
const LIFE = { ttlMs: 600_000, pollIntervalMs: 100 }
const HEADERS = {
  'tools/call': 'name',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
}

class RpcError extends Error {
  constructor(code, message, data) {
    super(message)
    Object.assign(this, { code, data })
  }
}

const tasks = new Map()
const isOver = ({ status }) => ['completed', 'failed', 'cancelled'].includes(status)
const text = words => ({ ...COMPLETE, content: [{ type: 'text', text: words }] })
const question = (message, name) => ({
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties: { [name]: { type: 'string' } }, required: [name] },
  },
})

const change = (task, state) => {
  if (!isOver(task)) Object.assign(task, state, { lastUpdatedAt: new Date().toISOString() })
}

const createTask = begin => {
  const now = new Date().toISOString()
  const task = { taskId: randomUUID(), status: 'working', createdAt: now, lastUpdatedAt: now, ...LIFE }
  tasks.set(task.taskId, task)
  const created = { resultType: 'task', ...task }
  begin(task)
  return created
}

/** Runs after a while, and keeps no process alive. */
const after = (seconds, run) => setTimeout(run, seconds * 1_000).unref()
const completes = (seconds, result) => task =>
  after(seconds, () => change(task, { status: 'completed', result }))

/** A task that asks `inputRequests`, and is over when all are answered. */
const asks = (inputRequests, result) => task =>
  change(task, { status: 'input_required', inputRequests, answered: () => result })

/** Each tool: whether it needs tasks, what it does as one, and what it does without. */
const TOOLS = {
  greet: { run: ({ name }) => text(`Hello, ${name}!`) },
  slow_compute: {
    task: ({ seconds = 1 }) => completes(seconds, text('computed')),
    run: ({ seconds = 1 }) => new Promise(resolve => after(seconds, () => resolve(text('computed'))).ref()),
  },
  failing_job: { isRequired: true, task: () => completes(1, { ...text('It failed'), isError: true }) },
  protocol_error_job: {
    isRequired: true,
    task: () => task =>
      after(0.2, () => change(task, { status: 'failed', error: { code: -32603, message: 'It broke' } })),
  },
  confirm_delete: {
    isRequired: true,
    task: () => asks({ confirm: question('Delete it?', 'confirm') }, text('deleted')),
  },
  multi_input: {
    isRequired: true,
    task: () =>
      asks({ first: question('First?', 'first'), second: question('Second?', 'second') }, text('both')),
  },
  test_tool_with_task: {
    isRequired: true,
    needs: { user_name: question('Who are you?', 'name') },
    task: (_, { user_name }) => completes(0.2, text(`Hello, ${user_name.content.name}!`)),
  },
}

const extensionsOf = ({ _meta }) => _meta?.[`${META}clientCapabilities`]?.extensions ?? {}
const requireTasks = params => {
  if (extensionsOf(params)[TASKS] !== undefined) return
  const data = { requiredCapabilities: { extensions: { [TASKS]: {} } } }
  throw new RpcError(-32021, 'Missing required client capability', data)
}

const call = params => {
  const tool = TOOLS[params.name]
  if (tool === undefined) throw new RpcError(-32602, `Unknown tool: ${params.name}`)
  const args = params.arguments ?? {}
  if (tool.isRequired) requireTasks(params)
  if (tool.needs !== undefined && params.inputResponses === undefined)
    return { resultType: 'input_required', inputRequests: tool.needs, requestState: 'asked' }
  const isTask = tool.task !== undefined && extensionsOf(params)[TASKS] !== undefined
  return isTask ? createTask(tool.task(args, params.inputResponses)) : tool.run(args)
}

const taskOf = params => {
  requireTasks(params)
  const task = tasks.get(params.taskId)
  if (task === undefined) throw new RpcError(-32602, `Unknown task: ${params.taskId}`)
  return task
}

const METHODS = {
  'server/discover': () => ({
    ...COMPLETE,
    supportedVersions: ['2026-07-28'],
    capabilities: CAPABILITIES,
    serverInfo: { name: 'tasks', version: '1.0.0' },
    ttlMs: 60_000,
    cacheScope: 'public',
  }),
  'tools/list': () => ({
    ...COMPLETE,
    tools: Object.keys(TOOLS).map(name => ({ name, inputSchema: { type: 'object' } })),
    ttlMs: 60_000,
    cacheScope: 'public',
  }),
  'tools/call': call,
  'tasks/get': params => {
    const { answered: _, ...task } = taskOf(params)
    return { ...COMPLETE, ...task }
  },
  'tasks/update': params => {
    const task = taskOf(params)
    if (task.inputRequests === undefined) return COMPLETE
    const open = Object.entries(task.inputRequests).filter(([key]) => !(key in (params.inputResponses ?? {})))
    if (open.length > 0) change(task, { inputRequests: Object.fromEntries(open) })
    else change(task, { status: 'completed', inputRequests: undefined, result: task.answered() })
    return COMPLETE
  },
  'tasks/cancel': params => {
    change(taskOf(params), { status: 'cancelled', inputRequests: undefined })
    return COMPLETE
  },
}

/** Resolves with the answer to a message; `undefined` for a notification. */
const answer = async ({ id, method, params = {} }) => {
  if (id === undefined || method === undefined) return undefined
  try {
    if (METHODS[method] === undefined) throw new RpcError(-32601, `Method not found: ${method}`)
    return { jsonrpc: '2.0', id, result: await METHODS[method](params) }
  } catch (thrown) {
    const { code = -32603, message, data } = thrown
    return { jsonrpc: '2.0', id, error: { code, message, data } }
  }
}

/** Says why headers are wrong for a message (SEP-2243). */
const mismatch = ({ method, params }, headers) => {
  if (headers['mcp-method'] !== method) return 'Mcp-Method'
  const member = HEADERS[method]
  return member === undefined || headers['mcp-name'] === params?.[member] ? undefined : 'Mcp-Name'
}

const STATUSES = { '-32020': 400, '-32021': 400, '-32601': 404 }

const handle = async (request, response) => {
  if (request.method !== 'POST') {
    response.writeHead(405).end()
    return
  }
  const message = JSON.parse(Buffer.concat(await request.toArray()).toString())
  const wrong = message.id === undefined ? undefined : mismatch(message, request.headers)
  const error = { code: -32020, message: `Header mismatch: ${wrong}` }
  const answered = wrong === undefined ? await answer(message) : { jsonrpc: '2.0', id: message.id, error }
  if (answered === undefined) {
    response.writeHead(202).end()
    return
  }
  response.writeHead(STATUSES[answered.error?.code] ?? 200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(answered))
}

if (process.argv[2] === 'http') serveHttp(handle)
else
  createInterface({ input: process.stdin }).on('line', async line => {
    const answered = await answer(JSON.parse(line))
    if (answered !== undefined) process.stdout.write(`${JSON.stringify(answered)}\n`)
  })
