import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** List items, by the member that holds them. */
export interface Lists {
  readonly tools?: readonly unknown[]
  readonly prompts?: readonly unknown[]
  readonly resources?: readonly unknown[]
  readonly resourceTemplates?: readonly unknown[]
}

const METHODS: Readonly<Record<string, keyof Lists>> = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
}

const WELCOME = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {}, prompts: {}, resources: {} },
  serverInfo: { name: 'listing', version: '1' },
}

const ALL = {
  ...WELCOME,
  capabilities: { tools: {}, prompts: {}, resources: { subscribe: true }, completions: {} },
}

type Hears = (method: string, params: Readonly<Record<string, unknown>>) => void

/**
 * Starts a 2025-11-25 server in this process with these lists, whose calls are answered with the result of
 * `call`. Resolves with its configuration. Each request is passed to `hears`, which also makes the server
 * declare completions and subscriptions.
 */
export const startListing = async (
  t: Test,
  lists: Lists,
  call: (name: string) => object | Promise<object> = () => ({ content: [] }),
  hears?: Hears,
): Promise<{ readonly url: string }> => {
  const answer = async (method: string, name: string): Promise<object> => {
    const list = METHODS[method]
    if (list !== undefined) return { result: { [list]: lists[list] ?? [] } }
    if (method === 'initialize') return { result: hears === undefined ? WELCOME : ALL }
    if (method === 'tools/call') return { result: await call(name) }
    return { error: { code: -32601, message: 'Method not found' } }
  }
  const server = createServer((request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(405).end()
      return
    }
    let text = ''
    request.on('data', chunk => {
      text += String(chunk)
    })
    request.once('end', async () => {
      const { id, method, params } = JSON.parse(text)
      hears?.(method, params)
      if (id === undefined) response.writeHead(202).end()
      else {
        const said = JSON.stringify({ jsonrpc: '2.0', id, ...(await answer(method, params?.name)) })
        response.writeHead(200, { 'content-type': 'application/json' }).end(said)
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp` }
}
