import { createServer, request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { createWsEndpoint } from '../../../src/app/listeners/http.js'
import { createProxy } from '../../../src/app/proxy.js'
import { parseConfig } from '../../../src/config/parse.js'
import { systemClock } from '../../../src/kernel/async/clock.js'
import { LOCAL } from '../../../src/kernel/caller.js'
import { LimitCounters } from '../../../src/kernel/limit-counters.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import { until } from '../../support/processes.js'
import { INITIALIZE, rawServer } from '../../support/proxy/start.js'

const SHAKE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

/** A endpoint in front of one server; upgrades wait in `asked` until they are let through. */
const setUp = async (t: Test) => {
  const { config } = parseConfig(JSON.stringify({ mcpServers: { a: rawServer() } }), 'test.json', process.env)
  if (config === undefined) throw new Error('bad configuration')
  const proxy = createProxy(config)
  const context = {
    handler: proxy.clientHandler,
    bounds: new LimitCounters(),
    clock: systemClock,
    log: silentLogger,
    isDraining: () => false,
    drainMs: () => 0,
    isPrivate: false,
    views: { has: () => false },
    refused: () => undefined,
  }
  const endpoint = createWsEndpoint('/ws', context)
  const asked: (readonly [IncomingMessage, Duplex, Buffer])[] = []
  const http = createServer()
  http.on('upgrade', (...upgrade) => asked.push(upgrade))
  await new Promise<void>(resolve => {
    http.listen(0, '127.0.0.1', resolve)
  })
  const { port } = http.address() as AddressInfo
  t.teardown(async () => {
    await endpoint.close()
    await proxy.close()
    http.close()
  })
  /** Lets all in at once that have asked. */
  const letIn = () => Promise.all(asked.splice(0).map(async upgrade => endpoint.upgrade(...upgrade, LOCAL)))
  return { endpoint, asked, letIn, port }
}

const answerTo = (ws: WebSocket): Promise<string> =>
  new Promise((resolve, reject) => {
    ws.on('open', () => ws.send(JSON.stringify({ jsonrpc: '2.0', ...INITIALIZE })))
    ws.on('message', data => resolve(String(data)))
    ws.on('error', reject)
  })

t.test('early clients are all served, including clients that disconnect at once', async t => {
  const { endpoint, asked, letIn, port } = await setUp(t)
  const url = `ws://127.0.0.1:${port}/ws`
  const clients = [new WebSocket(url, 'mcp'), new WebSocket(url)]
  const left = new WebSocket(url).on('error', () => undefined)
  const answers = Promise.all(clients.map(answerTo))
  await until(() => asked.length === 3, 'three requests')
  left.terminate()
  await letIn()
  for (const answer of await answers) t.match(JSON.parse(answer), { id: 1, result: { serverInfo: {} } })
  await until(() => endpoint.sessions === 2, 'the end of the one that left')
  for (const client of clients) client.close()
  await until(() => endpoint.sessions === 0, 'the end of the others')
})

t.test('a client who comes while the proxy closes is refused, whether others were there or not', async t => {
  const statusOf = (port: number): Promise<number> =>
    new Promise((resolve, reject) => {
      const sent = httpRequest({ host: '127.0.0.1', port, path: '/ws', agent: false, headers: SHAKE })
      sent.on('response', response => resolve(response.resume().statusCode ?? 0))
      sent.on('upgrade', () => resolve(101))
      sent.on('error', reject)
      sent.end()
    })
  const { endpoint, asked, letIn, port } = await setUp(t)
  for (const [about, close] of [
    ['closed before it is let in', () => endpoint.close()],
    ['closed already', () => Promise.resolve()],
  ] as const) {
    const status = statusOf(port)
    await until(() => asked.length === 1, 'the request')
    const [closed] = [close(), letIn()]
    await closed
    t.equal(await status, 503, about)
  }
  t.equal(endpoint.sessions, 0)
})
