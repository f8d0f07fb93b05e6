import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { rawServer, startProxy } from '../support/proxy/start.js'

interface Seen {
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** A Streamable HTTP server that answers everything with JSON and keeps what it was sent. */
const listeningServer = async (t: Test): Promise<{ url: string; seen: Seen[] }> => {
  const seen: Seen[] = []
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {}, experimental: { foo: {} }, tasks: { list: {} } },
      serverInfo: { name: 'h', version: '1' },
    },
    'tools/list': {
      tools: [
        {
          name: 'x',
          inputSchema: {
            type: 'object',
            properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
          },
        },
      ],
    },
    'tools/call': { content: [{ type: 'text', text: 'canary-of-h' }] },
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    seen.push({ headers: request.headers, body })
    const message: Loose = body === '' ? {} : JSON.parse(body)
    if (request.method !== 'POST') response.writeHead(405).end()
    else if (message.id === undefined) response.writeHead(202).end()
    else {
      const result = results[message.method] ?? {}
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }))
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, seen }
}

t.test('credentials stay on their hop, and servers learn nothing of each other', async t => {
  const { url, seen } = await listeningServer(t)
  const proxy = startProxy(t, {
    h: { type: 'http', url, headers: { Authorization: 'Bearer for-h', 'X-Key': 'k' } },
    a: rawServer('a'),
  })
  const face = await proxy.listen({ port: 0 })
  const send = (session: string | undefined, message: object) =>
    fetch(face.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: 'Bearer canary-token',
        cookie: 'canary-cookie=1',
        forwarded: 'for=canary-address',
        'x-custom': 'canary-header',
        ...(session !== undefined && { 'mcp-session-id': session }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    })
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {
      experimental: { canaryExperiment: {} },
      extensions: { 'x.y/z': {} },
      tasks: { list: {} },
    },
    clientInfo: { name: 'c', version: '1' },
  }
  const welcomed = await send(undefined, { id: 1, method: 'initialize', params })
  const session = welcomed.headers.get('mcp-session-id') ?? undefined
  const { result } = (await welcomed.json()) as Loose
  t.same(Object.keys(result.capabilities).sort(), ['completions', 'logging', 'prompts', 'resources', 'tools'])
  await send(session, { method: 'notifications/initialized' })
  const list = await (await send(session, { id: 2, method: 'tools/list' })).text()
  t.match(list, /"x-mcp-header":"Region"/, 'keywords of a later revision pass')
  const called = await send(session, {
    id: 3,
    method: 'tools/call',
    params: { name: 'h__x', arguments: { region: 'r' } },
  })
  t.match(await called.text(), /canary-of-h/)
  const client = new RawClient(face.url)
  await client.initialize()
  const atA = await client.call(1, 'a__seen')
  for (const { headers, body } of seen) {
    t.equal(headers.authorization, 'Bearer for-h')
    t.notMatch(
      JSON.stringify(headers) + body,
      /canary-(token|cookie|address|header)|canaryExperiment|x\.y\/z/,
    )
    const isProbe = body.includes('"method":"server/discover"')
    t.equal(
      Object.keys(headers).some(name => /^mcp-(method|name|param)/.test(name)),
      isProbe,
    )
  }
  t.notMatch(atA.last.text, /canary/, 'nothing of one server reaches another')
})

t.test('one port serves clients of every age at once', async t => {
  const proxy = startProxy(t, { a: rawServer('a') })
  const face = await proxy.listen({ port: 0 })
  const modern = new RawClient(face.url)
  await modern.initialize({}, '2025-11-25')
  const abort = new AbortController()
  t.teardown(() => abort.abort())
  const stream = await fetch(face.sseUrl ?? '', {
    headers: { accept: 'text/event-stream' },
    signal: abort.signal,
  })
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
  const next = async (pattern: RegExp) => {
    let text = ''
    for (;;) {
      const found = pattern.exec(text)
      if (found !== null) return found
      const { value, done } = (await reader?.read()) ?? { done: true }
      if (done || value === undefined) throw new Error(`the stream ended before ${pattern}`)
      text += value
    }
  }
  const [, endpoint = ''] = await next(/data: (messages\S+)\n\n/)
  const post = (message: object) =>
    fetch(new URL(endpoint, face.url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    })
  const params = {
    protocolVersion: '2024-11-05',
    capabilities: {},
    clientInfo: { name: 'old', version: '1' },
  }
  t.equal((await post({ id: 1, method: 'initialize', params })).status, 202)
  await next(/"protocolVersion":"2024-11-05"/)
  await post({ method: 'notifications/initialized' })
  await post({ id: 2, method: 'tools/call', params: { name: 'a__echo', arguments: { who: 'old' } } })
  await next(/\{\\"who\\":\\"old\\"\}/)
  t.match((await modern.call(1, 'a__echo', '{"who":"new"}')).last.text, /new/)
  t.equal(face.sessions, 2)
})
