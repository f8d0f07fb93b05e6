import { request } from 'node:http'
import type { Test } from 'tap'
import { createProxy, type Proxy, type ProxyOptions } from '../../../src/app/proxy.js'
import { parseConfig } from '../../../src/config/parse.js'
import type { ProxyConfig } from '../../../src/config/types.js'
import type { Logger } from '../../../src/kernel/logger.js'
import { hello, NEWEST } from '../era/codec.js'
import { recordedLog } from '../wire/channel-pair.js'

/** A server that receives no requests; its port is closed. */
const NOWHERE = { url: 'http://127.0.0.1:9/mcp' }

/** Returns the configuration of a file with this `auth`, on any free port. */
export const configWith = (auth: object | undefined, more: object = {}): ProxyConfig => {
  const listen = { port: 0 }
  const text = JSON.stringify({ mcpServers: { nowhere: NOWHERE }, listen, auth, ...more })
  const { config, problems } = parseConfig(text, 'test.json', process.env)
  if (config === undefined) throw new Error(`bad test configuration: ${JSON.stringify(problems)}`)
  return config
}

interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly text: string
}

interface Question {
  readonly method?: string
  /** An array alternates names and values, to repeat a header. */
  readonly headers?: Readonly<Record<string, string>> | readonly string[]
  readonly body?: string | Buffer
  /** Source address. */
  readonly from?: string
}

/** A proxy with `auth`, and a client with handwritten requests. */
export interface Authorized {
  readonly proxy: Proxy
  /** Local scheme, host and port. */
  readonly origin: string
  readonly lines: ReturnType<typeof recordedLog>['lines']
  ask(path: string, question?: Question): Promise<Answered>
  /** Sends `initialize` to `/mcp`. */
  initialize(token?: string, more?: Readonly<Record<string, string>>): Promise<Answered>
}

export const JSON_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}

/** Starts a proxy in this process; closed with the test. */
export const startAuthorized = async (
  t: Test,
  auth: object | undefined,
  { more = {}, log, ...options }: ProxyOptions & { readonly more?: object; readonly log?: Logger } = {},
): Promise<Authorized> => {
  const recorded = recordedLog()
  const proxy = createProxy(configWith(auth, more), { log: log ?? recorded.log, listWaitMs: 50, ...options })
  t.teardown(() => proxy.close())
  const { host, port } = await proxy.listen()
  const ask = (
    path: string,
    { method = 'GET', headers = {}, body, from }: Question = {},
  ): Promise<Answered> =>
    new Promise((resolve, reject) => {
      const options = {
        ...{ host, port, path, method, agent: false },
        headers: headers as Record<string, string>,
        ...(from !== undefined && { localAddress: from }),
      }
      const sent = request(options, response => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text: Buffer.concat(chunks).toString(),
          }),
        )
      })
      sent.on('error', reject).end(body)
    })
  return {
    proxy,
    origin: `http://${host}:${port}`,
    lines: recorded.lines,
    ask,
    initialize: (token, headers = {}) =>
      ask('/mcp', {
        method: 'POST',
        headers: {
          ...JSON_HEADERS,
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...headers,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: hello(NEWEST) }),
      }),
  }
}
