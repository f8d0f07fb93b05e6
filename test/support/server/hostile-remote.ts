import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net'
import type { Test } from 'tap'

/** A request that reached the server. */
interface Exchange {
  readonly mode: string
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly message: {
    readonly id?: number | string
    readonly method?: string
    readonly params?: { name?: string; arguments?: object }
  }
  /** Number of calls of its tool `bad` in this mode. */
  readonly calls: number
}

const JSON_TYPE = { 'content-type': 'application/json' }
const SSE_TYPE = { 'content-type': 'text/event-stream' }
const reply = (id: unknown, result: object): string => JSON.stringify({ jsonrpc: '2.0', id, result })
const text = (words: string) => ({ content: [{ type: 'text', text: words }] })
const right = (id: unknown): string => reply(id, text('right'))
const MIB = 'x'.repeat(1024 * 1024)

/** Writes until the reader stops. */
const pour = (response: ServerResponse, chunk: string): void => {
  while (!response.destroyed && response.write(chunk));
  response.once('drain', () => pour(response, chunk))
}

const redirect =
  (location: string) =>
  ({ response }: Exchange) =>
    void response.writeHead(307, { location }).end()
const answer =
  (status: number, type: string, body: string) =>
  ({ response }: Exchange) =>
    void response.writeHead(status, { 'content-type': type }).end(body)

type Misbehaviour = (exchange: Exchange) => void

/** Faults of every request, by the first part of the path. */
const ALWAYS: Readonly<Record<string, Misbehaviour>> = {
  'hangs-before-headers': () => undefined,
  'hangs-after-headers': ({ response }) => void response.writeHead(200, JSON_TYPE).flushHeaders(),
  'redirects-in-circles': redirect('/redirects-in-circles'),
  'redirects-inwards': redirect('http://169.254.169.254/latest/meta-data'),
  'answers-html': answer(200, 'text/html', '<html><body>Welcome to nginx!</body></html>'),
  'answers-nothing': answer(200, 'application/json', ''),
  'answers-500': answer(500, 'text/plain', 'Traceback (most recent call last): secret'),
  'answers-503': answer(503, 'application/json', '{"error":"down"}'),
  'asks-for-a-token': ({ response }) =>
    void response
      .writeHead(401, {
        'www-authenticate': 'Bearer resource_metadata="http://169.254.169.254/.well-known/x"',
      })
      .end(),
  'giant-header': ({ response }) => void response.writeHead(200, { ...JSON_TYPE, 'x-giant': MIB }).end('{}'),
  'no-http': ({ request }) => void request.socket.end('SSH-2.0-OpenSSH_9.6\r\n'),
  'hangs-up': ({ request }) => void request.socket.resetAndDestroy(),
  'endless-body': ({ response }) => pour(response.writeHead(200, JSON_TYPE), MIB),
}

/** Faults of calls of the tool `bad`; everything else works. */
const CALLS: Readonly<Record<string, Misbehaviour>> = {
  'hangs-in-body': ({ response }) => void response.writeHead(200, JSON_TYPE).write('{"jsonrpc":'),
  drips: ({ response }) => {
    response.writeHead(200, JSON_TYPE)
    const timer = setInterval(() => response.write(' '), 20)
    response.once('close', () => clearInterval(timer))
  },
  truncates: ({ response, message }) => {
    response.writeHead(200, { ...JSON_TYPE, 'content-length': 5000 }).write(right(message.id))
    setTimeout(() => response.destroy(), 20)
  },
  'cuts-json': ({ response, message }) =>
    void response.writeHead(200, JSON_TYPE).end(right(message.id).slice(0, -5)),
  'ends-mid-event': ({ response, message }) => {
    response.writeHead(200, SSE_TYPE).write(`data: ${right(message.id).slice(0, 30)}`)
    setTimeout(() => response.end(), 20)
  },
  'ends-without-answer': ({ response }) => void response.writeHead(200, SSE_TYPE).end(': nothing\n\n'),
  'breaks-mid-event': ({ response, message }) => {
    response.writeHead(200, SSE_TYPE).write(`id: 1\ndata: ${right(message.id).slice(0, 30)}`)
    setTimeout(() => response.destroy(), 20)
  },
  'endless-event': ({ response }) => {
    response.writeHead(200, SSE_TYPE).write('data: ')
    pour(response, MIB)
  },
  gzip: ({ response }) =>
    void response
      .writeHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip' })
      .end(Buffer.from('1f8b0800000000000003', 'hex')),
  'loses-sessions': ({ response, message, calls }) => {
    if (calls === 1) response.writeHead(404, JSON_TYPE).end('{"error":"session not found"}')
    else response.writeHead(200, JSON_TYPE).end(right(message.id))
  },
  'accepts-only': ({ response }) => void response.writeHead(202).end(),
  'answers-another': ({ response, message }) => {
    response.writeHead(200, SSE_TYPE)
    response.write(`data: ${reply(424242, text('wrong'))}\n\n`)
    response.write(`data: ${right(message.id)}\n\n`)
    response.end(`data: ${reply(message.id, text('wrong'))}\n\n`)
  },
  'fails-calls': answer(502, 'text/html', '<html>Bad gateway</html>'),
  'says-too-many': ({ response }) => void response.writeHead(429, { 'retry-after': '3600' }).end(),
  'resets-calls': ({ request }) => void request.socket.resetAndDestroy(),
  'floods-events': ({ response, message }) => {
    response.writeHead(200, SSE_TYPE)
    for (let n = 0; n < 20_000; n += 1)
      response.write(`data: {"jsonrpc":"2.0","method":"notifications/x","params":{"n":${n}}}\n\n`)
    response.end(`data: ${right(message.id)}\n\n`)
  },
}

/** Answers properly, like a server without sessions or streams. */
const behave = ({ mode, request, response, message }: Exchange): void => {
  const { id, method, params } = message
  if (request.method !== 'POST') {
    response.writeHead(405).end()
    return
  }
  if (id === undefined) {
    response.writeHead(202).end()
    return
  }
  const results: Readonly<Record<string, object>> = {
    initialize: {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: mode, version: '1' },
    },
    ping: {},
    'tools/list': { tools: ['ok', 'bad'].map(name => ({ name, inputSchema: { type: 'object' } })) },
    'tools/call': text(JSON.stringify(params?.arguments)),
  }
  const result = results[method ?? '']
  const session = method === 'initialize' ? { 'mcp-session-id': `${mode}-${Math.random()}` } : {}
  const body =
    result === undefined
      ? JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } })
      : reply(id, result)
  response.writeHead(200, { ...JSON_TYPE, ...session }).end(body)
}

/** HTTP servers with faults chosen by the first part of the path. */
export interface HostileRemote {
  /** Returns the address of a server with this fault. */
  url(mode: string): string
  /** Every requested path, with its credentials. */
  readonly seen: readonly string[]
}

const opened = async (t: Test, server: Server): Promise<number> => {
  const sockets = new Set<Socket>()
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => sockets.delete(socket))
  })
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return (server.address() as AddressInfo).port
}

/** Starts the servers until the test ends. */
export const startHostileRemote = async (t: Test): Promise<HostileRemote> => {
  const seen: string[] = []
  const counts = new Map<string, number>()
  // Another origin, which must never receive a request.
  const elsewhere = await opened(
    t,
    createServer((request, response) => {
      seen.push(`elsewhere ${request.headers.authorization ?? ''}`)
      response.end()
    }),
  )
  const mute = await opened(
    t,
    createTcpServer(() => undefined),
  )
  const resets = await opened(
    t,
    createTcpServer(socket => void socket.resetAndDestroy()),
  )
  const closed = createTcpServer()
  const nobody = await new Promise<number>(resolve => {
    closed.listen(0, '127.0.0.1', () => {
      const { port } = closed.address() as AddressInfo
      closed.close(() => resolve(port))
    })
  })
  const handle = (exchange: Exchange): void => {
    const { mode, request, response, message } = exchange
    const moved = `http://127.0.0.1:${elsewhere}/mcp`
    if (mode === 'redirects-elsewhere') redirect(moved)(exchange)
    else if (mode === 'redirects-here') redirect('/really-here')(exchange)
    else if (mode === 'endpoint-elsewhere' && request.method === 'GET') {
      response.writeHead(200, SSE_TYPE).write(`event: endpoint\ndata: ${moved}\n\n`)
    } else if (ALWAYS[mode] !== undefined) ALWAYS[mode]?.(exchange)
    else if (message.method === 'tools/call' && message.params?.name === 'bad')
      (CALLS[mode] ?? behave)(exchange)
    else behave(exchange)
  }
  const port = await opened(
    t,
    createServer((request, response) => {
      const mode = (request.url ?? '').split('/')[1] ?? ''
      seen.push(`${request.method} ${mode}`)
      let body = ''
      response.on('error', () => undefined)
      request.on('data', chunk => {
        body += String(chunk)
      })
      request.on('end', () => {
        const message = body === '' ? {} : JSON.parse(body)
        const isBad = message.method === 'tools/call' && message.params.name === 'bad'
        if (isBad) counts.set(mode, (counts.get(mode) ?? 0) + 1)
        handle({ mode, request, response, message, calls: counts.get(mode) ?? 0 })
      })
    }),
  )
  const ports: Readonly<Record<string, number>> = {
    'never-speaks': mute,
    'resets-at-once': resets,
    refuses: nobody,
  }
  return { url: mode => `http://127.0.0.1:${ports[mode] ?? port}/${mode}`, seen }
}
